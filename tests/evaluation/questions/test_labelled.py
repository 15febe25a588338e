from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from retrivex import RetrivexError
from retrivex.evaluation.questions.evidence import Evidence
from retrivex.evaluation.questions.labelled import EvidenceFinder, locate, read_question_lines

BEES = "Bees live in hives.\nThey sleep at night. Bees eat honey. Wasps sleep, too."
ANTS = "Ants work. They eat all kinds of things. Bees eat honey."
FINDER = EvidenceFinder({"bees": BEES, "ants": ANTS})


def written(path: Path, *lines: Any) -> Path:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("claim", "start", "end"),
    [
        ({"doc_id": "bees", "quote": "They sleep at night."}, 20, 40),
        ({"quote": "IN HIVES.  they sleep"}, 10, 30),
        ("IN HIVES.  they sleep", 10, 30),
        ({"doc_id": "bees", "start": 3, "end": 7}, 3, 7),
        ({"doc_id": "bees", "quote": "Bees eat honey."}, 41, 56),
    ],
)
def test_evidence_is_found(claim: Any, start: int, end: int) -> None:
    assert FINDER.find(claim) == Evidence("bees", start, end)


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (7, "must be one of"),
        ("Hornets", "is not in any document"),
        ({}, "must be one of"),
        ({"start": 1, "end": 2}, "must be one of"),
        ({"quote": 7}, "must be one of"),
        ({"quote": "..."}, "must hold words"),
        ({"quote": "Bees eat honey."}, "stands at 2 places"),
        ({"doc_id": "bees", "quote": "sleep"}, "stands at 2 places"),
        ({"quote": "Hornets"}, "is not in any document"),
        ({"doc_id": "bees", "quote": "Ants work."}, "is not in document 'bees'"),
        ({"doc_id": "wasps", "quote": "sleep"}, "document 'wasps', which is not there"),
        ({"doc_id": "bees", "start": 5, "end": 5}, "start < end <= 74"),
        ({"doc_id": "bees", "start": 5, "end": 75}, "start < end <= 74"),
        ({"doc_id": "bees", "start": "5", "end": 7}, "whole numbers"),
        ({"doc_id": "bees"}, "whole numbers"),
    ],
)
def test_evidence_that_cannot_be_placed_is_refused(claim: Any, message: str) -> None:
    with pytest.raises(RetrivexError, match=message):
        FINDER.find(claim)


def test_a_question_without_one_of_its_passages_is_left_out_and_told(tmp_path: Path) -> None:
    path = written(
        tmp_path / "q.jsonl",
        {"question": "Do bees sleep?", "evidence": [{"quote": "they sleep at night"}], "answer": "yes"},
        "",
        {"question": "Who works?", "evidence": [{"quote": "Ants work."}, {"quote": "Bees do not."}]},
        {"question": "Do hornets?", "evidence": []},
    )
    found, problems = locate(read_question_lines(path), FINDER)
    assert found == {"line 1": (Evidence("bees", 20, 39),), "line 4": ()}
    assert len(problems) == 1
    assert problems[0].startswith("line 3 left out: quote 'Bees do not.' is not in any document")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "hold no line"),
        (["{"], "line 1 of .* is not JSON"),
        ([{"question": "a", "evidence": []}, "[1]"], "line 2 of .* holds a list"),
        ([{"evidence": []}], "line 1 of .* has the question None"),
        ([{"question": " ", "evidence": []}], "must be a text that is not blank"),
        ([{"question": "a"}], "has the evidence None"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, lines: list[Any], message: str) -> None:
    with pytest.raises(RetrivexError, match=message):
        read_question_lines(written(tmp_path / "q.jsonl", *lines))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RetrivexError, match="cannot be read"):
        read_question_lines(tmp_path / "none.jsonl")
