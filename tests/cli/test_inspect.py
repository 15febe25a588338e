from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from retrivex.cli import app, terminal
from retrivex.cli import inspect as command

run = CliRunner().invoke


@pytest.fixture
def db(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "bees.md").write_text("# Bees\n\nBees sleep at night.\n\n## Winter\n\nThey form a cluster.\n")
    for number in range(12):
        (docs / f"page{number:02}.txt").write_text(f"Page {number} is short.")
    made = tmp_path / "store.db"
    options = ["--embed", "hashing-16", "--scope", "acme", "--tokenizer", "estimate"]
    assert run(app, ["index", str(docs), "--db", str(made), *options]).exit_code == 0
    return made


def test_it_tells_what_is_in_a_database(db: Path) -> None:
    out = run(app, ["inspect", str(db)]).stdout
    for words in ("13 (", "(estimate)", "auto(markdown", "by hashing-16, 16 dimensions", "acme", "schema version"):
        assert words in out
    assert "bees.md" in out
    assert "and 3 more documents" in out


def test_on_a_terminal_lines_are_no_wider_than_it(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(app, ["inspect", str(db)]).stdout
    assert max(map(len, whole.splitlines())) > 60  # a file or pipe gets each fact in one line
    monkeypatch.setattr(terminal, "console", lambda **_: Console(force_terminal=True, width=60, color_system=None))
    monkeypatch.setattr(command, "console", terminal.console)
    shown = run(app, ["inspect", str(db)]).stdout
    facts = shown.partition("documents  ")[2]
    assert max(map(len, facts.splitlines())) <= 60
    assert "".join(whole.partition("chunker")[2].partition("vectors")[0].split()) in "".join(facts.split())


def test_a_note_is_wrapped_between_words(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = "what is said on the side is as long as it has to be"
    terminal.note(text)
    assert capsys.readouterr().err == f"note: {text}\n"
    monkeypatch.setattr(terminal, "console", lambda **_: Console(force_terminal=True, width=20, color_system=None))
    terminal.note(text)
    assert capsys.readouterr().out.split() == ["note:", *text.split()]


def test_the_database_is_named_as_everywhere_else(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = run(app, ["inspect", str(db)]).stdout
    assert run(app, ["inspect", "--db", str(db)]).stdout == shown
    monkeypatch.setenv("RETRIVEX_DB", str(db))
    assert run(app, ["inspect"]).stdout == shown


def test_json_has_the_same_facts(db: Path) -> None:
    facts = json.loads(run(app, ["inspect", str(db), "--json", "--limit", "2"]).stdout)
    assert (facts["documents"], facts["chunks"], facts["vectors"]) == (13, 14, 14)
    assert facts["tokens"] > 14
    assert [item["doc_id"] for item in facts["sample"]] == ["bees.md", "page00.txt"]


def test_a_document_is_shown_chunk_by_chunk(db: Path) -> None:
    out = run(app, ["inspect", str(db), "--document", "bees.md"]).stdout
    assert "Bees: 2 chunks" in out
    assert "Bees > Winter" in out
    assert "They form a cluster." in out
    facts = json.loads(run(app, ["inspect", str(db), "--document", "bees.md", "--json"]).stdout)
    assert [chunk["chunk_id"] for chunk in facts["chunk_list"]] == [0, 1]
    assert facts["chunker"].startswith("auto(")
    assert all(chunk["tokens"] > 0 for chunk in facts["chunk_list"])


def test_an_unknown_document_is_an_error(db: Path) -> None:
    result = run(app, ["inspect", str(db), "--document", "none.md"])
    assert result.exit_code == 3
    assert "holds no document 'none.md'" in result.stderr


def test_a_whole_database_passes_the_check_and_a_damaged_one_does_not(db: Path) -> None:
    assert "check       whole" in run(app, ["inspect", str(db), "--check"]).stdout
    with sqlite3.connect(db) as connection:
        connection.execute("DELETE FROM chunks WHERE chunk_id = 1")
    connection.close()
    result = run(app, ["inspect", str(db), "--check"])
    assert result.exit_code == 3
    assert "is damaged: document 'bees.md' lacks chunks" in result.stderr


@pytest.mark.parametrize("content", [b"", b"not a database at all, but long enough to look like one" * 20])
def test_what_is_no_database_is_differing_factors(tmp_path: Path, content: bytes) -> None:
    page = tmp_path / "page.db"
    page.write_bytes(content)
    result = run(app, ["inspect", str(page)])
    assert result.exit_code == 3
    assert str(page) in result.stderr
    assert page.read_bytes() == content
