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
    ({"question": "Who?", "answers": ["a"], "documents": [{"text": "a"}]}, "doc_id is missing"),
    ({"question": "Who?", "answers": ["a"], "documents": [" "]}, "hold a blank text"),
    ({"question": "Who?", "answers": ["a"], "documents": "ants.txt"}, "documents is 'ants.txt': it must be a list"),
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


def test_documents_in_the_lines_are_searched_for_that_question_alone(folder: Path, tmp_path: Path) -> None:
    wasps = {"doc_id": "wasps", "text": "Wasps sting. They sleep, too."}
    path = questions(
        tmp_path / "q.jsonl",
        {"question": "Who stings?", "documents": [wasps, "Flies do not."], "evidence": [{"quote": "wasps sting."}]},
        {"question": "Who works?", "evidence": [{"quote": "Ants work."}]},
        {"question": "Who sings?", "documents": {"wasps": "Wasps sing."}, "references": ["Wasps sing."]},
        {"question": "Who rests?", "documents": ["ants.txt", wasps], "evidence": [{"quote": "They sleep, too."}]},
    )
    found = own(path, folder)
    assert quoted(found, 0) == ["Wasps sting."]
    assert found.questions[0].within == ("wasps", "line-1/document-2")
    assert found.questions[1].within == ("ants.txt", "insects/bees.md")
    assert found.questions[2].within == ("wasps (2)",)  # another text under the same name
    assert quoted(found, 2) == ["Wasps sing."]
    assert found.questions[3].within == ("ants.txt", "wasps")
    assert quoted(found, 3) == ["They sleep, too."]


def test_references_are_the_documents_where_there_are_none(tmp_path: Path) -> None:
    path = questions(
        tmp_path / "q.jsonl",
        {"question": "Who sleeps?", "references": ["Bees sleep.", "Wasps sleep, too."], "answers": ["bees"]},
        {"question": "Who else?", "references": ["Wasps sleep, too."]},
        {"question": "Who works?", "references": ["Ants work. They eat."], "evidence": [{"quote": "Ants work."}]},
        {"question": "Who rests?", "answers": ["bees"]},
    )
    found = own(path)
    assert sorted(found.documents.values()) == ["Ants work. They eat.", "Bees sleep.", "Wasps sleep, too."]
    assert quoted(found, 0) == ["Bees sleep.", "Wasps sleep, too."]
    assert quoted(found, 1) == ["Wasps sleep, too."]
    assert quoted(found, 2) == ["Ants work."]
    assert all(question.within == () for question in found.questions)
    assert found.odd == ()


def test_questions_with_nothing_to_search_are_told(tmp_path: Path) -> None:
    apart = {"question": "Who?", "answers": ["bees"], "documents": ["Bees sleep."]}
    path = questions(tmp_path / "q.jsonl", apart, {"question": "Who?", "answers": ["ants"]})
    found = own(path)
    assert len(found.questions) == 1
    assert found.odd == ("line 2: there are no documents to search; left out",)
    with pytest.raises(LoadError, match="has no documents to search"):
        own(questions(tmp_path / "q.jsonl", {"question": "Who?", "answers": ["ants"]}))
    with pytest.raises(LoadError, match="no documents to find the evidence in"):
        own(questions(tmp_path / "q.jsonl", {"question": "Who?", "evidence": [{"quote": "Bees."}]}))


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


def test_a_document_that_a_line_names_and_that_is_not_there_is_told(folder: Path, tmp_path: Path) -> None:
    path = questions(
        tmp_path / "mine.jsonl",
        {"question": "Who works?", "answers": ["ants"], "documents": ["ant.txt"]},
        {"question": "Who works?", "answers": ["ants"], "documents": ["ants.txt", "Wasps read ants.txt"]},
        {"question": "Who stings?", "answers": ["wasps"], "documents": ["Wasps sting."]},
    )
    found = own(path, folder)
    assert [question.question_id for question in found.questions] == ["line-3"]
    assert found.odd == tuple(
        f"line {line}: documents name {name!r}, which is not there: check its name; a text that ends so goes into "
        "doc_id and text; left out"
        for line, name in ((1, "ant.txt"), (2, "Wasps read ants.txt"))
    )
