"""Points of Qdrant."""

from __future__ import annotations

from collections.abc import Sequence

from qdrant_client import QdrantClient, models

from retrivex.adapters.base.fields import FieldMap, uuid5_id
from retrivex.model.chunk import Chunk

from .engine import DIMENSION, batches, listed


def fill(client: QdrantClient, chunks: Sequence[Chunk], size: int) -> None:
    """Make the collection `manuals`."""
    client.create_collection(
        "manuals", vectors_config=models.VectorParams(size=DIMENSION, distance=models.Distance.COSINE)
    )
    fields = FieldMap()
    for some in batches(chunks, size):
        points = [
            models.PointStruct(id=uuid5_id(*chunk.key), vector=listed(chunk), payload=fields.payload(chunk))
            for chunk in some
        ]
        client.upsert("manuals", points)
