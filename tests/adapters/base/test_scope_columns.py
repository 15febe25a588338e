"""Scopes under several names, in stores with columns: the first with a value counts."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import pytest

pytest.importorskip("lancedb")
pytest.importorskip("psycopg")
pytest.importorskip("milvus_lite")

import lancedb
import pyarrow as pa
from pymilvus import DataType
from support.milvus_collections import Server as MilvusServer
from support.postgres_server import Postgres

from retrivex.adapters.base.collection import Collection
from retrivex.adapters.base.fields import FieldMap
from retrivex.adapters.base.store import VectorChunkStore, VectorRetriever
from retrivex.adapters.lancedb import LanceDBCollection
from retrivex.adapters.milvus import MilvusCollection
from retrivex.adapters.pgvector import PgvectorCollection
from retrivex.model.chunk import Scope
from retrivex.model.window import Window

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

Scopes: TypeAlias = Mapping[int, str]
"""What a column holds, by the number of the chunk; nothing elsewhere."""

Make: TypeAlias = Callable[[FieldMap, Mapping[str, Scopes]], Collection]

WINDOW = [Window("d", 0, 9)]
ALL = [0, 1, 2, 3]
numbers = itertools.count()


def in_lancedb(fields: FieldMap, columns: Mapping[str, Scopes]) -> Collection:
    made: dict[str, Any] = {
        "doc_id": ["d"] * 4,
        "chunk_id": ALL,
        "text": ["x"] * 4,
        "vector": pa.array([[1.0, *[0.0] * 7]] * 4, pa.list_(pa.float32(), 8)),
    }
    texts = {name: pa.array([scopes.get(n) for n in ALL], pa.string()) for name, scopes in columns.items()}
    connection = lancedb.connect(tempfile.mkdtemp())
    connection.create_table("t", pa.table({**made, **texts}))
    return LanceDBCollection(connection, "t", fields=fields)


def in_postgres(postgres: Postgres) -> Make:
    def make(fields: FieldMap, columns: Mapping[str, Scopes]) -> Collection:
        table = postgres.table("id text, doc_id text, chunk_id int, text text, embedding vector(8)")
        rows = f"SELECT n, 'd', n, 'x', '{[1, *[0] * 7]}' FROM generate_series(0, 3) AS n"
        postgres.admin.execute(f"INSERT INTO {table} {rows}")
        for column, scopes in columns.items():
            postgres.admin.execute(f"ALTER TABLE {table} ADD COLUMN {column} text")
            for number, scope in scopes.items():
                postgres.admin.execute(f"UPDATE {table} SET {column} = %s WHERE chunk_id = %s", (scope, number))
        return PgvectorCollection(postgres.pool, table, fields=fields)

    return make


def in_milvus(server: MilvusServer, *, dynamic: bool) -> Make:
    def make(fields: FieldMap, columns: Mapping[str, Scopes]) -> Collection:
        name = f"scopes_{next(numbers)}"
        texts = [(column, DataType.VARCHAR) for column in ("text", "doc_id", *columns)]
        server.fill(columns=[*texts, ("chunk_id", DataType.INT64)], dynamic=dynamic, indexed=["doc_id"], name=name)
        records = [
            {"pk": f"d:{n}", "vector": [1.0] * 8, "text": "x", "doc_id": "d", "chunk_id": n}
            | {column: scopes[n] for column, scopes in columns.items() if n in scopes}
            for n in ALL
        ]
        server.client.insert(name, records)
        return MilvusCollection(server.client, name, fields=fields)

    return make


@pytest.fixture(params=["lancedb", "pgvector", "milvus", "milvus with a dynamic field", "milvus with templates"])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Give what makes a collection with these columns for scopes."""
    kind = request.param
    if kind == "lancedb":
        yield in_lancedb
    elif kind == "pgvector":
        yield in_postgres(request.getfixturevalue("postgres"))
    else:
        server = request.getfixturevalue("templates" if kind == "milvus with templates" else "lite")
        yield in_milvus(server, dynamic=kind == "milvus with a dynamic field")


TWO = FieldMap(scope=("tenant", "scope"))


@pytest.mark.parametrize(
    ("fields", "columns", "owners"),
    [
        (FieldMap(), {}, {}),
        (FieldMap(), {"scope": {1: "acme"}}, {1: "acme"}),
        (TWO, {"scope": {1: "acme"}}, {1: "acme"}),
        (TWO, {"tenant": {2: "bee"}, "scope": {1: "acme", 2: "acme"}}, {1: "acme", 2: "bee"}),
    ],
)
def test_the_first_name_with_a_value_says_whose_a_record_is(
    make: Make, fields: FieldMap, columns: Mapping[str, Scopes], owners: Scopes
) -> None:
    collection = make(fields, columns)
    store, retriever = VectorChunkStore(collection), VectorRetriever(collection, lambda question: [1.0, *[0.0] * 7])
    callers: list[Scope] = [None, "bee", ["acme", None], ["acme", "bee"], "acme"]
    for scope in callers:
        seen = [n for n in ALL if owners.get(n) in (scope if isinstance(scope, list) else (scope,))]
        assert sorted(chunk.metadata.chunk_id for chunk in store.fetch(WINDOW, scope)) == seen
        assert sorted(hit.chunk.metadata.chunk_id for hit in retriever.retrieve("x", scope=scope)) == seen


def test_a_column_beside_a_struct_takes_no_scope_away() -> None:
    connection = lancedb.connect(tempfile.mkdtemp())
    inner = [{"scope": "acme" if n == 1 else None} for n in ALL]
    made = {
        "doc_id": ["d"] * 4,
        "chunk_id": ALL,
        "text": ["x"] * 4,
        "metadata": pa.array(inner, pa.struct([("scope", pa.string())])),
        "scope": pa.array([None, None, "bee", None], pa.string()),
    }
    connection.create_table("t", pa.table(made))
    store = VectorChunkStore(LanceDBCollection(connection, "t"))
    seen = {scope: sorted(chunk.metadata.chunk_id for chunk in store.fetch(WINDOW, scope)) for scope in (None, "acme")}
    assert seen == {None: [0, 3], "acme": [1]}
