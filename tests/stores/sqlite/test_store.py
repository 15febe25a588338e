"""The embedded store: what goes in comes out, and nothing else."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.properties import try_examples
from support.stored_pages import everything, page

from retrivex.errors import StoreError
from retrivex.model.chunk import MAX_CHUNK_ID, Chunk, ChunkMetadata
from retrivex.model.document import Document
from retrivex.model.window import Window
from retrivex.stores import ChunkStore, ParentStore, SQLiteStore
from retrivex.stores.sqlite.reading import FETCH

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


@try_examples(150, suppress_health_check=[HealthCheck.too_slow])
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


@try_examples(40, suppress_health_check=[HealthCheck.too_slow])
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


def test_fetch_looks_rows_up_and_scans_no_table(three_documents: SQLiteStore) -> None:
    connection = sqlite3.connect(three_documents.path)
    plan = [row[3] for row in connection.execute("EXPLAIN QUERY PLAN " + FETCH, ("x", "x"))]
    connection.close()
    assert plan[0].startswith("SCAN w VIRTUAL TABLE")
    scans = [step for step in plan if step.startswith("SCAN")]
    assert all("VIRTUAL TABLE" in step for step in scans), plan
    assert any("documents" in step or step.startswith("SEARCH d ") for step in plan)
    assert not any("TEMP B-TREE" in step for step in plan), plan


def test_text_with_nul_comes_out_whole(store: SQLiteStore) -> None:
    document, chunks = page("d", "before\0after")
    store.put(document, chunks)
    assert store.fetch([everything]) == chunks
    assert [hit.chunk.text for hit in store.search_text("after")] == ["before\0after"]


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


# -- what is there


def test_info_and_documents_say_what_is_there(store: SQLiteStore) -> None:
    document, chunks = page("d", "one", "two", title="T", source="s", timestamp=5.0)
    store.put(document, chunks, {"p": "one two"}, [[1.0], [2.0]], encoder="m", token_counts=[1, 1], tokenizer="t")
    [found] = store.documents()
    assert (found.title, found.source, found.timestamp, found.tokenizer) == ("T", "s", 5.0, "t")
    assert (found.chunk_count, found.parent_count, found.vector_count, found.characters) == (2, 1, 2, 7)
    info = store.info()
    assert (info.documents, info.chunks, info.parents, info.vectors, info.characters) == (1, 2, 1, 2, 7)
    assert (info.vector_model, info.vector_dimension, info.scopes, info.schema_version) == ("m", 1, (None,), 4)


def test_check_finds_what_is_missing(store: SQLiteStore) -> None:
    store.put(*page("d", "one", "two"), embeddings=[[1.0], [1.0]], encoder="m")
    raw = sqlite3.connect(store.path)
    raw.execute("DELETE FROM chunks WHERE chunk_id = 1")
    raw.execute("UPDATE document_vectors SET first = first + 1, vectors = zeroblob(4)")
    raw.commit()
    raw.close()
    problems = store.check()
    assert "document 'd' lacks chunks" in problems
    assert "the vectors of document 'd' are not those of its chunks" in problems
    assert "document 'd' lacks vectors" in problems
    assert any("full-text index does not match" in problem for problem in problems)
