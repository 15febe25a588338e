"""A collection of a vector store as an index: a question goes to it, citations resolve, and nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.memory_collection import MemoryCollection

from retrivex import Chunk, ChunkMetadata
from retrivex.composer.requests import RequestError
from retrivex.encoders.encoder import HashingEncoder
from retrivex.service.access import Access
from retrivex.service.collection import CollectionIndex
from retrivex.service.engine import ANYONE, Engine
from retrivex.service.errors import AccessError, CollectionError, NotFoundError
from retrivex.service.mcp.tools import open_citation
from retrivex.service.problems import problem_of
from retrivex.tokens.tokenizer import get_tokenizer

SENTENCES = ("Bees live in hives. ", "A hive has one queen. ", "She lays all the eggs. ", "Drones leave in autumn.")
TEXT = "".join(SENTENCES)
ACME = Access("k1", frozenset({"acme"}))
ENCODER = HashingEncoder()


def make_chunks(doc_id: str = "bees.md", scope: str | None = None, *, offsets: bool = True) -> Iterator[Chunk]:
    starts = [sum(map(len, SENTENCES[:number])) for number in range(len(SENTENCES))]
    vectors = ENCODER.encode(SENTENCES)
    for number, (text, start, vector) in enumerate(zip(SENTENCES, starts, vectors, strict=True)):
        places: Any = {"char_start": start, "char_end": start + len(text)} if offsets else {}
        yield Chunk(text, ChunkMetadata(doc_id, number, scope=scope, **places), embedding=vector)


@pytest.fixture
def collection() -> MemoryCollection:
    return MemoryCollection([*make_chunks(), *make_chunks("plan.md", "acme")])


@pytest.fixture
def engine(collection: MemoryCollection) -> Engine:
    return Engine([CollectionIndex("manuals", collection, ENCODER)], tokenizer=get_tokenizer("estimate"))


def ask(engine: Engine, access: Access = ANYONE, **more: Any) -> Any:
    return engine.query({"question": "Who is the queen of a hive?", "index": "manuals", **more}, access)


def test_hits_and_their_neighbours_come_from_the_collection(engine: Engine) -> None:
    made = ask(engine, k=1, config={"window": 1})
    assert "A hive has one queen. She lays all the eggs." in made.text
    assert {citation.doc_id for citation in made.citations} == {"bees.md"}


def test_sub_questions_are_each_searched_for(engine: Engine) -> None:
    asked = ["Who lives in hives?", "When do drones leave?"]
    made = ask(engine, k=1, sub_questions=asked, config={"window": 0}, trace=True)
    assert set(made.questions) == set(asked)
    assert "Bees live in hives" in made.text
    assert "Drones leave in autumn" in made.text
    assert "Bees live" in ask(engine, k=1, whole_documents=100, config={"window": 0}).text


def test_a_key_sees_its_scope_alone(engine: Engine) -> None:
    assert {citation.doc_id for citation in ask(engine, ACME).citations} == {"plan.md"}
    assert {citation.doc_id for citation in ask(engine).citations} == {"bees.md"}
    with pytest.raises(NotFoundError, match="no chunk 0 in 'manuals'"):
        engine.resolve({"doc_id": "bees.md", "chunk_id": 0, "index": "manuals"}, ACME)


def test_citations_resolve_with_what_stands_around_them(engine: Engine) -> None:
    made = ask(engine)
    for citation in made.to_dict()["citations"]:
        found = engine.resolve({**citation, "index": "manuals", "around": 30})
        start, end = citation["char_start"], citation["char_end"]
        assert found["text"] == made.text[citation["start"] : citation["end"]] == TEXT[start:end]
        assert (found["before"], found["after"]) == (TEXT[max(0, start - 30) : start], TEXT[end : end + 30])


def test_a_citation_is_opened_by_its_characters_alone(engine: Engine) -> None:
    answer = open_citation(engine, {"citation": "bees.md#20-41", "index": "manuals", "around": 9}, ANYONE)
    assert answer == "bees.md#11-50:\n\nn hives. A hive has one queen. She lays"


@pytest.mark.parametrize("place", [{"char_start": 50, "char_end": 5000}, {"char_start": 9, "char_end": 5}, {}])
def test_a_citation_that_points_nowhere_is_refused(engine: Engine, place: dict[str, int]) -> None:
    with pytest.raises(RequestError, match=r"in no chunk of 'manuals'|neither offsets|end before they start"):
        engine.resolve({"doc_id": "bees.md", "index": "manuals", **place})


def test_chunks_without_offsets_are_opened_whole() -> None:
    index = CollectionIndex("manuals", MemoryCollection([*make_chunks(offsets=False)]), ENCODER)
    engine = Engine([index], tokenizer=get_tokenizer("estimate"))
    for citation in ask(engine).to_dict()["citations"]:
        found = engine.resolve({**citation, "index": "manuals"})
        assert (found["text"], found["char_start"]) == (SENTENCES[citation["chunk_id"]], None)


@pytest.mark.parametrize("more", [{"where": {"page": 1}}, {"mode": "bm25"}, {"mode": "hybrid"}])
def test_what_a_collection_cannot_do_is_refused(engine: Engine, more: dict[str, Any]) -> None:
    with pytest.raises(RequestError, match="leave it out"):
        ask(engine, **more)


def test_it_is_not_written_to_and_lists_no_documents(engine: Engine) -> None:
    with pytest.raises(AccessError, match="added where it is made, or filled"):
        engine.add_file(b"Text.", "a.md", index="manuals")
    with pytest.raises(AccessError):
        engine.delete_document("bees.md", index="manuals")
    with pytest.raises(NotFoundError, match="no list of documents"):
        engine.list_documents(index="manuals")


def test_the_page_shows_what_became_of_its_chunks(engine: Engine) -> None:
    [answer] = engine.view({"question": "Who is the queen of a hive?", "index": "manuals"})["answers"]
    assert answer["documents"][0]["doc_id"] == "bees.md"
    assert any(chunk["pieces"] for chunk in answer["documents"][0]["chunks"])


@pytest.mark.parametrize("error", [ConnectionError("http://10.0.0.7:6333 refused"), TimeoutError("10.0.0.7")])
def test_a_store_that_is_down_is_said_and_its_address_is_not(
    engine: Engine, collection: MemoryCollection, error: Exception
) -> None:
    collection.failures = [error] * 9
    with pytest.raises(CollectionError) as raised:
        ask(engine)
    problem = problem_of(raised.value)
    assert (problem.status, problem.kind) == (503, "store")
    assert "'manuals' does not answer" in problem.detail
    assert "10.0.0.7" not in problem.detail
    assert problem.headers["Retry-After"]
    collection.failures = []
    assert ask(engine).text


def test_readiness_is_that_of_the_store(engine: Engine, collection: MemoryCollection) -> None:
    engine.index("manuals").check()
    collection.failures = [ConnectionError("gone")]
    with pytest.raises(CollectionError):
        engine.index("manuals").check()
