"""Weaviate: chunk store and retriever over an existing collection."""

from retrivex.errors import install_hint

from ..base.fields import FieldMap, colon_id, uuid5_id

try:
    from .store import WEAVIATE_LAYOUTS, WeaviateChunkStore, WeaviateCollection, WeaviateRetriever
except ImportError as error:
    raise ImportError(f"retrivex.adapters.weaviate needs weaviate-client: {install_hint('weaviate')}") from error

__all__ = [
    "WEAVIATE_LAYOUTS",
    "FieldMap",
    "WeaviateChunkStore",
    "WeaviateCollection",
    "WeaviateRetriever",
    "colon_id",
    "uuid5_id",
]
