"""A file with the positions of records in their documents, for collections that store none."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from retrivex.errors import StoreError
from retrivex.model.chunk import ChunkKey
from retrivex.model.window import Window
from retrivex.stores.sqlite.shared_file import SharedFile
from retrivex.timeouts import in_thread

from .collection import ByIds, ByWindows, Collection, Failure, Records, Request
from .store import read_record

_SCHEMA = """
CREATE TABLE IF NOT EXISTS state (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS record (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, doc_id TEXT, scope TEXT,
    known INTEGER, page INTEGER, start INTEGER,
    before TEXT, after TEXT, number INTEGER, chunks INTEGER, written INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS counted (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, value TEXT NOT NULL, written INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS record_place ON record (doc_id, number);
"""
_CACHE_KIB = 32 * 1024


class Places(SharedFile):
    """The file of positions: the document and the chunk number of every record, as `retrivex backfill` writes it.

    Threads may share it. Texts and vectors are not in it; counts are, until they are in the collection.

    Parameters
    ----------
    path : the file
    create : whether it may be made where it does not exist

    Raises
    ------
    StoreError
        If the file does not exist, or is none of these.
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = False) -> None:
        if not create and not Path(path).exists():
            raise StoreError(f"{path} does not exist: make it with `retrivex backfill --places {path}`")
        super().__init__(path, _SCHEMA, busy_timeout_s=30.0, cache_kib=_CACHE_KIB)

    def ids(self, windows: Iterable[Window]) -> list[str]:
        """Return the ids of the records that stand in `windows`."""
        found: list[str] = []
        with self.transaction() as connection:
            for window in windows:
                rows = connection.execute(
                    "SELECT id FROM record WHERE doc_id = ? AND number >= ? AND number < ? ORDER BY number",
                    (json.dumps(window.doc_id), window.start, min(window.end, 2**63 - 1)),
                )
                found.extend(row[0] for row in rows)
        return found

    def of(self, ids: Sequence[str]) -> dict[str, tuple[ChunkKey, int]]:
        """Return place and number of chunks in the document, of those records that have one."""
        found: dict[str, tuple[ChunkKey, int]] = {}
        with self.transaction() as connection:
            for id in ids:
                row = connection.execute(
                    "SELECT doc_id, number, chunks FROM record WHERE id = ? AND number IS NOT NULL", (id,)
                ).fetchone()
                if row is not None:
                    found[id] = ((json.loads(row[0]), row[1]), row[2])
        return found

    def state(self, key: str) -> Any:
        """Return what was kept under a key; None where nothing was."""
        with self.transaction() as connection:
            row = connection.execute("SELECT value FROM state WHERE key = ?", (key,)).fetchone()
        return None if row is None else json.loads(row[0])


class PlacedCollection(Collection):
    """A collection whose chunk numbers come from a file of positions; neighbours are requested by their ids.

    Give it to `VectorChunkStore` and `VectorRetriever` in the collection's place.

    Parameters
    ----------
    collection : what is asked
    places : made of the same collection
    """

    def __init__(self, collection: Collection, places: Places) -> None:
        self._inner = collection
        self._places = places
        names = collection.fields
        # with the file, nothing is filtered by these: they only must be there
        self.fields = replace(names, doc_id=names.doc_id or ("doc_id",), chunk_id=names.chunk_id or ("chunk_id",))
        self.name = f"{collection.name} with {places.path.name}"
        self.batch_limit = collection.batch_limit
        self.is_sync = collection.is_sync
        self.is_async = collection.is_async

    def ask(self, request: Request) -> Records:
        """Answer a request; one for windows that hold nothing is not sent."""
        asked = self._translate(request)
        return self._add_positions(self._inner.ask(asked)) if asked is not None else Records()

    async def aask(self, request: Request) -> Records:
        """Answer a request through the async client."""
        asked = await in_thread(lambda: self._translate(request))
        if asked is None:
            return Records()
        answer = await self._inner.aask(asked)
        return await in_thread(lambda: self._add_positions(answer))

    def failure(self, error: Exception) -> Failure:
        """Say what an error of the client means."""
        return self._inner.failure(error)

    def place(self, id: str) -> tuple[ChunkKey, int] | None:
        """Return what the file says of a record."""
        return self._places.of([id]).get(id)

    def write(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        """Set fields of records."""
        self._inner.write(changes)

    def _translate(self, request: Request) -> Request | None:
        if not isinstance(request, ByWindows):
            return request
        ids = self._places.ids(request.windows)
        return ByIds(tuple(ids), request.scopes) if ids else None

    def _add_positions(self, answer: Records) -> Records:
        places = self._places.of([record.id for record in answer.records])
        records = []
        for record in answer.records:
            passage = read_record(record, self._inner)
            if record.id in places:
                (doc_id, number), _ = places[record.id]
                passage = replace(passage, doc_id=doc_id, chunk_id=number)
            records.append(replace(record, passage=passage))
        return replace(answer, records=records)
