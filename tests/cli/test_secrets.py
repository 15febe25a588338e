"""Addresses where a path or a name is expected: neither what is printed nor what is written has their secrets."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from retrivex.cli import app

run = CliRunner().invoke

PIECES = ("PW-S3CRET", "tok-S3CRET")
LONG = "tok-S3CRET" * 600
ADDRESSES = {
    "password": "postgresql://me:PW-S3CRET@db.example/x",
    "user": "https://PW-S3CRET@db.example",
    "token": "https://db.example/x?token=tok-S3CRET",
    "long": f"https://me:PW-S3CRET@db.example/v1?token={LONG}",
    "long user": f"https://{'PW-S3CRET' * 20}@db.example/v1",
}
COMMANDS = {
    "query --db": ["query", "q", "--db", "{}"],
    "query --config": ["query", "q", "--config", "{}"],
    "query --embed": ["query", "q", "--embed", "{}"],
    "query --set": ["query", "q", "--set", "position_profile={}"],
    "query --tokenizer": ["query", "q", "--tokenizer", "{}"],
    "index": ["index", "{}"],
    "index --db": ["index", "docs", "--db", "{}"],
    "index --embed": ["index", "docs", "--db", "x.db", "--embed", "{}"],
    "inspect": ["inspect", "{}"],
    "mcp": ["mcp", "{}"],
    "serve": ["serve", "{}"],
    "keys": ["keys", "list", "--keys", "{}"],
    "compose": ["compose", "{}"],
    "evaluate": ["evaluate", "{}"],
    "reorder": ["reorder", "{}"],
    "compare": ["compare", "{}", "y"],
    "report": ["report", "{}"],
    "tune": ["tune", "{}"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "bees.md").write_text("Bees live in hives.")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path


@pytest.mark.parametrize("kind", ADDRESSES)
@pytest.mark.parametrize("name", COMMANDS)
def test_no_secret_of_an_address_is_printed_or_written(folder: Path, name: str, kind: str) -> None:
    arguments = [word.format(ADDRESSES[kind]) for word in COMMANDS[name]]
    for more in ([], ["--json"]):
        done = run(app, [*arguments, *more])
        assert [piece for piece in PIECES if piece in done.output] == []
    named = [str(path) for path in folder.rglob("*")]
    written = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert [piece for piece in PIECES if piece.encode() in written or any(piece in path for path in named)] == []
