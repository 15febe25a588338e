"""LanceDB: chunk store and retriever over an existing table."""

from ..base.clients import needs_client
from ..base.fields import FieldMap, colon_id, uuid5_id

with needs_client("lancedb", "lancedb"):
    from .store import LANCEDB_LAYOUTS, LanceDBChunkStore, LanceDBCollection, LanceDBRetriever

__all__ = [
    "LANCEDB_LAYOUTS",
    "FieldMap",
    "LanceDBChunkStore",
    "LanceDBCollection",
    "LanceDBRetriever",
    "colon_id",
    "uuid5_id",
]
