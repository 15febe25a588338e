"""The embedded store: what goes in comes out, and nothing else."""

from __future__ import annotations

import asyncio
import dataclasses
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrivex.chunk import MAX_CHUNK_ID, Chunk, ChunkMetadata
from retrivex.document import Document
from retrivex.errors import StoreError
from retrivex.intervals import Window
from retrivex.stores import ChunkStore, ParentStore, SQLiteStore, content_hash
from retrivex.stores.reading import fetch_statement


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    with SQLiteStore(tmp_path / "store.db") as opened:
        yield opened


def page(doc_id: str, *texts: str, scope: str | None = None, **fields: Any) -> tuple[Document, list[Chunk]]:
    """Return a document made of `texts` joined by spaces, and its chunks with exact offsets."""
    chunks, start = [], 0
    for i, text in enumerate(texts):
        chunks.append(Chunk(text, ChunkMetadata(doc_id, i, start, start + len(text), scope=scope)))
        start += len(text) + 1
    return Document(doc_id, " ".join(texts), scope=scope, **fields), chunks


everything = Window("d", 0, 2**63)

# NUL and halves of surrogate pairs are refused, and that is tested below
names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30) | (
    st.sampled_from(["o'brien", '"quoted"', "a\nb", "100%_", "🐝\u200d🐝", "[1,2]", "x" * 5000, "1", "null", "\\u0000"])
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
json_values = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
whole = st.none() | st.integers(0, 2**62)


@st.composite
def chunks_of_one_document(draw: st.DrawFn) -> list[Chunk]:
    doc_id = draw(names)
    ids = draw(st.lists(st.integers(0, 20) | st.integers(0, MAX_CHUNK_ID), unique=True, min_size=1, max_size=4))
    links = st.lists(st.tuples(names, st.integers(0, MAX_CHUNK_ID)), max_size=2)
    return [
        Chunk(
            draw(texts.filter(bool)),
            ChunkMetadata(
                doc_id,
                chunk_id,
                *draw(st.sampled_from([(None, None), (0, 7), (2**40, 2**41)])),
                parent_id=draw(st.none() | names),
                heading_path=draw(st.none() | st.lists(texts, max_size=3) | st.lists(texts, max_size=3).map(tuple)),
                page=draw(whole),
                custom_metadata=draw(st.dictionaries(texts, json_values, max_size=3)),
                timestamp=draw(st.none() | st.floats(allow_nan=False, allow_infinity=False)),
                chunk_count=draw(whole),
                scope=draw(st.none() | names),
                links=draw(links | links.map(tuple)),
                prefix=draw(st.none() | texts),
            ),
        )
        for chunk_id in ids
    ]


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(chunks_of_one_document())
def test_chunks_come_out_as_they_went_in(chunks: list[Chunk]) -> None:
    doc_id = chunks[0].metadata.doc_id
    scopes = {chunk.metadata.scope for chunk in chunks}
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "store.db") as store:
        assert store.put(Document(doc_id, ""), chunks) == "added"
        found = store.fetch([Window(doc_id, 0, 2**63)], scopes)
        assert found == sorted(chunks, key=lambda chunk: chunk.metadata.chunk_id)
        for chunk in chunks:
            at = chunk.metadata.chunk_id
            assert store.fetch([Window(doc_id, at, at + 1)], [chunk.metadata.scope]) == [chunk]
        assert store.check() == []


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(
    names,
    texts,
    st.none() | texts,
    st.lists(st.integers(0, 2**60)).map(lambda starts: tuple(sorted(starts))),
    st.none() | texts,
    st.none() | st.floats(allow_nan=False),
    st.none() | names,
    st.dictionaries(texts, json_values, max_size=3),
)
def test_documents_come_out_as_they_went_in(
    doc_id: str,
    text: str,
    title: str | None,
    starts: tuple[int, ...],
    source: str | None,
    timestamp: float | None,
    scope: str | None,
    metadata: dict[str, Any],
) -> None:
    document = Document(doc_id, text, "markdown", title, starts, source, timestamp, scope, metadata)
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "store.db") as store:
        store.put(document, [])
        assert store.get_document(doc_id, scope) == document
        assert store.get_document(doc_id, f"not {scope}") is None
        assert [info.doc_id for info in store.documents()] == [doc_id]


@given(
    st.lists(
        st.builds(
            lambda doc_id, start, size: Window(doc_id, start, start + size),
            st.sampled_from(["a", "b", "a'b", "gone"]),
            st.integers(-3, 12) | st.just(2**63),
            st.integers(-2, 12) | st.just(2**64),
        ),
        max_size=5,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_fetch_gives_exactly_the_chunks_of_the_windows(three_documents: SQLiteStore, windows: list[Window]) -> None:
    keys = [(doc_id, i) for doc_id in ("a", "a'b", "b") for i in range(9)]
    wanted = [key for key in keys if any(key[0] == window.doc_id and key[1] in window for window in windows)]
    assert [chunk.key for chunk in three_documents.fetch(windows)] == wanted


@pytest.fixture
def three_documents(store: SQLiteStore) -> SQLiteStore:
    for doc_id in ("a", "b", "a'b"):
        store.put(*page(doc_id, *(f"{doc_id} number {i}" for i in range(9))))
    return store


def test_the_store_implements_the_protocols(store: SQLiteStore) -> None:
    assert isinstance(store, ChunkStore)
    assert isinstance(store, ParentStore)


def test_afetch_is_fetch(three_documents: SQLiteStore) -> None:
    windows = [Window("a", 2, 5)]
    assert asyncio.run(three_documents.afetch(windows)) == three_documents.fetch(windows)


@pytest.mark.parametrize("with_embeddings", [True, False])
@pytest.mark.parametrize("with_tokens", [True, False])
def test_fetch_looks_rows_up_and_scans_no_table(
    three_documents: SQLiteStore, with_embeddings: bool, with_tokens: bool
) -> None:
    sql = fetch_statement(with_embeddings=with_embeddings, with_tokens=with_tokens)
    connection = sqlite3.connect(three_documents.path)
    plan = [row[3] for row in connection.execute("EXPLAIN QUERY PLAN " + sql, ("x",) * sql.count("?"))]
    connection.close()
    assert plan[0].startswith("SCAN w VIRTUAL TABLE")
    scans = [step for step in plan if step.startswith("SCAN")]
    assert all("VIRTUAL TABLE" in step for step in scans), plan
    assert any("documents" in step or step.startswith("SEARCH d ") for step in plan)
    assert not any("TEMP B-TREE" in step for step in plan), plan


# -- scope


def test_scope_fails_closed_everywhere(store: SQLiteStore) -> None:
    open_page, acme, rival = page("d", "bees"), page("e", "bees", scope="acme"), page("f", "bees", scope="rival")
    for document, chunks in (open_page, acme, rival):
        store.put(document, chunks, {f"{document.doc_id}#0": document.text}, [[1.0, 0.0]], encoder="m")
    windows = [Window(doc_id, 0, 9) for doc_id in "def"]

    def seen(scope: Any) -> set[str]:
        ways = [
            [chunk.metadata.doc_id for chunk in store.fetch(windows, scope)],
            [hit.chunk.metadata.doc_id for hit in store.search_text("bees", scope=scope)],
            [hit.chunk.metadata.doc_id for hit in store.search_vector([1.0, 0.0], scope=scope)],
            [name[0] for name in store.fetch_parents(["d#0", "e#0", "f#0"], scope)],
            [doc_id for doc_id in "def" if store.get_document(doc_id, scope)],
        ]
        assert all(sorted(way) == sorted(ways[0]) for way in ways), ways
        return set(ways[0])

    assert seen(None) == {"d"}
    assert seen("acme") == {"e"}
    assert seen(["acme", "rival"]) == {"e", "f"}
    assert seen({"acme", None}) == {"d", "e"}
    assert seen([]) == set()
    assert seen("acm") == set()
    assert seen("acme' OR '1'='1") == set()
    # SQLite's JSON functions would cut this at the NUL and let it see acme's chunks
    assert seen("acme\0") == set()


def test_an_id_with_nul_cannot_reach_the_document_before_the_nul(store: SQLiteStore) -> None:
    store.put(*page("d", "bees"))
    assert store.fetch([Window("d\0x", 0, 9)]) == []
    assert store.fetch_parents(["d\0x"]) == {}


def test_chunks_of_a_scoped_document_need_a_scope(store: SQLiteStore) -> None:
    _, chunks = page("d", "secret")
    with pytest.raises(StoreError, match=r"chunk \('d', 0\) carries no scope, but its document is in 'acme'"):
        store.put(Document("d", "secret", scope="acme"), chunks)


# -- idempotent, incremental


def test_put_adds_then_leaves_alone_then_updates(store: SQLiteStore) -> None:
    assert store.put(*page("d", "one", "two", "three")) == "added"
    assert store.put(*page("d", "one", "two", "three")) == "unchanged"
    assert store.put(*page("d", "one", "2")) == "updated"
    assert [chunk.text for chunk in store.fetch([everything])] == ["one", "2"]
    assert store.search_text("three") == []
    assert store.check() == []


@pytest.mark.parametrize(
    "change",
    [
        {"scope": "acme"},
        {"page": 3},
        {"heading_path": ("Title",)},
        {"custom_metadata": {"a": 1}},
        {"parent_id": "p"},
        {"prefix": "head"},
        {"links": (("e", 1),)},
    ],
)
def test_a_change_of_any_field_is_an_update(store: SQLiteStore, change: dict[str, Any]) -> None:
    document, [chunk] = page("d", "one")
    store.put(document, [chunk])
    changed = Chunk(chunk.text, dataclasses.replace(chunk.metadata, **change))
    assert store.put(document, [changed]) == "updated"
    assert store.fetch([everything], {None, "acme"}) == [changed]


def test_with_a_hash_unchanged_chunks_are_not_even_read(store: SQLiteStore) -> None:
    document, chunks = page("d", "one")
    digest = content_hash(document, chunker="sentence-3", encoder="m")
    assert not store.is_current("d", digest)
    assert store.put(document, chunks, content_hash=digest) == "added"
    assert store.is_current("d", digest)

    def explode() -> Iterator[Chunk]:
        pytest.fail("chunks were read")
        yield chunks[0]

    assert store.put(document, explode(), content_hash=digest) == "unchanged"
    assert store.put(document, chunks, content_hash=content_hash(document, chunker="token-200")) == "updated"


def test_content_hash_knows_every_field_but_the_timestamp() -> None:
    base = Document("d", "text", metadata={"a": 1, "b": 2})
    changed: list[dict[str, Any]] = [
        {"doc_id": "e"},
        {"text": "other"},
        {"format": "markdown"},
        {"title": "T"},
        {"page_starts": (0, 2)},
        {"source": "s"},
        {"scope": "acme"},
        {"metadata": {"a": 2}},
    ]
    hashes = [content_hash(dataclasses.replace(base, **fields)) for fields in ({}, *changed)]
    hashes += [content_hash(base, chunker="c"), content_hash(base, encoder="c"), content_hash(base, tokenizer="c")]
    assert len(set(hashes)) == len(hashes)
    assert content_hash(dataclasses.replace(base, timestamp=5.0)) == hashes[0]
    assert content_hash(dataclasses.replace(base, metadata={"b": 2, "a": 1})) == hashes[0]


def test_delete_removes_all_that_belongs_to_the_document(store: SQLiteStore) -> None:
    store.put(*page("d", "bees sleep"), {"d#0": "bees sleep"}, [[1.0, 0.0]], encoder="m")
    store.put(*page("e", "bees fly"), {"e#0": "bees fly"}, [[0.0, 1.0]], encoder="m")
    assert store.delete("d")
    assert not store.delete("d")
    assert [hit.key for hit in store.search_text("bees")] == [("e", 0)]
    assert [hit.key for hit in store.search_vector([1.0, 0.0])] == [("e", 0)]
    assert store.fetch([everything]) == []
    assert store.fetch_parents(["d#0", "e#0"]) == {"e#0": "bees fly"}
    info = store.info()
    assert (info.documents, info.chunks, info.parents, info.vectors) == (1, 1, 1, 1)
    assert store.check() == []


def test_delete_missing_keeps_to_the_folder_it_is_told(store: SQLiteStore) -> None:
    places = {"a": "notes/a.md", "b": "notes/sub/b.md", "c": "notes-old/c.md", "d": None, "e": "notes"}
    for doc_id, source in places.items():
        store.put(*page(doc_id, "text", source=source))
    assert store.delete_missing({"a"}, under="notes") == ["b", "e"]
    assert store.delete_missing(["a"], under="notes/") == []
    assert store.delete_missing(["a", "d"]) == ["c"]
    assert [info.doc_id for info in store.documents()] == ["a", "d"]


def test_batches_group_documents_and_keep_them_after_an_error(store: SQLiteStore) -> None:
    def put_and_fail() -> None:
        with store.batch(chunks=3):
            for i in range(5):
                store.put(*page(f"d{i}", "one", "two"))
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        put_and_fail()
    assert store.info().documents == 5
    assert store.check() == []


def test_a_refused_document_does_not_take_its_batch_with_it(store: SQLiteStore) -> None:
    with store.batch():
        store.put(*page("a", "one"), {"p": "text"})
        with pytest.raises(StoreError, match="parent id 'p' of 'b' already names a parent of 'a'"):
            store.put(*page("b", "one"), {"p": "text"})
        store.put(*page("c", "one"))
    assert [info.doc_id for info in store.documents()] == ["a", "c"]


def test_readers_see_a_batch_once_it_is_committed(store: SQLiteStore) -> None:
    with store.batch(chunks=2):
        store.put(*page("d", "one"))
        assert store.fetch([everything]) == []
        store.put(*page("e", "one"))  # the second chunk: committed
        assert len(store.fetch([everything])) == 1


@pytest.mark.parametrize("size", [0, -1])
def test_batches_have_a_size(store: SQLiteStore, size: int) -> None:
    with pytest.raises(StoreError, match=f"batch of {size} chunks: give at least 1"), store.batch(size):
        pass


def test_batches_do_not_nest(store: SQLiteStore) -> None:
    with store.batch(), pytest.raises(StoreError, match="batches do not nest"), store.batch():
        pass


# -- what must not be stored


@pytest.mark.parametrize(
    ("document", "chunks", "complaint"),
    [
        (Document("a\0b", "x"), [], r"doc_id is 'a\\x00b': it must not hold a NUL"),
        (Document("d", "x", scope="a\0"), [], r"scope of 'd' is 'a\\x00': it must not hold a NUL"),
        (Document("d", "a\ud800"), [], r"text of 'd' holds '\\ud800' at 1, half of a surrogate pair"),
        (Document("d\udcff", "x"), [], "doc_id holds .* half of a surrogate pair"),
        (Document("d", "x", metadata={"a": (1,)}), [], "would come back changed: use lists instead of tuples"),
        (Document("d", "x", metadata={1: "a"}), [], "would come back changed"),  # type: ignore[dict-item]
        (Document("d", "x", metadata={"a": float("nan")}), [], "is not JSON"),
        (Document("d", "x", metadata={"a": object()}), [], "is not JSON"),
        (Document("d", "x", timestamp=float("nan")), [], "timestamp is NaN: give Unix seconds"),
        (Document("d", "x"), [Chunk("x", ChunkMetadata("e", 0))], r"chunk \('e', 0\) was given with the document 'd'"),
        (
            Document("d", "abc"),
            [Chunk("x", ChunkMetadata("d", 0, 0, 1))],
            r"offsets of \('d', 0\) lie",
        ),
        (
            Document("d", ""),
            [Chunk("x", ChunkMetadata("d", 0)), Chunk("y", ChunkMetadata("d", 0))],
            r"two chunks share the id \('d', 0\) but not the text",
        ),
        (Document("d", ""), [Chunk("x", ChunkMetadata("d", 0, parent_id="p\0"))], "parent_id is .* NUL"),
        (Document("d", ""), [Chunk("x", ChunkMetadata("d", 0, scope="p\0"))], "scope of .* NUL"),
        (
            Document("d", ""),
            [Chunk("x", ChunkMetadata("d", 0, page=2**63))],
            "whole numbers must fit 64 bits",
        ),
        (Document("d", ""), [Chunk("\udfff", ChunkMetadata("d", 0))], "text holds .* half of a surrogate pair"),
    ],
)
def test_what_cannot_be_stored_is_refused_and_nothing_is_written(
    store: SQLiteStore, document: Document, chunks: list[Chunk], complaint: str
) -> None:
    with pytest.raises(StoreError, match=complaint):
        store.put(document, chunks)
    assert store.info().documents == 0


def test_the_same_chunk_twice_counts_once(store: SQLiteStore) -> None:
    document, [chunk] = page("d", "one")
    store.put(document, [chunk, chunk], token_counts=[1, 1], tokenizer="t")
    assert store.fetch([everything]) == [chunk]


def test_text_with_nul_comes_out_whole(store: SQLiteStore) -> None:
    document, chunks = page("d", "before\0after")
    store.put(document, chunks)
    assert store.fetch([everything]) == chunks
    assert [hit.chunk.text for hit in store.search_text("after")] == ["before\0after"]


# -- parents, token counts, embeddings


def test_parents_come_out_as_they_went_in(store: SQLiteStore) -> None:
    document, chunks = page("d", "one two", "three")
    section = Chunk("one two three", ChunkMetadata("d", 0, 0, 13, parent_id="d#all", heading_path=("A", "B")))
    store.put(document, chunks, {"d#0": section, "d#1": "plain"})
    assert store.fetch_parents(["d#0", "none", "d#1"]) == {"d#0": section, "d#1": "plain"}
    store.put(document, chunks, {"d#1": "other"})
    assert store.fetch_parents(["d#0", "d#1"]) == {"d#1": "other"}
    assert store.check() == []


def test_token_counts_are_given_out_for_the_tokenizer_that_counted(store: SQLiteStore) -> None:
    document, chunks = page("d", "one", "two", "three")
    store.put(document, reversed(chunks), token_counts=[30, 20, 10], tokenizer="mine")
    store.put(*page("e", "four"))
    windows = [everything, Window("e", 0, 1)]
    assert [count for _, count in store.fetch_counted(windows, tokenizer="mine")] == [10, 20, 30, None]
    assert [count for _, count in store.fetch_counted(windows, tokenizer="other")] == [None] * 4
    assert store.info().tokenizers == ("mine",)


@pytest.mark.parametrize(
    ("extra", "complaint"),
    [
        ({"token_counts": [1]}, "token counts of 'd' need the tokenizer's name"),
        ({"tokenizer": "t"}, "the name needs counts"),
        ({"token_counts": [1, 2], "tokenizer": "t"}, "'d' has 1 chunks and 2 token counts"),
        ({"embeddings": [[1.0]]}, "'d' comes with vectors, but without the name of their model"),
        ({"embeddings": [[1.0], [2.0]], "encoder": "m"}, "'d' has 1 chunks and 2 vectors: give one a chunk"),
        ({"embeddings": [[float("nan")]], "encoder": "m"}, "vector 0 of 'd' holds NaN or infinity"),
        ({"embeddings": [1.0], "encoder": "m"}, r"vectors of 'd' have the shape \(1,\)"),
        ({"embeddings": [["a"]], "encoder": "m"}, "vectors of 'd' are not one table of numbers"),
    ],
)
def test_counts_and_vectors_must_fit_the_chunks(store: SQLiteStore, extra: dict[str, Any], complaint: str) -> None:
    with pytest.raises(StoreError, match=complaint):
        store.put(*page("d", "one"), **extra)


def test_embeddings_come_out_at_length_one(store: SQLiteStore) -> None:
    document, chunks = page("d", "one", "two", "three")
    store.put(document, reversed(chunks), embeddings=[[0.0, 0.0], [0.0, 1e200], [3.0, 4.0]], encoder="m")
    found = [chunk.embedding for chunk in store.fetch([everything])]
    np.testing.assert_allclose(np.array(found), [[0.6, 0.8], [0.0, 1.0], [0.0, 0.0]], rtol=1e-6)
    assert store.vector_model == "m"
    with SQLiteStore(store.path, with_embeddings=False) as without:
        assert [chunk.embedding for chunk in without.fetch([everything])] == [None] * 3


def test_embeddings_of_the_chunks_are_taken_where_none_are_given(store: SQLiteStore) -> None:
    document, chunks = page("d", "one", "two")
    chunks[0].embedding = [2.0, 0.0]
    with pytest.raises(StoreError, match="1 of the 2 chunks of 'd' have an embedding: give all of them one, or none"):
        store.put(document, chunks, encoder="m")
    chunks[1].embedding = np.array([0.0, 5.0])
    store.put(document, chunks, encoder="m")
    assert store.info().vectors == 2


@pytest.mark.parametrize(
    ("vectors", "encoder", "complaint"),
    [
        ([[1.0, 0.0]], "other", "holds vectors of 'm' with 2 dimensions, these are of 'other' with 2"),
        (
            [[1.0, 0.0, 0.0]],
            "m",
            "holds vectors of 'm' with 2 dimensions, these are of 'm' with 3: use the",
        ),
    ],
)
def test_vectors_of_another_model_are_refused_until_the_old_ones_are_dropped(
    store: SQLiteStore, vectors: list[list[float]], encoder: str, complaint: str
) -> None:
    store.put(*page("d", "one"), embeddings=[[1.0, 0.0]], encoder="m")
    with pytest.raises(StoreError, match=complaint):
        store.put(*page("e", "two"), embeddings=vectors, encoder=encoder)
    store.drop_vectors()
    assert store.vector_model is None
    assert store.put(*page("e", "two"), embeddings=vectors, encoder=encoder) == "added"
    assert store.put(*page("d", "one"), embeddings=vectors, encoder=encoder) == "updated"
    assert (store.info().vectors, store.vector_model) == (2, encoder)
    assert store.check() == []


def test_other_vectors_for_the_same_text_are_an_update(store: SQLiteStore) -> None:
    for expected in ("added", "unchanged"):
        assert store.put(*page("d", "one"), embeddings=[[1.0, 0.0]], encoder="m") == expected
    assert store.put(*page("d", "one"), embeddings=[[0.0, 1.0]], encoder="m") == "updated"
    assert store.search_vector([0.0, 1.0])[0].similarity_score == 1.0


def test_after_drop_vectors_the_same_model_is_indexed_again(store: SQLiteStore) -> None:
    store.put(*page("d", "one"), embeddings=[[1.0]], encoder="m")
    store.drop_vectors()
    assert store.put(*page("d", "one"), embeddings=[[1.0]], encoder="m") == "updated"


def test_info_and_documents_say_what_is_there(store: SQLiteStore) -> None:
    document, chunks = page("d", "one", "two", title="T", source="s", timestamp=5.0)
    store.put(document, chunks, {"p": "one two"}, [[1.0], [2.0]], encoder="m", token_counts=[1, 1], tokenizer="t")
    [found] = store.documents()
    assert (found.title, found.source, found.timestamp, found.tokenizer) == ("T", "s", 5.0, "t")
    assert (found.chunk_count, found.parent_count, found.vector_count, found.characters) == (2, 1, 2, 7)
    info = store.info()
    assert (info.documents, info.chunks, info.parents, info.vectors, info.characters) == (1, 2, 1, 2, 7)
    assert (info.vector_model, info.vector_dimension, info.scopes, info.schema_version) == ("m", 1, (None,), 1)


def test_check_finds_what_is_missing(store: SQLiteStore) -> None:
    store.put(*page("d", "one", "two"), embeddings=[[1.0], [1.0]], encoder="m")
    raw = sqlite3.connect(store.path)
    raw.execute("DELETE FROM chunks WHERE chunk_id = 1")
    raw.commit()
    raw.close()
    problems = store.check()
    assert "document 'd' lacks chunks" in problems
    assert "vector 2 belongs to no chunk" in problems
    assert any("full-text index does not match" in problem for problem in problems)
