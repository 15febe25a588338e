"""Columns for scopes that come after a store was made, in stores that read their columns once."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, TypeAlias

import pytest

pytest.importorskip("lancedb")
pytest.importorskip("psycopg")
pytest.importorskip("milvus_lite")

import lancedb
import psycopg
import pyarrow as pa
import pymilvus
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

WINDOW = [Window("d", 0, 9)]
ALL = [0, 1, 2, 3]
numbers = itertools.count()


class World:
    """A collection of four chunks of the document `d`, which gets columns."""

    def __init__(self, columns: Mapping[str, Scopes]) -> None:
        raise NotImplementedError

    def add(self, column: str, scopes: Scopes) -> None:
        raise NotImplementedError

    def collection(self, fields: FieldMap) -> Collection:
        raise NotImplementedError

    async def async_collection(self, fields: FieldMap) -> tuple[Collection, Any]:
        """Return it with what is to be closed."""
        raise NotImplementedError


class InLanceDB(World):
    def __init__(self, folder: str, columns: Mapping[str, Scopes]) -> None:
        self.folder = folder
        made: dict[str, Any] = {
            "doc_id": ["d"] * 4,
            "chunk_id": ALL,
            "text": ["x"] * 4,
            "vector": pa.array([[1.0, 0.0]] * 4, pa.list_(pa.float32(), 2)),
        }
        texts = {name: pa.array([scopes.get(n) for n in ALL], pa.string()) for name, scopes in columns.items()}
        self.table = lancedb.connect(folder).create_table("t", pa.table({**made, **texts}))

    def add(self, column: str, scopes: Scopes) -> None:
        self.table.add_columns({column: "cast(NULL as string)"})
        for number, scope in scopes.items():
            self.table.update(where=f"chunk_id = {number}", values={column: scope})

    def collection(self, fields: FieldMap) -> Collection:
        now = lancedb.connect(self.folder, read_consistency_interval=timedelta(0))
        return LanceDBCollection(now, "t", fields=fields)

    async def async_collection(self, fields: FieldMap) -> tuple[Collection, Any]:
        now = await lancedb.connect_async(self.folder, read_consistency_interval=timedelta(0))
        return LanceDBCollection(now, "t", fields=fields), None


class InPostgres(World):
    def __init__(self, postgres: Postgres, columns: Mapping[str, Scopes]) -> None:
        self.postgres = postgres
        self.table = postgres.table("id text, doc_id text, chunk_id int, text text, embedding vector(2)")
        postgres.admin.execute(
            f"INSERT INTO {self.table} SELECT n, 'd', n, 'x', '[1,0]' FROM generate_series(0, 3) AS n"
        )
        for column, scopes in columns.items():
            self.add(column, scopes)

    def add(self, column: str, scopes: Scopes) -> None:
        self.postgres.admin.execute(f"ALTER TABLE {self.table} ADD COLUMN {column} text")
        for number, scope in scopes.items():
            self.postgres.admin.execute(f"UPDATE {self.table} SET {column} = %s WHERE chunk_id = %s", (scope, number))

    def collection(self, fields: FieldMap) -> Collection:
        return PgvectorCollection(self.postgres.pool, self.table, fields=fields)

    async def async_collection(self, fields: FieldMap) -> tuple[Collection, Any]:
        client = await psycopg.AsyncConnection.connect(self.postgres.uri, autocommit=True)
        return PgvectorCollection(client, self.table, fields=fields), client


class InMilvus(World):
    """Milvus Lite adds no columns: the collection is made anew under its name, as any user may do it."""

    def __init__(self, server: MilvusServer, columns: Mapping[str, Scopes], *, dynamic: bool) -> None:
        self.server, self.dynamic, self.name = server, dynamic, f"scopes_{next(numbers)}"
        self.columns = dict(columns)
        self._make()

    def _make(self) -> None:
        texts = [(name, DataType.VARCHAR) for name in ("text", "doc_id", *self.columns)]
        self.server.fill(
            columns=[*texts, ("chunk_id", DataType.INT64)], dynamic=self.dynamic, indexed=["doc_id"], name=self.name
        )
        records = [
            {"pk": f"d:{n}", "vector": [1.0] * 8, "text": "x", "doc_id": "d", "chunk_id": n}
            | {name: scopes[n] for name, scopes in self.columns.items() if n in scopes}
            for n in ALL
        ]
        self.server.client.insert(self.name, records)

    def add(self, column: str, scopes: Scopes) -> None:
        self.columns[column] = scopes
        self.server.client.drop_collection(self.name)
        self._make()

    def collection(self, fields: FieldMap) -> Collection:
        return MilvusCollection(self.server.client, self.name, fields=fields)

    async def async_collection(self, fields: FieldMap) -> tuple[Collection, Any]:
        made = getattr(pymilvus, "AsyncMilvusClient", None)
        if not hasattr(made, "describe_collection"):
            pytest.skip("pymilvus before 2.6")
        client = made(self.server.uri)
        return MilvusCollection(None, self.name, async_client=client, fields=fields), client


Make: TypeAlias = Callable[[Mapping[str, Scopes]], World]


@pytest.fixture(params=["lancedb", "pgvector", "milvus", "milvus with a dynamic field", "milvus with templates"])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Give what makes a collection with these columns for scopes."""
    kind = request.param
    if kind == "lancedb":
        with tempfile.TemporaryDirectory() as folder:
            yield lambda columns: InLanceDB(folder, columns)
    elif kind == "pgvector":
        postgres = request.getfixturevalue("postgres")
        yield lambda columns: InPostgres(postgres, columns)
    else:
        server = request.getfixturevalue("templates" if kind == "milvus with templates" else "lite")
        yield lambda columns: InMilvus(server, columns, dynamic=kind == "milvus with a dynamic field")


class Asked:
    """What a caller sees, by neighbours and by hits, which must be the same."""

    def __init__(self, collection: Collection) -> None:
        self.store = VectorChunkStore(collection)
        width = 8 if isinstance(collection, MilvusCollection) else 2
        self.retriever = VectorRetriever(collection, lambda question: [1.0, *[0.0] * (width - 1)])

    def sees(self, scope: Scope) -> list[int]:
        found = sorted(chunk.metadata.chunk_id for chunk in self.store.fetch(WINDOW, scope))
        assert found == sorted(hit.chunk.metadata.chunk_id for hit in self.retriever.retrieve("x", scope=scope))
        return found

    async def asees(self, scope: Scope) -> list[int]:
        found = sorted(chunk.metadata.chunk_id for chunk in await self.store.afetch(WINDOW, scope))
        hits = await self.retriever.aretrieve("x", scope=scope)
        assert found == sorted(hit.chunk.metadata.chunk_id for hit in hits)
        return found


TWO = FieldMap(scope=("tenant", "scope"))

# names of the scope, columns at first, the one that is added, and whose each chunk is then
LATER = [
    pytest.param(FieldMap(), {}, "scope", {1: "acme"}, {1: "acme"}, id="the only one"),
    pytest.param(TWO, {}, "tenant", {1: "acme"}, {1: "acme"}, id="the first of two"),
    pytest.param(TWO, {}, "scope", {1: "acme"}, {1: "acme"}, id="the second of two"),
    pytest.param(
        TWO, {"tenant": {2: "bee"}}, "scope", {1: "acme", 2: "acme"}, {1: "acme", 2: "bee"}, id="after the first"
    ),
    pytest.param(TWO, {"scope": {1: "acme"}}, "tenant", {1: "bee"}, {1: "bee"}, id="before the second"),
]


def seen_by(owners: Scopes) -> dict[Any, list[int]]:
    """Return which chunks each caller may see."""
    callers: list[Any] = [None, "bee", ("acme", None), ("acme", "bee"), "acme"]
    return {one: [n for n in ALL if owners.get(n) in (one if isinstance(one, tuple) else (one,))] for one in callers}


@pytest.mark.parametrize(("fields", "columns", "added", "scopes", "owners"), LATER)
def test_a_column_for_scopes_that_is_added_later_counts_at_once(
    make: Make, fields: FieldMap, columns: Mapping[str, Scopes], added: str, scopes: Scopes, owners: Scopes
) -> None:
    world = make(columns)
    asked = Asked(world.collection(fields))
    before = seen_by({number: name for known in columns.values() for number, name in known.items()})
    for _ in range(6):  # PostgreSQL prepares a statement after some
        assert asked.sees("acme") == before["acme"]
    assert {scope: asked.sees(scope) for scope in before} == before
    world.add(added, scopes)
    after = seen_by(owners)
    assert {scope: asked.sees(scope) for scope in reversed(after)} == after


@pytest.mark.parametrize(("fields", "columns", "added", "scopes", "owners"), LATER)
def test_an_async_client_sees_such_a_column_too(
    make: Make, fields: FieldMap, columns: Mapping[str, Scopes], added: str, scopes: Scopes, owners: Scopes
) -> None:
    world = make(columns)

    async def look() -> None:
        collection, client = await world.async_collection(fields)
        asked = Asked(collection)
        before = seen_by({number: name for known in columns.values() for number, name in known.items()})
        assert {scope: await asked.asees(scope) for scope in before} == before
        world.add(added, scopes)
        after = seen_by(owners)
        assert {scope: await asked.asees(scope) for scope in after} == after  # None is the first to ask
        if client is not None:
            await client.close()

    asyncio.run(look())


@pytest.mark.parametrize("call", ["query", "search"])
def test_a_column_that_comes_between_looking_at_milvus_and_asking_it_counts(
    call: str, lite: MilvusServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = InMilvus(lite, {}, dynamic=False)
    collection = world.collection(FieldMap())
    sent, late = getattr(lite.client, call), iter(["scope"])

    def send(*args: Any, **kwargs: Any) -> Any:
        for column in late:
            world.add(column, {1: "acme"})
        return sent(*args, **kwargs)

    monkeypatch.setattr(lite.client, call, send)
    if call == "query":
        found = VectorChunkStore(collection).fetch(WINDOW)
    else:
        found = [hit.chunk for hit in VectorRetriever(collection, lambda question: [1.0] * 8).retrieve("x")]
    assert sorted(chunk.metadata.chunk_id for chunk in found) == [0, 2, 3]


def test_a_column_beside_a_struct_takes_no_scope_away() -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = InLanceDB(folder, {})
        world.table.drop_columns(["text"])
        rows = world.table.to_arrow().append_column("text", pa.array(["x"] * 4))
        inner = [{"scope": "acme" if n == 1 else None} for n in ALL]
        rows = rows.append_column("metadata", pa.array(inner, pa.struct([("scope", pa.string())])))
        world.table = lancedb.connect(folder).create_table("t", rows, mode="overwrite")
        asked = Asked(world.collection(FieldMap()))
        assert asked.sees(None) == [0, 2, 3]
        world.add("scope", {2: "bee"})
        for again in (asked, Asked(world.collection(FieldMap()))):
            assert {scope: again.sees(scope) for scope in (None, "acme", "bee")} == {
                None: [0, 3],
                "acme": [1],
                "bee": [2],
            }
