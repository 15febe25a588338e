"""A cache of chunks in the memory of one process (extra `cache`)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence

from retrivex.errors import StoreError, install_hint
from retrivex.model.chunk import ChunkKey
from retrivex.stores.cache.store import Entry

try:
    from cachetools import TTLCache
except ImportError as error:
    raise ImportError(f"caching in memory needs cachetools: {install_hint('cache')}") from error


class MemoryCache:
    """Keeps the most recently used chunks for a limited time; threads may share it.

    Parameters
    ----------
    max_places : places kept at most; those longest unused go first
    ttl_s : seconds that a place is kept
    clock : seconds, for tests

    Raises
    ------
    StoreError
        If a limit is not positive.
    """

    def __init__(
        self, max_places: int = 100_000, ttl_s: float = 300.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if isinstance(max_places, bool) or not isinstance(max_places, int) or max_places < 1:
            raise StoreError(f"max_places is {max_places!r}: it must be a whole number of at least 1")
        if isinstance(ttl_s, bool) or not isinstance(ttl_s, int | float) or not 0 < ttl_s < float("inf"):
            raise StoreError(f"ttl_s is {ttl_s!r}: it must be a positive, finite number of seconds")
        self._lock = threading.Lock()
        self._kept: TTLCache[tuple[str, ChunkKey], Entry] = TTLCache(max_places, ttl_s, clock)

    def __len__(self) -> int:
        with self._lock:
            self._kept.expire()
            return len(self._kept)

    def read(self, space: str, places: Sequence[ChunkKey]) -> dict[ChunkKey, Entry]:
        """Return what is kept of `places` and not too old."""
        with self._lock:
            found = {place: self._kept.get((space, place)) for place in places}
        return {place: entry for place, entry in found.items() if entry is not None}

    def write(self, space: str, entries: Mapping[ChunkKey, Entry]) -> None:
        """Keep entries."""
        with self._lock:
            for place, entry in entries.items():
                self._kept[space, place] = entry
