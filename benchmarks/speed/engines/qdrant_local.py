"""Qdrant's local mode: the client's own store in Python, which has no indexes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from qdrant_client import QdrantClient

from retrivex.adapters.qdrant import QdrantChunkStore, QdrantCollection, uuid5_id
from retrivex.model.chunk import Chunk

from .engine import Engine, Way
from .qdrant_points import fill
from .vector_store import nearest, way


@contextmanager
def running(folder: Path, chunks: Sequence[Chunk]) -> Iterator[Engine]:
    """Fill a collection in memory."""
    client = QdrantClient(":memory:")
    fill(client, chunks, size=5_000)
    yield Engine(
        f"qdrant-client {version('qdrant-client')}", _ways(client), nearest(QdrantCollection(client, "manuals"))
    )
    client.close()


def _ways(client: QdrantClient) -> Iterator[Way]:
    yield way("ids", QdrantChunkStore(client, "manuals", make_id=uuid5_id))
    yield way("filter, no index", QdrantChunkStore(client, "manuals"))
