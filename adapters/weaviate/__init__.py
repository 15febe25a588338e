"""Weaviate: chunk store and retriever over an existing collection."""

from ..base.clients import needs_client
from ..base.fields import FieldMap, colon_id, uuid5_id

with needs_client("weaviate", "weaviate-client"):
    from .store import WEAVIATE_LAYOUTS, WeaviateChunkStore, WeaviateCollection, WeaviateRetriever

__all__ = [
    "WEAVIATE_LAYOUTS",
    "FieldMap",
    "WeaviateChunkStore",
    "WeaviateCollection",
    "WeaviateRetriever",
    "colon_id",
    "uuid5_id",
]
