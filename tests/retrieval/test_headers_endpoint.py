"""`retrivex index --headers model`: a model behind an endpoint writes headers, and none is asked for twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.model_server import prompt_of, serving
from typer.testing import CliRunner

from retrivex.cli import app
from retrivex.stores import SQLiteStore

pytest.importorskip("retrivex.evaluation.answers.endpoint", exc_type=ImportError)
pytestmark = pytest.mark.integration

KEY = "key-of-the-endpoint"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the client ask again at once."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.0)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    made.mkdir()
    for name in ("bees", "wasps"):
        (made / f"{name}.md").write_text(f"# {name}\n\nThey sleep at night.\n")
    return made


def says(body: dict[str, Any]) -> str:
    return f"Apiculture of {json.loads(prompt_of(body))['title']}"


def index(folder: Path, url: str, *more: str) -> Any:
    given = ["index", str(folder), "--db", str(folder.parent / "store.db"), "--headers", "model", "--model", "m"]
    return CliRunner().invoke(app, [*given, "--model-url", url, *more])


def test_a_model_writes_headers_once(folder: Path) -> None:
    with serving(says) as server:
        found = index(folder, server.url)
        assert found.exit_code == 0, found.output
        assert "2 answers" in found.stderr
        assert KEY not in found.output
        with SQLiteStore(folder.parent / "store.db") as store:
            assert len(store.search_text("apiculture", 5)) == 2
        (folder / "bees.md").touch()
        (folder.parent / "store.db").unlink()
        again = index(folder, server.url)
        assert "0 answers" in again.stderr
        assert "2 added" in again.stdout


def test_the_spend_cap_ends_the_asking_and_a_later_run_goes_on(folder: Path) -> None:
    with serving(says) as server:
        capped = index(folder, server.url, "--spend-cap", "300")
        assert "spend cap of 300 tokens is reached" in capped.stderr
        assert "1 added" in capped.stdout
        more = index(folder, server.url)
        assert "1 added, 1 unchanged" in more.stdout
        assert "1 answers" in more.stderr


def test_an_endpoint_that_is_not_there_is_an_error(folder: Path) -> None:
    found = index(folder, "http://127.0.0.1:9/v1")
    assert found.exit_code != 0
    assert "127.0.0.1:9/v1 cannot be reached" in found.stderr
