"""Addresses of stores: what a worker needs to open the one that all others open, too."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from retrivex.adapters import STORES
from retrivex.errors import StoreError
from retrivex.stores import SQLiteStore
from retrivex.stores.protocol import AnyChunkStore
from retrivex.text.addresses import without_credentials

SQLITE = "sqlite"
_IN_FOLDERS = (SQLITE, "chroma", "lancedb", "milvus", "qdrant")  # what has no scheme is a path there
KINDS = (SQLITE, *(row.name for row in STORES))
"""Stores that a batch reads from: the embedded one, and every vector store that has an adapter."""

KEY_VARIABLE = "RETRIVEX_API_KEY"
"""Where the key of a server is read from, in each worker: it is in no manifest and in nothing that is sent."""


@dataclass(frozen=True, slots=True, repr=False)
class StoreAddress:
    """Where a store is; called, it opens it for reading.

    Parameters
    ----------
    kind : one of `KINDS`
    address : the file of SQLite; a URL, folder or connection string of the others; a path is made absolute: a worker
        may have another working directory
    collection : name of the collection, table or index; SQLite has none
    layout : who filled the collection

    Raises
    ------
    StoreError
        If there is no such kind, or the collection is missing.
    """

    kind: str
    address: str
    collection: str = ""
    layout: str = "retrivex"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise StoreError(f"store is {self.kind!r}: it must be one of {', '.join(KINDS)}")
        if (self.kind == SQLITE) == bool(self.collection):
            rule = "has no collections: leave it out" if self.kind == SQLITE else "needs the name of a collection"
            raise StoreError(f"collection is {self.collection!r}: {self.kind} {rule}")
        if self.kind in _IN_FOLDERS and "://" not in self.address and self.address not in ("", ":memory:"):
            object.__setattr__(self, "address", os.path.abspath(self.address))

    def __call__(self) -> AnyChunkStore:
        """Open the store.

        Raises
        ------
        StoreError
            If it cannot be opened.
        ImportError
            If its client is not installed; the message names the extra.
        """
        if self.kind == SQLITE:
            return SQLiteStore(self.address, read_only=True)
        opening = import_module("retrivex.adapters.base.opening")
        key = os.environ.get(KEY_VARIABLE)
        collection = opening.open_collection(self.kind, self.address, self.collection, self.layout, key)
        store: AnyChunkStore = import_module("retrivex.adapters.base.store").VectorChunkStore(collection)
        return store

    def check(self) -> None:
        """Make sure that the store can be opened; errors as in a call. A worker that finds out is late."""
        opened: Any = self()
        (opened if self.kind == SQLITE else opened.collection).close()

    def __repr__(self) -> str:
        return f"<StoreAddress {self}>"

    def __str__(self) -> str:
        named = f" {self.collection} ({self.layout})" if self.collection else ""
        return f"{self.kind} {without_credentials(self.address)}{named}"
