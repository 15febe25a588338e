from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from retrivex.cli import app
from retrivex.service.keys import Keys

run = CliRunner().invoke


def test_keys_are_made_listed_and_revoked(tmp_path: Path) -> None:
    file = ["--keys", str(tmp_path / "keys.db")]
    made = run(app, ["keys", "create", "shop", "--scope", "acme", "--scope", "", *file])
    assert made.exit_code == 0
    secret = made.stdout.strip()
    access = Keys(tmp_path / "keys.db").find(secret)
    assert access.scopes == {"acme", None}
    listed = run(app, ["keys", "list", *file]).stdout
    assert "good" in listed
    assert "shop: acme, (unscoped)" in listed
    assert secret not in listed
    assert run(app, ["keys", "revoke", str(access.key), *file]).stdout == f"revoked {access.key}\n"
    [info] = json.loads(run(app, ["keys", "list", "--json", *file]).stdout)
    assert info["revoked"] is not None
    again = run(app, ["keys", "revoke", str(access.key), *file])
    assert again.exit_code == 3
    assert "no key" in again.stderr


def test_a_key_is_made_as_json(tmp_path: Path) -> None:
    made = run(app, ["keys", "create", "shop", "--keys", str(tmp_path / "keys.db"), "--json"])
    shown = json.loads(made.stdout)
    assert shown["key"].startswith(f"rvx_{shown['id']}_")
    assert shown["scopes"] == [None]


def test_wrong_usage_says_what_is_missing(tmp_path: Path) -> None:
    file = ["--keys", str(tmp_path / "keys.db")]
    for arguments in (["create"], ["revoke"], ["list", "--scope", "a"], ["destroy", "x"]):
        assert run(app, ["keys", *arguments, *file]).exit_code == 2
    assert not (tmp_path / "keys.db").exists()
    assert run(app, ["keys", "list", *file]).exit_code == 0
