"""Chunk stores: in memory, in one SQLite file, or any object that implements `ChunkStore`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from retrivex.stores.memory import InMemoryChunkStore, fetch_from_mapping
from retrivex.stores.protocol import AnyChunkStore, AnyParentStore, ChunkStore, ParentStore

if TYPE_CHECKING:
    from retrivex.stores.cache.store import CachedChunkStore
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

_ON_FIRST_USE = {
    "CachedChunkStore": "retrivex.stores.cache.store",
    "DocumentInfo": "retrivex.stores.sqlite.inspection",
    "PutResult": "retrivex.stores.sqlite.ingest",
    "SQLiteStore": "retrivex.stores.sqlite.store",
    "StoreInfo": "retrivex.stores.sqlite.inspection",
    "Where": "retrivex.stores.sqlite.filters",
    "content_hash": "retrivex.stores.sqlite.record",
}


def __getattr__(name: str) -> Any:
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_ON_FIRST_USE[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
