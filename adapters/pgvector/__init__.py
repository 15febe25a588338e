"""PostgreSQL with pgvector: chunk store and retriever over an existing table."""

from retrivex.errors import install_hint

from ..base.fields import FieldMap, colon_id, uuid5_id

try:
    from .store import PGVECTOR_LAYOUTS, PGVECTORSTORE, PgvectorChunkStore, PgvectorCollection, PgvectorRetriever
except ImportError as error:
    hint = install_hint("pgvector")
    raise ImportError(f"retrivex.adapters.pgvector needs psycopg 3 and psycopg-pool: {hint}") from error

__all__ = [
    "PGVECTORSTORE",
    "PGVECTOR_LAYOUTS",
    "FieldMap",
    "PgvectorChunkStore",
    "PgvectorCollection",
    "PgvectorRetriever",
    "colon_id",
    "uuid5_id",
]
