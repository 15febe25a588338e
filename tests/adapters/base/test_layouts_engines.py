"""Places that collections keep in their own way: documents and scopes as numbers, names with dots."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import pytest

pytest.importorskip("qdrant_client")
pytest.importorskip("chromadb")
pytest.importorskip("lancedb")
pytest.importorskip("psycopg")
pytest.importorskip("pymilvus")

import lancedb
import pyarrow as pa
from pymilvus import DataType
from qdrant_client import QdrantClient, models
from support.chroma_server import ChromaServer
from support.milvus_collections import Server as MilvusServer
from support.postgres_server import Postgres
from support.qdrant_server import QdrantServer

from retrivex.adapters.base.collection import Collection
from retrivex.adapters.base.fields import FieldMap, uuid5_id
from retrivex.adapters.base.store import VectorChunkStore, VectorRetriever
from retrivex.adapters.chroma import ChromaCollection
from retrivex.adapters.lancedb import LanceDBCollection
from retrivex.adapters.milvus import MilvusCollection
from retrivex.adapters.pgvector import PgvectorCollection
from retrivex.adapters.qdrant import QdrantCollection
from retrivex.model.chunk import Chunk, Scope
from retrivex.model.window import Window

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

Write: TypeAlias = Callable[[Sequence[dict[str, Any]]], Callable[[FieldMap], Collection]]
"""Makes a collection of records, and returns what opens it with names of fields."""

_numbers = itertools.count()
ONE = [1.0, *[0.0] * 7]


def _name() -> str:
    return f"places-{next(_numbers)}"


def _into_qdrant(client: QdrantClient) -> Write:
    def write(records: Sequence[dict[str, Any]]) -> Callable[[FieldMap], Collection]:
        name = _name()
        client.create_collection(name, vectors_config=models.VectorParams(size=8, distance=models.Distance.DOT))
        client.upsert(name, [models.PointStruct(id=uuid5_id("r", n), vector=ONE, payload=r) for n, r in _each(records)])
        return lambda fields: QdrantCollection(client, name, fields=fields)

    return write


def _each(records: Sequence[dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    return ((n, {"text": f"text {n}", **record}) for n, record in enumerate(records))


@pytest.fixture
def qdrant_local() -> Write:
    return _into_qdrant(QdrantClient(":memory:"))


@pytest.fixture
def qdrant_served() -> Iterator[Write]:
    server = QdrantServer()
    yield _into_qdrant(QdrantClient(url=server.url, check_compatibility=False))
    server.close()


def _into_milvus(server: MilvusServer, columns: Sequence[tuple[str, DataType]] = ()) -> Write:
    def write(records: Sequence[dict[str, Any]]) -> Callable[[FieldMap], Collection]:
        name = server.fill(columns=columns)
        server.client.insert(name, [{"pk": f"r{n}", "vector": ONE, **record} for n, record in _each(records)])
        return lambda fields: MilvusCollection(server.client, name, fields=fields)

    return write


@pytest.fixture
def milvus_lite(lite: MilvusServer) -> Write:
    return _into_milvus(lite)


@pytest.fixture
def milvus_templates(templates: MilvusServer) -> Write:
    return _into_milvus(templates)


@pytest.fixture
def milvus_numbers(templates: MilvusServer) -> Write:
    return _into_milvus(templates, [("chunk_id", DataType.INT64), ("scope", DataType.INT64)])


@pytest.fixture
def chroma_flat(chroma: ChromaServer) -> Write:
    def write(records: Sequence[dict[str, Any]]) -> Callable[[FieldMap], Collection]:
        name = _name()
        made = chroma.client.create_collection(name, embedding_function=None)
        texts = [f"text {n}" for n in range(len(records))]
        embeddings: list[Any] = [ONE] * len(records)
        made.add(ids=texts, documents=texts, embeddings=embeddings, metadatas=list(records))
        return lambda fields: ChromaCollection(chroma.client, name, fields=fields)

    return write


def _into_lancedb(encode: Callable[[pa.Array], pa.Array]) -> Write:
    def write(records: Sequence[dict[str, Any]]) -> Callable[[FieldMap], Collection]:
        db = lancedb.connect(tempfile.mkdtemp())
        rows = [record for _, record in _each(records)]
        columns = {name: encode(pa.array([row.get(name) for row in rows])) for name in {n for r in rows for n in r}}
        db.create_table("t", pa.table(columns | {"vector": pa.array([ONE] * len(rows), pa.list_(pa.float32(), 8))}))
        return lambda fields: LanceDBCollection(db, "t", fields=fields)

    return write


@pytest.fixture
def lancedb_columns() -> Write:
    return _into_lancedb(lambda column: column)


@pytest.fixture
def lancedb_dictionaries() -> Write:
    return _into_lancedb(lambda column: column.dictionary_encode())


def _into_postgres(postgres: Postgres, column: str) -> Write:
    def write(records: Sequence[dict[str, Any]]) -> Callable[[FieldMap], Collection]:
        table = postgres.table(f"id text, text text, meta {column}, embedding vector(8)")
        for n, record in _each(records):
            meta = record.get("meta", record)
            values = (f"r{n}", record["text"], json.dumps(meta), json.dumps(ONE))
            postgres.admin.execute(f"INSERT INTO {table} VALUES (%s, %s, %s, %s)", values)
        return lambda fields: PgvectorCollection(postgres.pool, table, fields=fields.under("meta"))

    return write


@pytest.fixture
def postgres_json(postgres: Postgres) -> Write:
    return _into_postgres(postgres, "json")


@pytest.fixture
def postgres_jsonb(postgres: Postgres) -> Write:
    return _into_postgres(postgres, "jsonb")


NESTED = ["qdrant_local", "qdrant_served", "milvus_lite", "milvus_templates"]
IN_JSON = ["postgres_json", "postgres_jsonb"]
EVERY = [*NESTED, *IN_JSON, "chroma_flat", "lancedb_columns", "lancedb_dictionaries"]


@pytest.fixture
def write(request: pytest.FixtureRequest) -> Write:
    made: Write = request.getfixturevalue(request.param)
    return made


def _texts(collection: Collection, windows: Sequence[Window], scope: Scope = None) -> list[str]:
    found: list[Chunk] = VectorChunkStore(collection).fetch(windows, scope)
    return sorted(chunk.text for chunk in found)


@pytest.mark.parametrize("write", EVERY, indirect=True)
def test_documents_that_are_kept_as_numbers_are_found(write: Write) -> None:
    collection = write([{"doc_id": 42 + n // 4, "chunk_id": n % 4} for n in range(12)])(FieldMap())
    assert _texts(collection, [Window("43", 1, 3), Window("none", 0, 2)]) == ["text 5", "text 6"]
    assert _texts(collection, [Window("043", 1, 3), Window("9" * 30, 0, 2)]) == []


@pytest.mark.parametrize("write", [*EVERY, "milvus_numbers"], indirect=True)
def test_scopes_that_are_kept_as_numbers_are_found(write: Write) -> None:
    tenants = [{"scope": 7}, {}, {"scope": 8}]
    collection = write([{"doc_id": "d", "chunk_id": n, **tenants[n % 3]} for n in range(6)])(FieldMap())
    for scope, seen in (("7", [0, 3]), (["8", "x"], [2, 5]), (None, [1, 4]), ("x", []), ("07", [])):
        assert _texts(collection, [Window("d", 0, 9)], scope) == [f"text {n}" for n in seen]
        assert len(VectorRetriever(collection, lambda question: ONE).retrieve("x", scope=scope)) == len(seen)


@pytest.mark.parametrize("write", EVERY, indirect=True)
def test_what_is_not_there_is_not_there_however_it_is_looked_for(write: Write) -> None:
    collection = write([{"doc_id": "d", "chunk_id": 0}])(FieldMap())
    assert _texts(collection, [Window("other", 0, 5)]) == []
    assert _texts(collection, [Window("d", 1, 5)]) == []
    assert _texts(collection, [Window("d", 0, 5)]) == ["text 0"]


@pytest.mark.parametrize("write", [*NESTED, "lancedb_columns"], indirect=True)
def test_names_with_dots_may_be_paths(write: Write) -> None:
    fields = FieldMap(doc_id="my.doc", chunk_id="my.part no", scope="my.tenant")
    inner = [{"doc": "d", "part no": n, **({"tenant": "acme"} if n % 2 else {})} for n in range(6)]
    collection = write([{"my": one} for one in inner])(fields)
    for scope, seen in (("acme", [1, 3, 5]), (None, [0, 2, 4])):
        assert _texts(collection, [Window("d", 0, 9)], scope) == [f"text {n}" for n in seen]
        hits = VectorRetriever(collection, lambda question: ONE).retrieve("x", scope=scope)
        assert sorted(hit.chunk.metadata.chunk_id for hit in hits) == seen
