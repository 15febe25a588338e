"""Chroma: chunk store and retriever over an existing collection."""

from ..base.clients import needs_client
from ..base.fields import FieldMap, colon_id, uuid5_id

with needs_client("chroma", "chromadb"):
    from .store import CHROMA_LAYOUTS, ChromaChunkStore, ChromaCollection, ChromaRetriever

__all__ = [
    "CHROMA_LAYOUTS",
    "ChromaChunkStore",
    "ChromaCollection",
    "ChromaRetriever",
    "FieldMap",
    "colon_id",
    "uuid5_id",
]
