"""Qdrant's engine, behind the server that the tests use: its time is that of the engine and of JSON in Python."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from qdrant_client import QdrantClient, models

from retrivex.adapters.qdrant import QdrantChunkStore, QdrantCollection, uuid5_id
from retrivex.model.chunk import Chunk

from .engine import Engine, Way
from .qdrant_points import fill
from .vector_store import nearest, way

sys.path.append(str(Path(__file__).parents[2] / "tests"))
from support.qdrant_server import QdrantServer  # found by the line above


@contextmanager
def running(folder: Path, chunks: Sequence[Chunk]) -> Iterator[Engine]:
    """Start the server and fill it over REST."""
    server = QdrantServer()
    try:
        client = QdrantClient(url=server.url, check_compatibility=False, timeout=120)
        fill(client, chunks, size=1_000)
        base = nearest(QdrantCollection(client, "manuals"))
        yield Engine(f"qdrant-edge-py {version('qdrant-edge-py')}", _ways(client), base)
        client.close()
    finally:
        server.close()


def _ways(client: QdrantClient) -> Iterator[Way]:
    yield way("ids", QdrantChunkStore(client, "manuals", make_id=uuid5_id))
    yield way("filter, no index", QdrantChunkStore(client, "manuals"))
    client.create_payload_index("manuals", "doc_id", field_schema=models.PayloadSchemaType.KEYWORD)
    client.create_payload_index("manuals", "chunk_id", field_schema=models.PayloadSchemaType.INTEGER)
    yield way("filter, indexes", QdrantChunkStore(client, "manuals"))
