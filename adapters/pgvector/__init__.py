"""PostgreSQL with pgvector: chunk store and retriever over an existing table."""

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
