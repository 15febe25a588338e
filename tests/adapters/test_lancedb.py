"""LanceDB: tables on disk, as the engine keeps them."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

pytest.importorskip("lancedb")

import lancedb
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lancedb.query import AsyncQueryBase
from lancedb.remote.errors import HttpError, RetryError
from test_examples import run_example

from retrivex import Chunk, RetrievalConfig, SeedHit, SpanComposer
from retrivex.adapters.collection import ByIds, Nearest, Scan
from retrivex.adapters.fields import FieldMap, MakeId
from retrivex.adapters.lancedb import LanceDBChunkStore, LanceDBCollection, LanceDBRetriever, colon_id, uuid5_id
from retrivex.errors import StoreError, StoreTimeoutError
from retrivex.intervals import Window
from retrivex.testing import ChunkStoreContract, StoreUnderTest, contract_chunks, odd_ids

pytestmark = pytest.mark.integration

NAME = "manuals"


def vectors(rows: Sequence[Any]) -> pa.Array:
    flat = np.asarray(rows, dtype=np.float32)
    return pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), flat.shape[1])


def fill(db: lancedb.DBConnection, chunks: Sequence[Chunk], fields: FieldMap | None = None) -> Any:
    """Make a table of chunks as RetriVex names their fields."""
    rows = [{"id": colon_id(*chunk.key), **(fields or FieldMap()).payload(chunk)} for chunk in chunks]
    columns = {name: pa.array([row.get(name) for row in rows]) for name in sorted({n for row in rows for n in row})}
    columns["vector"] = vectors([np.asarray(chunk.embedding) for chunk in chunks])
    return db.create_table(NAME, pa.table(columns))


@pytest.fixture
def db(tmp_path: Path) -> lancedb.DBConnection:
    return lancedb.connect(tmp_path)


@pytest.fixture
def asked() -> Iterator[list[Any]]:
    """Note every query that is sent to the engine, whichever way it comes."""
    sent: list[Any] = []
    execute = AsyncQueryBase.to_batches

    async def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        sent.append(self)
        return await execute(self, *args, **kwargs)

    with mock.patch.object(AsyncQueryBase, "to_batches", noted):
        yield sent


def keys(chunks: Sequence[Chunk]) -> list[tuple[str, int]]:
    return sorted(chunk.key for chunk in chunks)


# ---- the contract


class _OnDisk(ChunkStoreContract):
    make_id: MakeId | None = None

    @pytest.fixture(autouse=True)
    def _use(self, asked: list[Any]) -> None:
        self.asked = asked

    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks)

    def make_with_embeddings(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks, with_vectors=True)

    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        folder = tempfile.TemporaryDirectory()
        db = lancedb.connect(folder.name)
        fill(db, chunks)
        other = asyncio.run(lancedb.connect_async(folder.name))
        store = LanceDBChunkStore(db, NAME, async_connection=other, make_id=type(self).make_id, **options)
        assert store.warnings == ()
        return StoreUnderTest(store, lambda: len(self.asked), folder.cleanup)


class TestByWindows(_OnDisk):
    make_id = None


class TestByIds(_OnDisk):
    make_id = staticmethod(colon_id)


# ---- values in filters


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=8, unique=True))
def test_any_text_is_a_value_and_nothing_else(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        db = lancedb.connect(folder)
        rows = {"id": names, "doc_id": names, "chunk_id": [0] * len(names), "text": [f"text {n}" for n in names]}
        db.create_table(NAME, pa.table({**rows, "scope": names}))
        store = LanceDBChunkStore(db, NAME)
        for name in names:
            assert [chunk.text for chunk in store.fetch([Window(name, 0, 1)], name)] == [f"text {name}"]
        assert store.fetch([Window(name + "'", 0, 1) for name in names], names) == []


def test_odd_names_as_scopes_and_ids(db: lancedb.DBConnection) -> None:
    names = [*odd_ids(nul=True), "\\'", "''", "`", "a\\", "') OR ('1'='1"]
    chunks = [chunk for name in names for chunk in contract_chunks(1, 2, name, name)]
    fill(db, chunks)
    for make_id in (None, colon_id):
        store = LanceDBChunkStore(db, NAME, make_id=make_id)
        for name in names:
            assert keys(store.fetch([Window(f"{other}-0", 0, 2) for other in names], name)) == [
                (f"{name}-0", 0),
                (f"{name}-0", 1),
            ]


def test_thousands_of_windows_without_a_pattern(db: lancedb.DBConnection) -> None:
    rows = [(f"doc-{d}", n) for d in range(30) for n in range(200)]
    columns = {"id": [colon_id(*row) for row in rows], "doc_id": [row[0] for row in rows]}
    columns |= {"chunk_id": [row[1] for row in rows], "text": [f"text {row}" for row in rows]}  # type: ignore[dict-item]
    db.create_table(NAME, pa.table(columns))
    windows = [Window(f"doc-{d}", n, n + 1 + (n + d) % 3) for d in range(30) for n in range(d % 4, 200, 5)]
    found = keys(LanceDBChunkStore(db, NAME).fetch(windows))
    assert found == sorted((w.doc_id, n) for w in windows for n in range(w.start, min(w.end, 200)))


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64(), pa.string(), pa.large_string(), pa.float64()])
def test_numbers_however_they_are_kept(kind: Any, db: lancedb.DBConnection) -> None:
    numbers = pa.array([str(n) for n in range(12)] if pa.types.is_string(kind) else list(range(12)))
    documents = pa.array([7] * 6 + [70] * 6)
    columns = {"id": pa.array(range(12)), "doc_id": documents, "chunk_id": numbers.cast(kind)}
    columns["text"] = pa.array([f"text {n}" for n in range(12)])
    db.create_table(NAME, pa.table(columns))
    assert keys(LanceDBChunkStore(db, NAME).fetch([Window("7", 2, 12), Window("seven", 2, 12)])) == [
        ("7", n) for n in range(2, 6)
    ]
    by_id = LanceDBChunkStore(db, NAME, make_id=lambda doc_id, n: str(n) if doc_id == "7" else f"{doc_id}:{n}")
    assert keys(by_id.fetch([Window("7", 4, 6), Window("x", 0, 2)])) == [("7", 4), ("7", 5)]


def test_column_names_that_are_no_plain_words(db: lancedb.DBConnection) -> None:
    fields = FieldMap(doc_id="file name", chunk_id="größe", scope="tenant's")
    fill(db, [*contract_chunks(2, 4), *contract_chunks(1, 4, "acme", "acme")], fields)
    store = LanceDBChunkStore(db, NAME, fields=fields)
    asked = [Window("doc-1", 1, 3), Window("acme-0", 0, 1)]
    assert keys(store.fetch(asked)) == [("doc-1", 1), ("doc-1", 2)]
    assert keys(store.fetch(asked, "acme")) == [("acme-0", 0)]


# ---- scope


def test_only_the_scope_leaves_the_table(db: lancedb.DBConnection) -> None:
    fill(db, [*contract_chunks(1, 4), *contract_chunks(1, 4, "acme", "acme")])
    collection = LanceDBCollection(db, NAME)
    ids = tuple(colon_id(doc_id, n) for doc_id in ("doc-0", "acme-0") for n in range(4))
    for scopes, seen in ((frozenset({"acme"}), {"acme-0"}), (frozenset({None}), {"doc-0"}), (frozenset(), set())):
        records = collection.ask(ByIds(ids, scopes)).records
        assert {record.payload["doc_id"] for record in records} == seen
        near = collection.ask(Nearest(np.ones(8, dtype=np.float32), 8, scopes)).records
        assert {record.payload["doc_id"] for record in near} == seen
        assert len(near) == 4 * len(seen)


def test_a_table_without_scopes_has_only_rows_without_one(db: lancedb.DBConnection) -> None:
    fill(db, contract_chunks(1, 3))
    store = LanceDBChunkStore(db, NAME)
    assert len(store.fetch([Window("doc-0", 0, 3)])) == 3
    assert len(store.fetch([Window("doc-0", 0, 3)], ["acme", None])) == 3
    assert store.fetch([Window("doc-0", 0, 3)], "acme") == []
    assert store.fetch([Window("doc-0", 0, 3)], []) == []


# ---- the index


def test_a_large_table_without_index_is_told_of_with_the_command_that_makes_it(db: lancedb.DBConnection) -> None:
    n = 100_000
    columns = {"doc_id": [f"doc-{i // 100}" for i in range(n)], "chunk_id": [i % 100 for i in range(n)]}
    table = db.create_table(NAME, pa.table({**columns, "text": ["x"] * n}))
    [warning] = LanceDBChunkStore(db, NAME).warnings

    async def async_warnings() -> tuple[str, ...]:
        store = LanceDBChunkStore(await lancedb.connect_async(db.uri), NAME)
        await store.afetch([Window("doc-7", 10, 20)])
        return store.warnings

    assert asyncio.run(async_warnings()) == (warning,)
    command = "table.create_scalar_index('doc_id')"
    assert warning.endswith(f"all of which are read for neighbours: {command}")
    exec(command, {"table": table})
    store = LanceDBChunkStore(db, NAME)
    assert store.warnings == ()
    assert len(store.fetch([Window("doc-7", 10, 20), Window("doc-999", 98, 105)])) == 12


# ---- hits


@pytest.mark.parametrize(
    ("metric", "scores"),
    [
        ("cosine", [1.0, 0.8, -1.0]),
        ("dot", [5.0, 4.0, -5.0]),
        ("l2", [-16.0, -18.0, -36.0]),
        (None, [-16.0, -18.0, -36.0]),
    ],
)
def test_hits_come_best_first_whatever_the_metric(metric: Any, scores: list[float], db: lancedb.DBConnection) -> None:
    columns = {"text": ["text 0", "text 1", "text 2"], "doc_id": ["d"] * 3, "chunk_id": [0, 1, 2]}
    db.create_table(NAME, pa.table({**columns, "vector": vectors([[-5, 0], [4, 3], [5, 0]])}))
    hits = LanceDBRetriever(db, NAME, lambda text: [1.0, 0.0], metric=metric).retrieve("x", k=3)
    assert [hit.key for hit in hits] == [("d", 2), ("d", 1), ("d", 0)]
    assert [hit.similarity_score for hit in hits] == pytest.approx(scores, abs=1e-5)


def test_the_metric_is_that_of_the_vector_index(db: lancedb.DBConnection) -> None:
    drawn = np.random.default_rng(3).standard_normal((600, 8)).astype(np.float32)
    columns = {"text": [f"{n}" for n in range(600)], "doc_id": ["d"] * 600, "chunk_id": range(600)}
    table = db.create_table(NAME, pa.table({**columns, "vector": vectors(drawn)}))
    table.create_index(metric="cosine", vector_column_name="vector", index_type="IVF_FLAT", num_partitions=1)
    question = drawn[7]
    cosines = drawn @ question / np.linalg.norm(drawn, axis=1) / np.linalg.norm(question)
    best = np.argsort(-cosines)[:3]
    expected = [(("d", int(n)), pytest.approx(float(cosines[n]), abs=1e-4)) for n in best]
    retriever = LanceDBRetriever(db, NAME, lambda text: question)
    assert [(hit.key, hit.similarity_score) for hit in retriever.retrieve("x", k=3)] == expected
    other = asyncio.run(lancedb.connect_async(db.uri))
    found = asyncio.run(LanceDBRetriever(other, NAME, lambda text: question).aretrieve("x", k=3))
    assert [(hit.key, hit.similarity_score) for hit in found] == expected


def test_a_question_costs_one_query(db: lancedb.DBConnection, asked: list[Any]) -> None:
    chunks = contract_chunks()
    fill(db, chunks)
    other = asyncio.run(lancedb.connect_async(db.uri))
    retriever = LanceDBRetriever(db, NAME, lambda question: chunks[7].embedding, async_connection=other)
    first = retriever.retrieve("x", k=5)
    assert (len(asked), first[0].key) == (1, chunks[7].key)
    assert asyncio.run(retriever.aretrieve("x", k=5)) == first
    assert len(asked) == 2


@pytest.mark.parametrize("kind", ["IVF_FLAT", "IVF_HNSW_SQ"])
def test_an_approximate_index_gives_all_hits_also_for_a_small_tenant(kind: Any, db: lancedb.DBConnection) -> None:
    n = 6000
    drawn = np.random.default_rng(3).standard_normal((n, 8)).astype(np.float32)
    scopes = ["acme" if i % 300 == 0 else None for i in range(n)]
    columns = {"text": ["x"] * n, "doc_id": ["d"] * n, "chunk_id": range(n), "scope": scopes}
    table = db.create_table(NAME, pa.table({**columns, "vector": vectors(drawn)}))
    table.create_index(metric="cosine", vector_column_name="vector", index_type=kind, num_partitions=64)
    other = asyncio.run(lancedb.connect_async(db.uri))
    retriever = LanceDBRetriever(db, NAME, lambda question: drawn[5], async_connection=other)
    cosines = drawn @ drawn[5] / np.linalg.norm(drawn, axis=1) / np.linalg.norm(drawn[5])
    best = sorted(range(0, n, 300), key=lambda number: -cosines[number])
    for k in (5, 20, 50):
        sync, later = retriever.retrieve("x", k=k, scope="acme"), retriever.aretrieve("x", k=k, scope="acme")
        for hits in (sync, asyncio.run(later)):
            numbers = [hit.chunk.metadata.chunk_id for hit in hits]
            assert [hit.similarity_score for hit in hits] == pytest.approx(cosines[numbers].tolist(), abs=1e-4)
            assert len(hits) == min(k, 20)
            assert k < 20 or numbers == best  # before that, an index is only nearly right


def test_several_vector_columns(db: lancedb.DBConnection) -> None:
    columns = {"text": ["0", "1", "2"], "long": vectors([[1, n, 0] for n in range(3)])}
    db.create_table(NAME, pa.table({**columns, "short": vectors([[n, 0] for n in range(3)])}))
    retriever = LanceDBRetriever(db, NAME, lambda question: [2, 0], vector_name="short", with_vectors=True)
    hits = retriever.retrieve("x", k=2)
    assert [(hit.chunk.text, hit.similarity_score) for hit in hits] == [("2", 0.0), ("1", -1.0)]
    assert np.asarray(hits[1].chunk.embedding).tolist() == [1.0, 0.0]
    for name in (None, "medium"):
        with pytest.raises(StoreError, match=r"has the vector columns .'long', 'short'.: vector_name is "):
            LanceDBRetriever(db, NAME, lambda question: [2, 0], vector_name=name).retrieve("x")


@pytest.mark.parametrize("with_vectors", [True, False])
@pytest.mark.parametrize("make_id", [None, colon_id])
def test_vectors_come_where_they_are_asked_for(
    with_vectors: bool, make_id: MakeId | None, db: lancedb.DBConnection
) -> None:
    chunks = contract_chunks(1, 3)
    fill(db, chunks)
    for chunk in LanceDBChunkStore(db, NAME, make_id=make_id, with_vectors=with_vectors).fetch([Window("doc-0", 0, 3)]):
        expected = chunks[chunk.metadata.chunk_id].embedding if with_vectors else None
        assert np.array_equal(chunk.embedding, expected) if with_vectors else chunk.embedding is None  # type: ignore[arg-type]
        assert "vector" not in chunk.metadata.custom_metadata


# ---- layouts: tables as the packages make them, versions as in retrivex.adapters.lancedb


def _langchain(n: int) -> dict[str, Any]:
    metadata = {"source": "bees", "start_index": 12 * n, "chunk_id": n}
    return {"vector": [1.0, float(n)], "id": uuid5_id("x", n), "text": f"Sentence {n}.", "metadata": metadata}


def _llamaindex(n: int) -> dict[str, Any]:
    source = {"node_id": "bees", "node_type": None, "metadata": {}, "hash": None, "class_name": "RelatedNodeInfo"}
    content = {
        "id_": uuid5_id("x", n),
        "embedding": None,
        "metadata": {"file_path": "bees.md", "chunk_id": n},
        "relationships": {"1": source},
        "text": f"Sentence {n}.",
        "start_char_idx": 12 * n,
        "end_char_idx": 12 * n + 11,
        "class_name": "TextNode",
    }
    metadata = {"file_path": "bees.md", "chunk_id": n, "_node_content": json.dumps(content), "_node_type": "TextNode"}
    metadata |= {"document_id": "bees", "doc_id": "bees", "ref_doc_id": "bees"}
    row = {"id": uuid5_id("x", n), "doc_id": "bees", "vector": [1.0, float(n)], "text": f"Sentence {n}."}
    return {**row, "metadata": metadata}


def _haystack(n: int) -> dict[str, Any]:
    meta = {"source_id": "bees", "page_number": 2, "split_id": n, "split_idx_start": 12 * n}
    return {"id": f"d21a{n}", "content": f"Sentence {n}.", "meta": meta, "vector": [1.0, float(n)]}


WRITTEN: dict[Any, Any] = {"langchain": _langchain, "llamaindex": _llamaindex, "haystack": _haystack}


def table_of(rows: Sequence[dict[str, Any]]) -> pa.Table:
    columns = {name: pa.array([row[name] for row in rows]) for name in rows[0] if name != "vector"}
    return pa.table({**columns, "vector": vectors([row["vector"] for row in rows])})


@pytest.mark.parametrize("layout", list(WRITTEN))
def test_what_frameworks_write_is_read(layout: Any, db: lancedb.DBConnection) -> None:
    db.create_table(NAME, table_of([WRITTEN[layout](n) for n in range(5)]))
    store = LanceDBChunkStore(db, NAME, fields=layout)
    found = sorted(store.fetch([Window("bees", 1, 3)]), key=lambda chunk: chunk.metadata.chunk_id)
    assert [(c.key, c.text) for c in found] == [(("bees", 1), "Sentence 1."), (("bees", 2), "Sentence 2.")]
    assert [(c.metadata.char_start, c.metadata.char_end) for c in found] == [(12, 23), (24, 35)]
    hits = LanceDBRetriever(db, NAME, lambda question: [1.0, 4.0], fields=layout).retrieve("x", k=1)
    made = SpanComposer(RetrievalConfig(window=1)).compose(hits, store)
    assert [span.chunk_ids for span in made.spans] == [[3, 4]]


def test_fields_under_a_root(db: lancedb.DBConnection) -> None:
    rows = [_langchain(n) | {"source": "misleading"} for n in range(5)]
    db.create_table(NAME, table_of(rows))
    fields = FieldMap(doc_id="source", char_start="start_index", root="metadata")
    [chunk] = LanceDBChunkStore(db, NAME, fields=fields).fetch([Window("bees", 2, 3)])
    assert (chunk.text, chunk.metadata.char_start) == ("Sentence 2.", 24)


# ---- what can go wrong


def test_a_query_that_takes_too_long_is_a_typed_error(db: lancedb.DBConnection) -> None:
    fill(db, contract_chunks())
    store = LanceDBChunkStore(db, NAME, timeout_s=1e-6)
    with pytest.raises(StoreTimeoutError, match="LanceDB table 'manuals' did not answer in time"):
        store.fetch([Window("doc-0", 0, 3)])
    assert len(LanceDBChunkStore(db, NAME, timeout_s=60).fetch([Window("doc-0", 0, 3)])) == 3


def test_a_table_that_is_not_there_is_one_clear_error(db: lancedb.DBConnection) -> None:
    store = LanceDBChunkStore(db, "nothing")
    assert store.warnings == ()
    with pytest.raises(StoreError, match="LanceDB table 'nothing' refused the request"):
        store.fetch([Window("d", 0, 2)])


def test_a_table_whose_files_are_gone_costs_the_neighbours_and_not_the_seeds(tmp_path: Path) -> None:
    db = lancedb.connect(tmp_path)
    chunks = contract_chunks(1, 4)
    fill(db, chunks)
    store = LanceDBChunkStore(db, NAME, retries=0)
    for path in (tmp_path / f"{NAME}.lance" / "data").iterdir():
        path.unlink()
    with pytest.raises(StoreError):
        store.fetch([Window("doc-0", 0, 2)])
    made = SpanComposer(RetrievalConfig(window=1)).compose([SeedHit(chunks[1], 1.0)], store)
    assert [span.text for span in made.spans] == [chunks[1].text.strip()]
    assert any("gave no neighbours" in warning for warning in made.warnings)


@pytest.mark.parametrize(
    ("missing", "asks"), [("doc_id", "has no column doc_id or document_id"), ("chunk_id", "has no column chunk_id or ")]
)
def test_columns_that_are_not_there_are_named(missing: str, asks: str, db: lancedb.DBConnection) -> None:
    columns = {"id": ["d:0"], "text": ["x"], "doc_id": ["d"], "chunk_id": [0]}
    db.create_table(NAME, pa.table({name: values for name, values in columns.items() if name != missing}))
    with pytest.raises(StoreError, match=f"{asks}.*retrivex backfill"):
        LanceDBChunkStore(db, NAME).fetch([Window("d", 0, 2)])
    assert keys(LanceDBChunkStore(db, NAME, make_id=colon_id).fetch([Window("d", 0, 2)])) == [("d", 0)]


def test_ids_are_where_id_field_says(db: lancedb.DBConnection) -> None:
    db.create_table(NAME, pa.table({"key": ["d:0", "d:1"], "text": ["zero", "one"]}))
    with pytest.raises(StoreError, match="has no column 'id': give id_field="):
        LanceDBChunkStore(db, NAME, make_id=colon_id).fetch([Window("d", 0, 2)])
    store = LanceDBChunkStore(db, NAME, make_id=colon_id, id_field="key")
    assert sorted(chunk.text for chunk in store.fetch([Window("d", 0, 2)])) == ["one", "zero"]


def test_errors_of_lancedbs_servers_mean_what_they_say(db: lancedb.DBConnection) -> None:
    collection = LanceDBCollection(db, NAME)
    retry = RetryError("gave up", "1", 3, 3, 3, 0, 0, 0, 503)
    errors = [HttpError("no", "1", 401), HttpError("no", "1", 503), HttpError("no", "1", 429), retry, OSError("gone")]
    assert [collection.failure(error) for error in errors] == ["refused", "down", "down", "down", "down"]
    assert collection.failure(RuntimeError("Query timeout after 5 ms")) == "timeout"
    assert collection.failure(ValueError("no such field")) == "refused"


@pytest.mark.parametrize(
    ("option", "shown"),
    [
        ({"timeout_s": 0}, "timeout_s is 0"),
        ({"metric": "hamming"}, "metric is 'hamming'"),
        ({"fields": "x"}, "fields is 'x'"),
    ],
)
def test_options_that_are_none_are_refused(option: Any, shown: str, db: lancedb.DBConnection) -> None:
    with pytest.raises(StoreError, match=shown):
        LanceDBChunkStore(db, NAME, **option)
    with pytest.raises(StoreError, match="connection is str"):
        LanceDBChunkStore("folder", NAME)  # type: ignore[arg-type]
    with pytest.raises(
        StoreError, match=r"async_connection is LanceDBConnection: give what `await lancedb.connect_async"
    ):
        LanceDBChunkStore(db, NAME, async_connection=db)
    both = asyncio.run(lancedb.connect_async(db.uri))
    with pytest.raises(StoreError, match="beside another async one"):
        LanceDBChunkStore(both, NAME, async_connection=both)


# ---- async


def test_an_async_connection_alone(db: lancedb.DBConnection) -> None:
    chunks = contract_chunks()
    fill(db, chunks)

    async def ask() -> tuple[list[Any], list[Any], int]:
        other = await lancedb.connect_async(db.uri)
        found = await LanceDBChunkStore(other, NAME).afetch([Window("doc-1", 2, 5)])
        hits = await LanceDBRetriever(other, NAME, lambda question: chunks[7].embedding).aretrieve("x", k=1)
        page = await LanceDBCollection(other, NAME).aask(Scan(None, 50))
        rest = await LanceDBCollection(other, NAME).aask(Scan(page.after, 50))
        return keys(found), [hit.key for hit in hits], len({r.id for r in (*page.records, *rest.records)})

    assert asyncio.run(ask()) == ([("doc-1", n) for n in (2, 3, 4)], [chunks[7].key], 72)
    with pytest.raises(StoreError, match="has only an async client"):
        LanceDBChunkStore(asyncio.run(lancedb.connect_async(db.uri)), NAME).fetch([Window("doc-1", 2, 5)])


def test_what_others_write_is_seen_as_the_connection_says(db: lancedb.DBConnection) -> None:
    from_now = lancedb.connect(db.uri, read_consistency_interval=timedelta(0))
    table = fill(db, contract_chunks(1, 3))
    store = LanceDBChunkStore(from_now, NAME)
    assert len(store.fetch([Window("doc-0", 0, 9)])) == 3
    table.delete("chunk_id = 1")
    assert keys(store.fetch([Window("doc-0", 0, 9)])) == [("doc-0", 0), ("doc-0", 2)]


def test_a_window_beyond_the_numbers_that_a_column_can_hold(db: lancedb.DBConnection) -> None:
    rows = {"doc_id": ["d"] * 3, "chunk_id": pa.array([0, 254, 255], pa.uint8()), "text": ["a", "b", "c"]}
    db.create_table(NAME, pa.table(rows))
    store = LanceDBChunkStore(db, NAME)
    assert keys(store.fetch([Window("d", 253, 258)])) == [("d", 254), ("d", 255)]
    assert keys(store.fetch([Window("d", 255, 256)])) == [("d", 255)]
    assert keys(store.fetch([Window("d", 256, 300)])) == []


def test_scopes_deep_in_structs_and_under_a_root(db: lancedb.DBConnection) -> None:
    tenants = ["acme", None, "zebra"]
    rows = [
        {"text": f"text {n}", "metadata": {"source": "d", "chunk_id": n, "acl": {"tenant": {"id": tenant}}}}
        for n, tenant in enumerate(tenants)
    ]
    db.create_table(NAME, table_of([{"id": str(n), "vector": [1.0] * 8, **row} for n, row in enumerate(rows)]))
    for fields in (
        FieldMap(doc_id="source", scope="acl.tenant.id", root="metadata"),
        FieldMap(doc_id="source", scope="metadata.acl.tenant.id"),
        FieldMap(doc_id="metadata.source", chunk_id="metadata.chunk_id", scope="acl.tenant.id"),
    ):
        store = LanceDBChunkStore(db, NAME, fields=fields)
        retriever = LanceDBRetriever(db, NAME, lambda question: np.ones(8), fields=fields)
        for number, scope in enumerate(tenants):
            assert keys(store.fetch([Window("d", 0, 9)], scope)) == [("d", number)]
            assert [hit.key for hit in retriever.retrieve("x", scope=scope)] == [("d", number)]


# ---- backfill


def test_a_scan_sees_every_row_once_whatever_is_written_meanwhile(db: lancedb.DBConnection) -> None:
    rows = [_langchain(n) for n in range(10)]
    for row in rows:
        del row["metadata"]["chunk_id"]
    db.create_table(NAME, table_of(rows))
    collection = LanceDBCollection(db, NAME, fields="langchain")
    with pytest.raises(StoreError, match="has no column chunk_id or chunk_index"):
        LanceDBChunkStore(db, NAME, fields="langchain").fetch([Window("bees", 0, 2)])
    seen: list[str] = []
    after = None
    while True:
        page = collection.ask(Scan(json.loads(json.dumps(after)), 4))
        number = len(seen)
        seen += [record.id for record in page.records]
        collection.write({r.id: {"chunk_id": number + n, "note": "it's"} for n, r in enumerate(page.records)})
        after = page.after
        if after is None:
            break
    assert seen == [row["id"] for row in rows]
    found = LanceDBChunkStore(db, NAME, fields="langchain").fetch([Window("bees", 0, 99)])
    assert sorted((c.key, c.text) for c in found) == [(("bees", n), f"Sentence {n}.") for n in range(10)]
    assert {c.metadata.custom_metadata["note"] for c in found} == {"it's"}


def test_rows_with_ids_in_a_dictionary_are_written(db: lancedb.DBConnection) -> None:
    ids = pa.array(["a", "b", "c"]).dictionary_encode()
    db.create_table(NAME, pa.table({"id": ids, "text": ["x", "y", "z"]}))
    collection = LanceDBCollection(db, NAME)
    collection.write({"a": {"doc_id": "d", "chunk_id": 0}, "c": {"doc_id": "d", "chunk_id": 1}})
    assert keys(LanceDBChunkStore(db, NAME).fetch([Window("d", 0, 5)])) == [("d", 0), ("d", 1)]


def test_a_field_in_a_struct_is_not_written(db: lancedb.DBConnection) -> None:
    db.create_table(NAME, table_of([_langchain(n) for n in range(2)]))
    collection = LanceDBCollection(db, NAME, fields="langchain")
    with pytest.raises(StoreError, match="has 'source' in a struct"):
        collection.write({uuid5_id("x", 0): {"source": "ants"}})
    with pytest.raises(StoreError, match="texts and numbers"):
        collection.write({uuid5_id("x", 0): {"tags": ["a"]}})
    with pytest.raises(StoreError, match="has no column 'key'"):
        LanceDBCollection(db, NAME, id_field="key").write({"a": {"new": "x"}})
    assert "new" not in db.open_table(NAME).schema.names


# ---- the example


def test_the_example_finds_a_hit_and_its_neighbours() -> None:
    printed = run_example("neighbours_in_lancedb.py")
    assert "Found: The queen stays in the middle of the cluster." in printed
    assert "warm by shivering. The queen stays in the middle of the cluster. In spring" in printed
