"""One call from a question to its context: `RetriVex.ask`."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex import Chunk, ChunkMetadata, Document, RetrievalConfig, RetriVex, SeedHit, Window
from retrivex.encoders.encoder import HashingEncoder
from retrivex.errors import ConfigError, HitError, StoreError
from retrivex.stores import CachedChunkStore, InMemoryChunkStore, SQLiteStore, fetch_from_mapping
from retrivex.stores.cache.memory import MemoryCache

TEXTS = {
    "bees": ["Bees live in hives.", "A hive has one queen.", "She lays all the eggs.", "Drones do not work.", "End."],
    "wasps": ["Wasps live in nests.", "A nest has one queen.", "Nests are of paper."],
    "ants": ["Ants live in hills.", "A hill has many queens."],
}
CONFIG = RetrievalConfig(token_budget=500, tokenizer="estimate", window=0)
CHUNKS = {
    (name, n): Chunk(text, ChunkMetadata(name, n, chunk_count=len(texts), custom_metadata={"title": name.title()}))
    for name, texts in TEXTS.items()
    for n, text in enumerate(texts)
}


class Listed:
    """Gives the hits it was given."""

    def __init__(self, hits: list[SeedHit]) -> None:
        self.hits = hits

    def retrieve(self, question: str, k: int = 50, scope: Any = None) -> list[SeedHit]:
        return self.hits[:k]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    with SQLiteStore(tmp_path / "store.db") as made:
        for name, texts in TEXTS.items():
            chunks = [chunk for key, chunk in CHUNKS.items() if key[0] == name]
            vectors = HashingEncoder().encode(texts)
            made.put(Document(name, " ".join(texts)), chunks, None, vectors, encoder=HashingEncoder().name)
        yield made


@pytest.mark.parametrize("encoder", [None, HashingEncoder()])
def test_a_question_gives_its_context(store: SQLiteStore, encoder: HashingEncoder | None) -> None:
    asked = RetriVex(store, encoder, CONFIG)
    made = asked.ask("Who is the queen?", window=1)
    assert "A hive has one queen. She lays all the eggs." in made.text
    assert made.question == "Who is the queen?"
    assert asyncio.run(asked.aask("Who is the queen?", window=1)) == made
    assert any("no encoder was given" in warning for warning in made.warnings) == (encoder is None)


def test_hits_can_be_limited_by_metadata_of_the_store(store: SQLiteStore) -> None:
    made = RetriVex(store, None, CONFIG).ask("queen", where={"doc_id": "wasps"})
    assert {span.doc_id for span in made.spans} == {"wasps"}


def test_a_filter_that_nobody_reads_is_refused() -> None:
    with pytest.raises(StoreError, match=r"where is \{'year': 2024\}: Listed takes none; leave it out, or give"):
        RetriVex(CHUNKS, config=CONFIG, retriever=hits()).ask("queen", where={"year": 2024})


def test_the_question_has_both_names(store: SQLiteStore) -> None:
    asked = RetriVex(store, None, CONFIG)
    assert asked.ask(question="queen") == asked.ask("queen") == asyncio.run(asked.aask(question="queen"))  # type: ignore[call-arg]


def hits(*found: tuple[str, int, float]) -> Listed:
    return Listed([SeedHit(CHUNKS[name, n], score) for name, n, score in found])


FOUND = (("bees", 1, 0.9), ("bees", 2, 0.8), ("wasps", 1, 0.7), ("bees", 3, 0.6), ("ants", 1, 0.5))


@pytest.mark.parametrize(
    ("limits", "shown"),
    [
        ({}, {("bees", 1), ("bees", 2), ("wasps", 1), ("bees", 3), ("ants", 1)}),
        ({"min_score": 0.7}, {("bees", 1), ("bees", 2), ("wasps", 1)}),
        ({"max_documents": 2}, {("bees", 1), ("bees", 2), ("wasps", 1), ("bees", 3)}),
        ({"max_chunks_per_document": 2}, {("bees", 1), ("bees", 2), ("wasps", 1), ("ants", 1)}),
        ({"max_documents": 1, "max_chunks_per_document": 1}, {("bees", 1)}),
        ({"min_score": 1.0}, set()),
    ],
)
def test_limits_leave_out_hits_and_say_so(limits: dict[str, Any], shown: set[tuple[str, int]]) -> None:
    made = RetriVex(CHUNKS, config=CONFIG, retriever=hits(*FOUND)).ask("queen", **limits)
    assert {(span.doc_id, n) for span in made.spans for n in span.chunk_ids} <= shown
    cut = {(hit.doc_id, hit.chunk_id) for hit in made.dropped if hit.reason == "cut_off"}
    assert cut == {(name, n) for name, n, _ in FOUND} - shown
    assert all(hit.detail for hit in made.dropped)


def test_the_best_is_the_smallest_distance() -> None:
    asked = RetriVex(CHUNKS, config=CONFIG, retriever=hits(("bees", 1, 0.9), ("wasps", 1, 0.1)))
    made = asked.ask("queen", score_kind="distance", min_score=0.5)
    assert [span.doc_id for span in made.spans] == ["wasps"]


@given(st.lists(st.tuples(st.sampled_from(sorted(CHUNKS)), st.floats(0, 1)), unique_by=lambda hit: hit[0]), st.data())
def test_every_hit_is_shown_or_dropped(found: list[tuple[tuple[str, int], float]], data: st.DataObject) -> None:
    listed = Listed([SeedHit(CHUNKS[key], score) for key, score in found])
    most, each = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    made = RetriVex(CHUNKS, config=CONFIG, retriever=listed).ask(
        "queen", min_score=data.draw(st.floats(0, 1)), max_documents=most, max_chunks_per_document=each
    )
    shown = [(span.doc_id, n) for span in made.spans for n in span.chunk_ids]
    assert {*shown, *((hit.doc_id, hit.chunk_id) for hit in made.dropped)} == {key for key, _ in found}
    assert len({doc_id for doc_id, _ in shown}) <= most
    assert all(sum(key[0] == doc_id for key in shown) <= each for doc_id, _ in shown)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_documents": 0}, r"max_documents is 0: it must be a whole number of at least 1, or None"),
        ({"max_chunks_per_document": 1.5}, r"max_chunks_per_document is 1.5: it must be a whole number"),
        ({"min_score": "high"}, r"min_score is 'high': it must be a finite number, or None"),
        ({"min_score": float("nan")}, r"min_score is nan: it must be a finite number, or None"),
        ({"token_bugdet": 3}, r"did you mean token_budget\?"),
    ],
)
def test_a_bad_limit_is_named(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        RetriVex(CHUNKS, config=CONFIG, retriever=hits(*FOUND)).ask("queen", **limits)


def test_hits_go_to_the_composer_as_they_are_where_nothing_limits_them() -> None:
    lists: Any = [[SeedHit(CHUNKS["bees", 1], 0.9)], [SeedHit(CHUNKS["wasps", 1], 0.9)]]
    asked = RetriVex(CHUNKS, config=CONFIG, retriever=Listed(lists))
    assert {span.doc_id for span in asked.ask("queen").spans} == {"bees", "wasps"}
    with pytest.raises(HitError, match=r"2 hit lists and a limit on hits: make them one list with fuse\(lists\)"):
        asked.ask("queen", max_documents=1)
    with pytest.raises(HitError):
        RetriVex(CHUNKS, config=CONFIG, retriever=Listed([None])).ask("queen", min_score=0.5)  # type: ignore[list-item]


def test_limits_that_leave_nothing_are_said() -> None:
    made = RetriVex(CHUNKS, config=CONFIG, retriever=hits(*FOUND)).ask("queen", min_score=2)
    assert made.text == ""
    assert made.warnings == (
        "all 5 hits are beyond the limits, first: its score is worse than min_score=2; loosen them",
    )


def test_a_store_that_cannot_be_searched_is_named() -> None:
    with pytest.raises(StoreError, match="store is InMemoryChunkStore, which cannot be searched: give"):
        RetriVex(InMemoryChunkStore(CHUNKS.values()))
    with pytest.raises(StoreError, match=r"retriever is int: it must have retrieve\(question, k, scope\)"):
        RetriVex(CHUNKS, retriever=5)  # type: ignore[arg-type]


# ---- the four cases of chunk-aware retrieval: one chunk, several, a gap, a threshold


@pytest.mark.parametrize(
    ("found", "limits", "text", "coverage"),
    [
        ((("bees", 1, 0.9),), {}, "A hive has one queen.", "chunk 1 (5 in all)"),
        (
            (("bees", 1, 0.9), ("bees", 2, 0.7)), {},
            "A hive has one queen. She lays all the eggs.", "chunks 1-2 (5 in all)",
        ),
        (
            (("bees", 0, 0.9), ("bees", 3, 0.7)), {},
            "Bees live in hives.\n\n[chunks 1-2 omitted]\n\nDrones do not work.", "chunks 0, 3 (5 in all)",
        ),
        ((("bees", 1, 0.9), ("bees", 3, 0.3)), {"min_score": 0.5}, "A hive has one queen.", "chunk 1 (5 in all)"),
    ],
)  # fmt: skip
def test_documents_are_rebuilt(found: Any, limits: dict[str, Any], text: str, coverage: str) -> None:
    made = RetriVex(CHUNKS, config=CONFIG, retriever=hits(*found)).ask("queen", **limits)
    [document] = made.documents()
    assert (document.doc_id, document.title, document.metadata) == ("bees", "Bees", {"title": "Bees"})
    assert document.text == text
    assert str(document.coverage) == coverage
    scores = [score for _, _, score in found if score >= limits.get("min_score", 0)]
    assert document.coverage.matched == tuple((n, score) for (_, n, score) in found if score in scores)
    assert document.coverage.max_score == max(scores)
    assert document.coverage.mean_score == pytest.approx(sum(scores) / len(scores))


class Requests:
    """A store of many documents that notes what it is asked for."""

    def __init__(self, documents: int, size: int) -> None:
        self.asked: list[tuple[Window, ...]] = []
        self.chunks = {
            (f"d{name}", n): Chunk(f"Text {n} of document {name}.", ChunkMetadata(f"d{name}", n, chunk_count=size))
            for name in range(documents)
            for n in range(size)
        }

    def fetch(self, windows: Any, scope: Any = None) -> list[Chunk]:
        self.asked.append(tuple(windows))
        return fetch_from_mapping(self.chunks, windows)


@pytest.mark.parametrize("adjacent", [True, False])
def test_the_published_chunk_aware_search_is_one_call(adjacent: bool) -> None:
    requests = Requests(documents=9, size=12)
    found = [
        SeedHit(requests.chunks[f"d{name}", n], 0.99 - name / 20 - at / 100)
        for name in range(9)
        for at, n in enumerate((1, 4, 9, 7))
    ]
    cached = CachedChunkStore(requests, MemoryCache(ttl_s=300), name="help")
    asked = RetriVex(cached, config=RetrievalConfig(tokenizer="estimate"), retriever=Listed(found))
    arguments: Any = {
        "k": 36, "max_documents": 5, "max_chunks_per_document": 3, "min_score": 0.5,
        "window": 1 if adjacent else 0, "expand_top_documents": 3, "effort": "full",
    }  # fmt: skip
    made = asked.ask("text of a document", **arguments)
    documents = made.documents()
    assert {document.doc_id for document in documents} == {"d0", "d1", "d2", "d3", "d4"}
    for document in documents:
        name = int(document.doc_id[1:])
        assert [n for n, _ in document.coverage.matched] == [1, 4, 9]
        scores = [0.99 - name / 20 - at / 100 for at in range(3)]
        assert document.coverage.max_score == pytest.approx(max(scores))
        assert document.coverage.mean_score == pytest.approx(sum(scores) / 3)
        wide = adjacent and name < 3  # neighbours for the best three alone
        assert str(document.coverage) == f"chunks {'0-5, 8-10' if wide else '1, 4, 9'} (12 in all)"
        assert ("[chunks 6-7 omitted]" if wide else "[chunks 5-8 omitted]") in document.text
    assert [sum(map(len, windows)) for windows in requests.asked] == [3 * 9 + 2 * 3 if adjacent else 15]
    again = asked.ask("text of a document", **arguments)
    assert again.text == made.text
    assert len(requests.asked) == 1  # for five minutes


def test_documents_come_best_first_with_what_their_chunks_share() -> None:
    made = RetriVex(CHUNKS, config=CONFIG, retriever=hits(*FOUND)).ask("queen")
    documents = made.documents()
    assert [document.doc_id for document in documents] == [covered.doc_id for covered in made.coverage]
    assert documents[0].text.startswith("A hive has one queen. She lays all the eggs.")


# ---- what stands around a place


def test_what_stands_around_a_citation_a_span_and_a_chunk() -> None:
    asked = RetriVex(CHUNKS, config=CONFIG, retriever=hits(("bees", 1, 0.9)))
    made = asked.ask("queen")
    for place in (made.citations[0], made.spans[0], ("bees", 1)):
        found = asked.around(place)
        assert found is not None
        assert found.text == "Bees live in hives. A hive has one queen. She lays all the eggs."
    wider = asked.around(("bees", 1), before=0, after=9)
    assert wider is not None
    assert wider.chunk_ids == [1, 2, 3, 4]


def test_around_stops_at_gaps_and_keeps_what_others_may_not_see() -> None:
    secret = Chunk("Of another tenant.", ChunkMetadata("bees", 2, scope="b"))
    asked = RetriVex({**CHUNKS, secret.key: secret}, config=CONFIG, retriever=hits())
    found = asked.around(("bees", 1), 2, 2)
    assert found is not None
    assert found.chunk_ids == [0, 1]
    assert asked.around(("bees", 2)) is None
    assert asked.around(("bees", 99)) is None
    with pytest.raises(StoreError, match=r"place is 'bees': give a Citation, a Span or \(doc_id, chunk_id\)"):
        asked.around("bees")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="window"):
        asked.around(("bees", 1), before=-1)


@pytest.mark.parametrize(
    "options",
    [
        {"max_tokens_per_document": 5}, {"min_value": 0.99}, {"expand_top": 0}, {"pinned": [("bees", 3)]},
        {"exclude": [("bees", 1)]}, {"effort": "lean"}, {"max_spans": 1, "k": 1},
    ],
)  # fmt: skip
def test_around_does_not_depend_on_the_options(options: dict[str, Any]) -> None:
    asked = RetriVex(CHUNKS, config=CONFIG.override(**options), retriever=hits())
    found = asked.around(("bees", 2), 2, 2)
    assert found is not None
    assert found.chunk_ids == [0, 1, 2, 3, 4]


class Failing:
    """A store that fails at the n-th request."""

    def __init__(self, at: int) -> None:
        self.left = at

    def fetch(self, windows: Any, scope: Any = None) -> list[Chunk]:
        self.left -= 1
        if self.left == 0:
            raise RuntimeError("postgresql://user:hunter2@host/db went away")
        return fetch_from_mapping(CHUNKS, windows)


@pytest.mark.parametrize("at", [1, 2])
def test_around_says_that_the_store_fails(at: int) -> None:
    with pytest.raises(StoreError, match="went away") as failed:
        RetriVex(Failing(at), config=CONFIG, retriever=hits()).around(("bees", 1))
    assert "hunter2" not in str(failed.value)


def test_around_a_place_of_the_embedded_store(store: SQLiteStore) -> None:
    found = RetriVex(store, None, CONFIG).around(("wasps", 1))
    assert found is not None
    assert found.text == "Wasps live in nests. A nest has one queen. Nests are of paper."
