"""Where chunks live: in memory, in one SQLite file, or in whatever implements `ChunkStore`."""

from retrivex.stores.cache.store import CachedChunkStore
from retrivex.stores.memory import InMemoryChunkStore, fetch_from_mapping
from retrivex.stores.protocol import AnyChunkStore, AnyParentStore, ChunkStore, ParentStore
from retrivex.stores.sqlite.filters import Where
from retrivex.stores.sqlite.ingest import PutResult
from retrivex.stores.sqlite.inspection import DocumentInfo, StoreInfo
from retrivex.stores.sqlite.record import content_hash
from retrivex.stores.sqlite.store import SQLiteStore

__all__ = [
    "AnyChunkStore",
    "AnyParentStore",
    "CachedChunkStore",
    "ChunkStore",
    "DocumentInfo",
    "InMemoryChunkStore",
    "ParentStore",
    "PutResult",
    "SQLiteStore",
    "StoreInfo",
    "Where",
    "content_hash",
    "fetch_from_mapping",
]
