"""Collections of Milvus made for tests, and a client that notes what it is asked."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("milvus_lite")

import pymilvus
from pymilvus import DataType, MilvusClient
from support.milvus_server import LiteServicer, TemplateServicer, milvus_server

from retrivex import Chunk
from retrivex.adapters.base.fields import FieldMap, colon_id

AsyncMilvusClient: Any = getattr(pymilvus, "AsyncMilvusClient", None)
with_async = pytest.mark.skipif(not hasattr(AsyncMilvusClient, "describe_collection"), reason="pymilvus before 2.6")

numbers = itertools.count()


class Server:
    """A server with a client, and collections made in it."""

    def __init__(self, uri: str, servicer: LiteServicer) -> None:
        self.uri, self.asked = uri, servicer.asked
        self.client = MilvusClient(uri)

    def fill(
        self,
        chunks: Sequence[Chunk] = (),
        fields: FieldMap | None = None,
        columns: Sequence[tuple[str, DataType]] = (),
        metric: str = "COSINE",
        indexed: Sequence[str] = (),
        dynamic: bool = True,
        name: str = "",
    ) -> str:
        """Make a collection of chunks under the ids `doc:n`."""
        name = name or f"test_{next(numbers)}"
        fields = fields or FieldMap()
        schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=dynamic)
        schema.add_field("pk", DataType.VARCHAR, is_primary=True, max_length=2000)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=8)
        for column, type_ in columns:
            schema.add_field(
                column, type_, nullable=True, **({"max_length": 2000} if type_ is DataType.VARCHAR else {})
            )
        params = self.client.prepare_index_params()
        params.add_index("vector", index_type="FLAT", metric_type=metric)
        for column in indexed:
            params.add_index(column, index_type="INVERTED")
        self.client.create_collection(name, schema=schema, index_params=params)
        records = [
            {"pk": colon_id(*chunk.key), "vector": list(map(float, chunk.embedding)), **fields.payload(chunk)}  # type: ignore[arg-type]
            for chunk in chunks
        ]
        for start in range(0, len(records), 1000):
            self.client.insert(name, records[start : start + 1000])
        return name


class Recording(MilvusClient):  # type: ignore[misc]
    """A client that writes down what it is called with; what it lacks is that of another one."""

    def __init__(self, client: MilvusClient) -> None:
        self.client = client
        self.calls: list[dict[str, Any]] = []
        self.failures: list[Exception] = []
        self.indexes: list[dict[str, Any]] | None = None

    def query(self, name: str, **arguments: Any) -> Any:
        self.calls.append(arguments)
        if self.failures:
            raise self.failures.pop(0)
        return self.client.query(name, **arguments)

    def list_indexes(self, name: str, **arguments: Any) -> Any:
        return self.client.list_indexes(name, **arguments) if self.indexes is None else list(range(len(self.indexes)))

    def describe_index(self, name: str, index: Any, **arguments: Any) -> Any:
        return self.client.describe_index(name, index, **arguments) if self.indexes is None else self.indexes[index]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)


@contextmanager
def serving(folder: Path, *, templates: bool) -> Iterator[Server]:
    """Start a server of our own, which takes filter templates or does not, with a client."""
    with milvus_server(folder, TemplateServicer if templates else LiteServicer) as (uri, made):
        yield Server(uri, made)
