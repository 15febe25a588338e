"""Chroma: chunk store and retriever over an existing collection."""

from retrivex.errors import install_hint

from ..base.fields import FieldMap, colon_id, uuid5_id

try:
    from .store import CHROMA_LAYOUTS, ChromaChunkStore, ChromaCollection, ChromaRetriever
except ImportError as error:
    raise ImportError(f"retrivex.adapters.chroma needs chromadb: {install_hint('chroma')}") from error

__all__ = [
    "CHROMA_LAYOUTS",
    "ChromaChunkStore",
    "ChromaCollection",
    "ChromaRetriever",
    "FieldMap",
    "colon_id",
    "uuid5_id",
]
