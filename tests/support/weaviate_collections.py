"""Collections of Weaviate on a stand-in for the server, or on a real one: what its tests share."""

from __future__ import annotations

import itertools
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("weaviate")

import weaviate
from support.weaviate_server import WeaviateDouble, weaviate_server
from weaviate.classes.config import Configure, DataType, Property, Tokenization, VectorDistances
from weaviate.classes.data import DataObject
from weaviate.classes.init import AdditionalConfig, Timeout

from retrivex import Chunk
from retrivex.adapters.base.fields import FieldMap, MakeId

REAL = os.environ.get("RETRIVEX_WEAVIATE_URL")
needs_double = pytest.mark.skipif(REAL is not None, reason="looks at what the stand-in was sent, or makes it slow")
_numbers = itertools.count()

EXACT = {"data_type": DataType.TEXT, "tokenization": Tokenization.FIELD}
MADE_FOR_IT = [
    Property(name="text", data_type=DataType.TEXT),
    Property(name="doc_id", **EXACT),
    Property(name="chunk_id", data_type=DataType.INT, index_range_filters=True),
    Property(name="scope", **EXACT),
    *(Property(name=n, data_type=DataType.INT) for n in ("char_start", "char_end", "page", "chunk_count")),
    Property(name="timestamp", data_type=DataType.NUMBER),
    Property(name="heading_path", data_type=DataType.TEXT_ARRAY),
    Property(name="parent_id", **EXACT),
    *(Property(name=n, data_type=DataType.TEXT) for n in ("chunk_prefix", "chunk_links")),
    Property(name="author", **EXACT),
    Property(name="year", data_type=DataType.INT),
    *(Property(name=n, data_type=DataType.NUMBER) for n in ("weight", "ratio")),
    Property(name="draft", data_type=DataType.BOOL),
]


@dataclass(frozen=True)
class Server:
    client: Any
    connect_async: Callable[[], Any]
    double: WeaviateDouble

    def fill(
        self,
        chunks: Sequence[Chunk] = (),
        properties: Sequence[Property] | None = None,
        *,
        name: str = "Test",
        make_id: MakeId | None = None,
        null_state: bool = True,
        distance: VectorDistances = VectorDistances.COSINE,
        vector_names: Sequence[str] = (),
        tenants: Sequence[str] = (),
    ) -> str:
        """Make a collection of chunks, by the real client."""
        name = f"{name}{next(_numbers)}x{uuid.uuid4().hex[:8]}"
        index = Configure.VectorIndex.hnsw(distance_metric=distance)
        vectors: Any = Configure.Vectors.self_provided(vector_index_config=index)
        if vector_names:
            vectors = [Configure.Vectors.self_provided(name=n, vector_index_config=index) for n in vector_names]
        made = self.client.collections.create(
            name,
            properties=MADE_FOR_IT if properties is None else list(properties),
            inverted_index_config=Configure.inverted_index(index_null_state=null_state),
            vector_config=vectors,
            multi_tenancy_config=Configure.multi_tenancy(enabled=True) if tenants else None,
        )
        objects = [
            DataObject(
                properties=FieldMap().payload(chunk),
                uuid=make_id(*chunk.key) if make_id else str(uuid.uuid4()),
                vector=_vector(chunk, vector_names),
            )
            for chunk in chunks
        ]
        for tenant in tenants:
            made.tenants.create(tenant)
        for target in [made.with_tenant(tenant) for tenant in tenants] or [made]:
            for start in range(0, len(objects), 1000):
                answer = target.data.insert_many(objects[start : start + 1000])
                assert not answer.has_errors, answer.errors
        return name


def _vector(chunk: Chunk, names: Sequence[str]) -> Any:
    assert chunk.embedding is not None
    vector = [float(x) for x in chunk.embedding]
    return {name: vector if at == 0 else vector[:4] for at, name in enumerate(names)} if names else vector


def ports(http: int, grpc: int, host: str = "127.0.0.1") -> dict[str, Any]:
    return {
        "http_host": host,
        "http_port": http,
        "http_secure": False,
        "grpc_host": host,
        "grpc_port": grpc,
        "grpc_secure": False,
        "skip_init_checks": True,  # one of them asks a package index for the newest client
        "additional_config": AdditionalConfig(timeout=Timeout(query=20, insert=20)),
    }


@contextmanager
def serving() -> Iterator[Server]:
    """Give a server that is a stand-in, or the real one that the environment names."""
    with weaviate_server() as (double, http, grpc):
        where = ports(http, grpc)
        if REAL is not None:
            found = urlsplit(REAL)
            grpc = int(os.environ.get("RETRIVEX_WEAVIATE_GRPC_PORT", "50051"))
            where = ports(found.port or 8080, grpc, found.hostname or "127.0.0.1")
        client = weaviate.connect_to_custom(**where)
        try:
            yield Server(client, lambda: weaviate.use_async_with_custom(**where), double)
        finally:
            client.close()
