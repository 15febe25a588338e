"""LanceDB: neighbours and hits out of a table that exists already."""

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
