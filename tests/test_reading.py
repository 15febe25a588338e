"""The lint of sentences finds what it is there for."""

from __future__ import annotations

import runpy

import pytest
from support.examples import ROOT

LINT = ROOT / ".ci" / "reading.py"
pytestmark = pytest.mark.skipif(not LINT.exists(), reason="no checkout, as beside an unpacked wheel")
LONG = "one two three four five six seven eight nine ten " * 3 + "and one.\n"


def _problems(page: str) -> list[tuple[int, str]]:
    return list(runpy.run_path(str(LINT))["find_problems"](page))


def test_a_long_sentence_is_found_with_its_line() -> None:
    [(line, problem)] = _problems(f"# Title\n\nA short one.\n{LONG}")
    assert line == 4
    assert "32 words" in problem


def test_code_tables_and_headings_are_no_sentences() -> None:
    assert (
        _problems(f"# {LONG}\n```text\n{LONG}```\n\n| a | b |\n|---|---|\n| {LONG[:-2]} | c |\n\nBees sleep.\n") == []
    )


def test_items_of_a_list_are_sentences_of_their_own() -> None:
    assert _problems("".join(f"- {LONG[:50]}\n" for _ in range(5))) == []


def test_long_words_are_hard_to_read() -> None:
    [(line, problem)] = _problems("Organisational interoperability necessitates architectural considerations.\n")
    assert line == 1
    assert "reading ease" in problem


@pytest.mark.parametrize(
    ("word", "syllables"), [("files", 1), ("table", 2), ("passages", 3), ("used", 1), ("budget", 2)]
)
def test_syllables(word: str, syllables: int) -> None:
    assert runpy.run_path(str(LINT))["count_syllables"](word) == syllables
