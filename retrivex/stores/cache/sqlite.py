"""A cache of chunks in a file, which several processes may share."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from retrivex.errors import ChunkError
from retrivex.model.chunk import ChunkKey
from retrivex.model.serialization import check_metadata, chunk_from_dict, chunk_to_dict
from retrivex.stores.cache.store import Entry, check_limits
from retrivex.stores.sqlite.shared_file import SharedFile

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entry (
    space TEXT NOT NULL, place TEXT NOT NULL, expires REAL NOT NULL, chunks TEXT NOT NULL, PRIMARY KEY (space, place)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS entry_expires ON entry (expires);
"""
_CACHE_KIB = 4096
# one that expires later than it can was written before the clock was set back, and may be of any age
_VALID = "expires > ? AND expires <= ?"


class SQLiteCache(SharedFile):
    """Keeps chunks in a file for a limited time; threads and processes may share it, each with its own cache object.

    Parameters
    ----------
    path : the file, made where it does not exist; `:memory:` is none, see `MemoryCache`
    max_places : places kept at most; the oldest go first
    ttl_s : seconds that a place is kept; the same for all processes
    busy_timeout_s : seconds to wait for another process that writes
    clock : Unix seconds, the same for all processes

    Raises
    ------
    StoreError
        If a limit is not positive, or the file cannot be opened or is no cache.

    Notes
    -----
    Chunks are kept as JSON: embeddings as 64-bit floats, tuples in custom metadata come back as lists. A chunk that
    JSON or UTF-8 cannot hold is not kept.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        max_places: int = 1_000_000,
        ttl_s: float = 3600.0,
        *,
        busy_timeout_s: float = 5.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        check_limits(max_places, ttl_s)
        super().__init__(
            path, _SCHEMA, busy_timeout_s=busy_timeout_s, cache_kib=_CACHE_KIB, in_memory="memory_cache.MemoryCache"
        )
        self._max_places = max_places
        self._ttl_s = ttl_s
        self._clock = clock

    def __len__(self) -> int:
        with self.transaction() as connection:
            sql = f"SELECT count(*) FROM entry WHERE {_VALID}"
            (count,) = connection.execute(sql, self._times()).fetchone()
        return int(count)

    def read(self, space: str, places: Sequence[ChunkKey]) -> dict[ChunkKey, Entry]:
        """Return what is kept of `places` and not too old."""
        times = self._times()
        found: dict[ChunkKey, Entry] = {}
        with self.transaction() as connection:
            for place in places:
                row = connection.execute(
                    f"SELECT chunks FROM entry WHERE space = ? AND place = ? AND {_VALID}",
                    (*_row(space, place), *times),
                ).fetchone()
                entry = None if row is None else _decode(row[0])
                if entry is not None:
                    found[place] = entry
        return found

    def write(self, space: str, entries: Mapping[ChunkKey, Entry]) -> None:
        """Keep entries, and drop what is too old or too much."""
        texts = [(*_row(space, place), text) for place, text in _encode(entries)]
        with self.transaction(write=True) as connection:
            now, latest = self._times()  # not before it is this process's turn: what others wrote meanwhile is kept
            rows = [(space_row, place_row, latest, text) for space_row, place_row, text in texts]
            connection.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?)", rows)
            connection.execute(f"DELETE FROM entry WHERE NOT ({_VALID})", (now, latest))
            (count,) = connection.execute("SELECT count(*) FROM entry").fetchone()
            if count > self._max_places:
                connection.execute(
                    "DELETE FROM entry WHERE (space, place) IN "
                    "(SELECT space, place FROM entry ORDER BY expires LIMIT ?)",
                    (count - self._max_places,),
                )

    def _times(self) -> tuple[float, float]:
        """Return when an entry that is kept may expire: after now, and not later than one that is written now."""
        now = self._clock()
        return now, now + self._ttl_s


def _row(space: str, place: ChunkKey) -> tuple[str, str]:
    # as JSON in ASCII: SQLite refuses half surrogate pairs, and some of its functions stop at a NUL
    return (json.dumps(space), json.dumps(place))


def _decode(text: str) -> Entry | None:
    """Return an entry; None where another version of the package, or somebody else, wrote it: it is fetched anew."""
    try:
        records = json.loads(text)
        return tuple(chunk_from_dict(record) for record in records) if isinstance(records, list) else None
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return None


def _encode(entries: Mapping[ChunkKey, Entry]) -> Iterator[tuple[ChunkKey, str]]:
    for place, entry in entries.items():
        try:
            for chunk in entry:
                check_metadata(chunk)
            text = json.dumps([chunk_to_dict(chunk) for chunk in entry], ensure_ascii=False)
            text.encode()
        except (ChunkError, UnicodeEncodeError):
            continue  # documented: fetched anew every time
        yield place, text
