"""Where chunks live: in memory, in one SQLite file, or in whatever implements `ChunkStore`."""

from retrivex.stores.cached import CachedChunkStore
from retrivex.stores.filters import Where
from retrivex.stores.ingest import PutResult
from retrivex.stores.inspection import DocumentInfo, StoreInfo
from retrivex.stores.memory import InMemoryChunkStore, fetch_from_mapping
from retrivex.stores.protocol import AnyChunkStore, AnyParentStore, ChunkStore, ParentStore
from retrivex.stores.record import content_hash
from retrivex.stores.sqlite import SQLiteStore

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
