"""A Qdrant server with a client, and collections made in it."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from qdrant_client import QdrantClient, models
from support.qdrant_server import QdrantServer

from retrivex import Chunk
from retrivex.adapters.base.fields import FieldMap
from retrivex.adapters.qdrant import uuid5_id

NAME = "manuals"


def fill(
    client: QdrantClient, chunks: Sequence[Chunk], *, name: str = NAME, metric: models.Distance = models.Distance.COSINE
) -> None:
    """Make a collection of chunks as RetriVex names their fields; copies of a place get ids of their own."""
    client.create_collection(name, vectors_config=models.VectorParams(size=8, distance=metric))
    seen: set[str] = set()
    points = []
    for chunk in chunks:
        id = uuid5_id(*chunk.key)
        id = uuid5_id(id, 1) if id in seen else id
        seen.add(id)
        vector = np.asarray(chunk.embedding).tolist()
        points.append(models.PointStruct(id=id, vector=vector, payload=FieldMap().payload(chunk)))
    if points:
        client.upsert(name, points)


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving() -> Iterator[QdrantServer]:
    """Start a server; it is stopped, and its files are removed, in the end."""
    server = QdrantServer()
    try:
        yield server
    finally:
        server.close()


class Connection:
    """A server, a client of it, and a name that none of its collections has had."""

    def __init__(self, server: QdrantServer) -> None:
        self.server = server
        self.client = QdrantClient(url=server.url, check_compatibility=False)
        self.name = f"collection {len(server.requests)}"  # not a plain word


@contextmanager
def connected(server: QdrantServer) -> Iterator[Connection]:
    """Connect to a server; faults that it was given meanwhile are taken from it."""
    connection = Connection(server)
    try:
        yield connection
    finally:
        connection.client.close()
        server.hangs_s, server.status, server.is_strict = 0.0, None, False
