"""Questions made of two, and the sets that ask of others' documents; hand-made sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.evidence import index as evidence_index
from benchmarks.evidence.double_questions import NAME, SOURCES, double_questions, joined
from benchmarks.evidence.index import SETS, Indexes, ask
from retrivex.evaluation.questions.evidence import Evidence, EvidenceSet, Question

DOCUMENTS = {"bees": "Bees sleep at night.", "ants": "Ants dig holes.", "wasps": "Wasps build nests."}


def made(name: str) -> EvidenceSet:
    """Five questions with one passage, one with two, one with none."""
    places = list(DOCUMENTS)
    questions = [
        Question(str(number), f"What is number {number}", (Evidence(places[number % 3], 0, 4),)) for number in range(5)
    ]
    questions.append(Question("two", "Who?", (Evidence("bees", 0, 4), Evidence("ants", 0, 4))))
    questions.append(Question("none", "Who else?", ()))
    return EvidenceSet(name, DOCUMENTS, tuple(questions))


def test_two_questions_of_one_passage_each_make_one_of_both() -> None:
    found = double_questions(made, ["first", "second"])
    assert [question.factors["set"] for question in found.questions] == ["first"] * 2 + ["second"] * 2
    for question in found.questions:
        one, other = question.evidence
        assert one.doc_id.split("/")[0] == other.doc_id.split("/")[0] == question.factors["set"]
        assert one.doc_id != other.doc_id
    parts = [part for question in found.questions for part in question.question_id.split("/")[1].split("+")]
    assert "two" not in parts
    assert "none" not in parts
    assert len(set(parts[:4])) == 4, "a question is used once"
    assert sorted(found.documents) == sorted(f"{name}/{doc}" for name in ("first", "second") for doc in DOCUMENTS)
    assert found == double_questions(made, ["first", "second"])


def test_both_are_joined_as_one_would_ask_them() -> None:
    assert joined("Who leads ", "Where is it?") == "Who leads? And where is it?"
    assert joined("Who leads.", "I asked whom?") == "Who leads. And I asked whom?"
    assert joined("Who?", "Normandy is where?") == "Who? And Normandy is where?"


class Lengths:
    """Embeds a text by its length."""

    def __call__(self, texts: Sequence[str], *_: object, **__: object) -> NDArray[np.float32]:
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)


@pytest.fixture
def sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence_index, "load_set", lambda name, _: made(name))
    monkeypatch.setattr(evidence_index, "embed", Lengths())
    evidence_index.load.cache_clear()


@pytest.mark.usefixtures("sets")
def test_the_documents_of_double_questions_are_those_of_the_other_sets() -> None:
    try:
        indexes = Indexes((*SOURCES, NAME), 50)
        assert len(indexes.all.documents) == len(SOURCES) * len(DOCUMENTS)
        asked = ask(NAME)
        assert len(asked) == 2 * len(SOURCES)
        for one in asked:
            assert one.set_name == NAME
            assert {part.doc_id for part in one.question.evidence} < indexes.all.documents.keys()
            alone = indexes.of(one, "alone").documents
            assert {doc_id.split("/")[0] for doc_id in alone} == {one.question.factors["set"]}
        some = list(Indexes(("squad", NAME), 50).questions())
        assert {one.question.factors["set"] for one in some if one.set_name == NAME} == {"squad"}
    finally:
        evidence_index.load.cache_clear()


@pytest.mark.usefixtures("sets")
def test_a_document_with_a_title_has_it_in_its_chunks() -> None:
    try:
        index = evidence_index.make_index(("hotpotqa", "qmsum"), 50)
        titles = {chunk.metadata.doc_id: chunk.metadata.custom_metadata.get("title") for chunk in index.chunks}
        assert titles["hotpotqa/bees"] == "Bees sleep at night."
        assert titles["qmsum/bees"] is None
    finally:
        evidence_index.load.cache_clear()


def test_two_hop_and_double_questions_are_sets_like_the_others() -> None:
    assert {"hotpotqa", NAME} < set(SETS)
    assert set(SOURCES) < set(SETS)
