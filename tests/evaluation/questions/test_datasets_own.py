from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import EvidenceSet
from retrivex.evaluation.questions.own import own

BEES = "# Bees\n\nBees live in hives. They sleep at night."
ANTS = "Ants work. They eat all kinds of things."


def questions(path: Path, *lines: Any) -> Path:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    (made / "insects").mkdir(parents=True)
    (made / "insects" / "bees.md").write_text(BEES, encoding="utf-8")
    (made / "ants.txt").write_text(ANTS, encoding="utf-8")
    return made


def quoted(found: EvidenceSet, question: int = 0) -> list[str]:
    return [found.documents[part.doc_id][part.start : part.end] for part in found.questions[question].evidence]


def test_questions_over_a_folder(folder: Path, tmp_path: Path) -> None:
    path = questions(
        tmp_path / "mine.jsonl",
        {"question": "When do bees sleep?", "answers": ["at night"], "evidence": [{"quote": "they  SLEEP at night"}]},
        {
            "id": "eat",
            "question": "What do ants eat?",
            "answer": "all kinds of things",
            "evidence": [{"doc_id": "ants.txt", "start": 11, "end": 40}],
            "factors": {"kind": "food", "hard": False},
            "note": "other keys are passed over",
        },
        {"id": 0, "question": "Do wasps sing?", "evidence": []},
        {"question": "Name two insects.", "answers": ["bees", "ants"], "needed": "all"},
    )
    found = own(path, folder)
    assert found.name == "mine"
    assert set(found.documents) == {"insects/bees.md", "ants.txt"}
    assert [question.question_id for question in found.questions] == ["line-1", "eat", "0", "line-4"]
    assert quoted(found, 0) == ["They sleep at night"]
    assert quoted(found, 1) == ["They eat all kinds of things."]
    assert found.questions[1].answers == ("all kinds of things",)
    assert found.questions[1].factors == {"kind": "food", "hard": False}
    assert found.questions[3].needed == "all"
    assert all(question.within == () for question in found.questions)
    assert found.odd == ()


BAD: list[tuple[Any, str]] = [
    ("{", "a line that is not JSON"),
    ([1], "it holds a list"),
    ({"evidence": []}, "question is missing"),
    ({"question": " ", "evidence": []}, "question is blank"),
    ({"question": "Who?"}, "there are no answers, references or evidence"),
    ({"question": "Who?", "evidence": "bees"}, "evidence is 'bees': it must be a list"),
    ({"question": "Who?", "evidence": [{"quote": "Hornets."}]}, "is not in any document"),
    ({"question": "Who?", "evidence": [{"quote": "They"}]}, "stands at 2 places"),
    ({"question": "Who?", "evidence": [{"doc_id": "bees", "quote": "Bees"}]}, "'bees', which is not there"),
    ({"question": "Who?", "references": ["Hornets."]}, "is not in any document"),
    ({"question": "Who?", "answers": 7}, "answers is 7: it must be a list"),
    ({"question": "Who?", "answers": ["\ud800"]}, "half a surrogate pair"),
    ({"question": "Who?", "answers": ["a"], "needed": "most"}, "needed is 'most'"),
    ({"question": "Who?", "answers": ["a"], "factors": {"a": [1]}}, "factors have 'a'"),
    ({"question": "Who?", "answers": ["a"], "factors": {"a": 10**400}}, "factors have 'a'"),
    ({"question": "Who?", "answers": ["a"], "factors": {"a": "\ud800"}}, "half a surrogate pair"),
    ({"question": "Who?", "answers": ["a"], "factors": {"\ud800": 1}}, "half a surrogate pair"),
    ({"question": "Who?", "answers": ["a"], "id": "\ud800"}, "half a surrogate pair"),
    ('{"question": "Who?", "answers": ["a"], "id": ' + "9" * 5000 + "}", "a line that cannot be read"),
    ({"question": "Who?", "answers": ["a"], "documents": ["ant.txt"]}, "documents name 'ant.txt', which is not there"),
    ({"question": "Who?", "answers": ["a"], "documents": {"a": "b"}}, "documents is {'a': 'b'}: it must be a list"),
    ({"question": "Who?", "answers": ["a"], "id": ["b"]}, "id is ['b']: it must be"),
    ({"question": "Again?", "answers": ["a"], "id": "good"}, "question id 'good' was used before"),
]


def test_bad_lines_are_told_and_the_rest_is_used(folder: Path, tmp_path: Path) -> None:
    good = {"id": "good", "question": "Who?", "answers": ["bees"]}
    found = own(questions(tmp_path / "q.jsonl", good, *(line for line, _ in BAD)), folder)
    assert [question.question_id for question in found.questions] == ["good"]
    assert len(found.odd) == len(BAD)
    for number, (line, (_, reason)) in enumerate(zip(found.odd, BAD, strict=True), 2):
        assert line.startswith(f"line {number}: ")
        assert reason in line
        assert line.endswith("; left out")
    assert set(found.documents) == {"insects/bees.md", "ants.txt"}  # none of a line that is left out


def test_a_question_may_name_its_documents_and_references_are_quotes(folder: Path, tmp_path: Path) -> None:
    path = questions(
        tmp_path / "q.jsonl",
        {"question": "Who works?", "documents": ["ants.txt"], "references": ["Ants  work."]},
        {"question": "Who sleeps?", "references": ["They sleep at night."], "evidence": [{"quote": "Bees live"}]},
    )
    found = own(path, folder)
    assert [question.within for question in found.questions] == [("ants.txt",), ()]
    assert quoted(found, 0) == ["Ants work."]
    assert quoted(found, 1) == ["Bees live", "They sleep at night."]


def test_documents_that_cannot_be_read_are_told(folder: Path, tmp_path: Path) -> None:
    (folder / "broken.pdf").write_bytes(b"no pdf")
    path = questions(tmp_path / "q.jsonl", {"question": "Who?", "answers": ["bees"]})
    found = own(path, [folder])
    assert len(found.odd) == 1
    assert "broken.pdf" in found.odd[0]
    with pytest.raises(LoadError, match="hold none that can be read"):
        own(path, tmp_path / "nowhere")


def test_documents_as_texts(tmp_path: Path) -> None:
    path = questions(tmp_path / "q.jsonl", {"question": "Who?", "evidence": [{"quote": "Ants work."}]})
    assert quoted(own(path, {"ants": ANTS})) == ["Ants work."]


def test_a_file_without_a_usable_line_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        LoadError, match=r"q has no question that can be used \(of 2 malformed records the first is line 1: "
    ):
        own(questions(tmp_path / "q.jsonl", "{", "[]"), {"ants": ANTS})
    with pytest.raises(LoadError, match="cannot be read"):
        own(tmp_path / "none.jsonl", {"ants": ANTS})
