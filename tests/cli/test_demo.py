from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from retrivex import Chunk, ChunkMetadata, SeedHit
from retrivex.cli import app
from retrivex.cli.demo import QUESTIONS, own_docs, plain_hits
from retrivex.tokens.tokenizer import CallableTokenizer

run = CliRunner().invoke

ANSWERS = ("another heading path", "header", "skips unchanged documents")


def test_the_demo_answers_its_questions_from_the_documentation() -> None:
    result = run(app, ["demo"])
    assert result.exit_code == 0, result.output
    parts = result.stdout.split("Sources\n")
    assert len(parts) == 4
    for question, answer, part in zip(QUESTIONS, ANSWERS, parts, strict=False):
        assert question in part
        assert answer in part.partition(question)[2]
    for part in parts[1:]:
        assert "hit, shown" in part
        assert "best hits alone" in part


def test_a_folder_of_ones_own_with_questions_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "roof.md").write_text("# Meeting\n\nThe roof will be green.\n")
    result = run(app, ["demo", str(tmp_path), "--ask", "Which colour has the roof?"])
    assert "The roof will be green." in result.stdout
    assert "[1] roof.md" in result.stdout


def test_a_folder_of_ones_own_needs_questions(tmp_path: Path) -> None:
    result = run(app, ["demo", str(tmp_path)])
    assert result.exit_code == 2
    assert "ask yours with --ask" in result.stderr


def test_without_its_documentation_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert own_docs() is not None
    monkeypatch.setattr("retrivex.cli.demo._OUR_PAGE", "gone.md")
    result = run(app, ["demo"])
    assert result.exit_code == 2
    assert "give a folder of your own and a question" in result.stderr


def test_an_empty_folder_is_told(tmp_path: Path) -> None:
    result = run(app, ["demo", str(tmp_path), "--ask", "Anything?"])
    assert result.exit_code == 2
    assert "holds nothing that can be read" in result.stderr


def test_plain_hits_are_whole_chunks_best_first_inside_the_budget() -> None:
    texts = ["one two", "one two three four", "one"]
    hits = [SeedHit(Chunk(text, ChunkMetadata("d", i)), 1.0 - i / 10) for i, text in enumerate(texts)]
    words = CallableTokenizer(lambda text: len(text.split()), name="words")
    assert [hit.key[1] for hit in plain_hits(hits, 3, words)] == [0, 2]
