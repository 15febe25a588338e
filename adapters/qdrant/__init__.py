"""Qdrant: chunk store and retriever over an existing collection."""

from retrivex.errors import install_hint

from ..base.fields import FieldMap, colon_id, uuid5_id

try:
    from .store import QDRANT_LAYOUTS, QdrantChunkStore, QdrantCollection, QdrantRetriever
except ImportError as error:
    raise ImportError(f"retrivex.adapters.qdrant needs qdrant-client: {install_hint('qdrant')}") from error

__all__ = [
    "QDRANT_LAYOUTS",
    "FieldMap",
    "QdrantChunkStore",
    "QdrantCollection",
    "QdrantRetriever",
    "colon_id",
    "uuid5_id",
]
