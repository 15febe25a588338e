"""PostgreSQL with pgvector: neighbours and hits out of a table that exists already."""

from .store import (
    PGVECTOR_LAYOUTS,
    PGVECTORSTORE,
    FieldMap,
    PgvectorChunkStore,
    PgvectorCollection,
    PgvectorOptions,
    PgvectorRetriever,
    colon_id,
    uuid5_id,
)

__all__ = [
    "PGVECTORSTORE",
    "PGVECTOR_LAYOUTS",
    "FieldMap",
    "PgvectorChunkStore",
    "PgvectorCollection",
    "PgvectorOptions",
    "PgvectorRetriever",
    "colon_id",
    "uuid5_id",
]
