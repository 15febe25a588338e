"""Milvus Lite, out of a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from pymilvus import DataType, MilvusClient

from retrivex.adapters.base.fields import FieldMap, colon_id
from retrivex.adapters.milvus import MilvusChunkStore, MilvusCollection
from retrivex.model.chunk import Chunk

from .engine import DIMENSION, Engine, Way, batches, listed
from .vector_store import nearest, way


@contextmanager
def running(folder: Path, chunks: Sequence[Chunk]) -> Iterator[Engine]:
    """Fill a collection whose document and number are columns."""
    client = MilvusClient(str(folder / "milvus.db"))
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=True)
    schema.add_field("pk", DataType.VARCHAR, is_primary=True, max_length=200)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=DIMENSION)
    schema.add_field("doc_id", DataType.VARCHAR, max_length=200)
    schema.add_field("chunk_id", DataType.INT64)
    params = client.prepare_index_params()
    params.add_index("vector", index_type="FLAT", metric_type="COSINE")
    client.create_collection("manuals", schema=schema, index_params=params)
    fields = FieldMap()
    for some in batches(chunks, 5_000):
        client.insert(
            "manuals",
            [{"pk": colon_id(*chunk.key), "vector": listed(chunk), **fields.payload(chunk)} for chunk in some],
        )
    base = nearest(MilvusCollection(client, "manuals", timeout_s=120))
    yield Engine(f"Milvus Lite {version('milvus-lite')}", _ways(client), base)
    client.close()


def _ways(client: MilvusClient) -> Iterator[Way]:
    yield way("ids", MilvusChunkStore(client, "manuals", make_id=colon_id, timeout_s=120))
    yield way("filter, no index", MilvusChunkStore(client, "manuals", timeout_s=120))
    params = client.prepare_index_params()
    params.add_index("doc_id", index_type="INVERTED")
    params.add_index("chunk_id", index_type="INVERTED")
    client.create_index("manuals", params)
    yield way("filter, indexes", MilvusChunkStore(client, "manuals", timeout_s=120))
