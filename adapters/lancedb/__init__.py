"""LanceDB: chunk store and retriever over an existing table."""

from retrivex.errors import install_hint

from ..base.fields import FieldMap, colon_id, uuid5_id

try:
    from .store import LANCEDB_LAYOUTS, LanceDBChunkStore, LanceDBCollection, LanceDBRetriever
except ImportError as error:
    raise ImportError(f"retrivex.adapters.lancedb needs lancedb: {install_hint('lancedb')}") from error

__all__ = [
    "LANCEDB_LAYOUTS",
    "FieldMap",
    "LanceDBChunkStore",
    "LanceDBCollection",
    "LanceDBRetriever",
    "colon_id",
    "uuid5_id",
]
