"""LanceDB: chunk store and retriever over an existing table."""

from .store import (
    LANCEDB_LAYOUTS,
    FieldMap,
    LanceDBChunkStore,
    LanceDBCollection,
    LanceDBOptions,
    LanceDBRetriever,
    colon_id,
    uuid5_id,
)

__all__ = [
    "LANCEDB_LAYOUTS",
    "FieldMap",
    "LanceDBChunkStore",
    "LanceDBCollection",
    "LanceDBOptions",
    "LanceDBRetriever",
    "colon_id",
    "uuid5_id",
]
