"""PostgreSQL with pgvector: chunk store and retriever over an existing table."""

from ..base.clients import needs_client
from ..base.fields import FieldMap, colon_id, uuid5_id

with needs_client("pgvector", "psycopg 3 and psycopg-pool"):
    from .store import PGVECTOR_LAYOUTS, PGVECTORSTORE, PgvectorChunkStore, PgvectorCollection, PgvectorRetriever

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
