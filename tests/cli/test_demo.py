from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from retrivex import Chunk, ChunkMetadata, SeedHit
from retrivex.cli import app
from retrivex.cli.demo import PAGES, QUESTIONS, plain_hits
from retrivex.tokens import tokenizer as tokenizers
from retrivex.tokens.estimate import EstimateTokenizer
from retrivex.tokens.tokenizer import CallableTokenizer

run = CliRunner().invoke


@pytest.mark.parametrize("network", [True, False])
def test_the_demo_shows_what_a_model_would_read_with_and_without(
    network: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not network:
        monkeypatch.setitem(tokenizers._named, "auto", (EstimateTokenizer(), ("estimated",)))
    result = run(app, ["demo"])
    assert result.exit_code == 0, result.output
    parts = result.stdout.split("Without RetriVex")
    assert len(parts) == 1 + len(QUESTIONS)
    for question, before in zip(QUESTIONS, parts, strict=False):
        assert question in before
    verdicts = [line for line in result.stdout.splitlines() if "answer" in line and "nswer" in line[35:]]
    assert [line[41:].strip() for line in verdicts] == ["The whole answer"] * 3
    assert ["Part of the answer" in line for line in verdicts] == [True, True, False]


def test_the_answers_stand_in_the_pages() -> None:
    pages = " ".join(page.read_text(encoding="utf-8") for page in PAGES.glob("*.md"))
    assert [sentence for answers in QUESTIONS.values() for sentence in answers if sentence not in pages] == []


def test_a_folder_of_ones_own_with_questions_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "roof.md").write_text("# Meeting\n\nThe roof will be green.\n")
    (tmp_path / "roof.png").write_bytes(b"?")
    result = run(app, ["demo", str(tmp_path), "--ask", "Which colour has the roof?"])
    assert result.stdout.count("The roof will be green.") == 2
    assert "[1] roof.md" in result.stdout
    assert "answer" not in result.stdout  # nobody knows it
    assert result.stderr == "note: 1 file of other kinds (1 .png) passed over\n"


def test_a_folder_of_ones_own_needs_questions(tmp_path: Path) -> None:
    result = run(app, ["demo", str(tmp_path)])
    assert result.exit_code == 2
    assert "ask one, as in --ask" in result.stderr


def test_an_empty_folder_is_told(tmp_path: Path) -> None:
    result = run(app, ["demo", str(tmp_path), "--ask", "Anything?"])
    assert result.exit_code == 2
    assert "holds nothing that can be read" in result.stderr


def test_plain_hits_are_whole_chunks_best_first_inside_the_budget() -> None:
    texts = ["one two", "one two three four", "one"]
    hits = [SeedHit(Chunk(text, ChunkMetadata("d", i)), 1.0 - i / 10) for i, text in enumerate(texts)]
    words = CallableTokenizer(lambda text: len(text.split()), name="words")
    assert [hit.key[1] for hit in plain_hits(hits, 3, words)] == [0, 2]
