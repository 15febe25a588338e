"""A chunk store that caches the answers of another one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, Protocol, TypeAlias

from retrivex.errors import StoreError
from retrivex.merging.intervals import merge_windows
from retrivex.model.chunk import Chunk, ChunkKey, Scope, allowed_scopes
from retrivex.model.window import Window
from retrivex.stores.protocol import ChunkStore
from retrivex.timeouts import in_thread

logger = logging.getLogger("retrivex.stores")

Entry: TypeAlias = tuple[Chunk, ...]
"""What a store holds at one place: usually one chunk, none where there is none."""

_MOST_PLACES = 100_000
_PASSED_ON = ("fetch_parents", "batch_limit", "row_ends", "locate")


class ChunkCache(Protocol):
    """Keeps entries for a limited time, separately for each `space`: no space sees another's entries."""

    def read(self, space: str, places: Sequence[ChunkKey]) -> Mapping[ChunkKey, Entry]:
        """Return the entries of `places` that are there and not too old."""

    def write(self, space: str, entries: Mapping[ChunkKey, Entry]) -> None:
        """Keep entries, the oldest making room."""


class CachedChunkStore:
    """A chunk store that requests from another one only the chunks that are not cached, in one request.

    Places without a chunk are kept too; failures are not. What is kept for one set of scopes is never given to another,
    and the scope of every chunk is checked again.

    Parameters
    ----------
    store : what is asked
    cache : `MemoryCache`, or one of your own; also several stores' at once
    name : of the store and its collection, so that stores which share a cache do not mix
    version : of the collection; another one finds nothing of the last. A function is called at every fetch.

    Raises
    ------
    StoreError
        If `name` is empty, or `store` has no `fetch`.

    Examples
    --------
    >>> from retrivex.model.chunk import ChunkMetadata
    >>> from retrivex.stores.memory import InMemoryChunkStore
    >>> class Plain(dict):
    ...     def read(self, space, places):
    ...         return {place: self[space, place] for place in places if (space, place) in self}
    ...     def write(self, space, entries):
    ...         self.update({(space, place): entry for place, entry in entries.items()})
    >>> store = CachedChunkStore(InMemoryChunkStore([Chunk("Bees.", ChunkMetadata("d", 0))]), Plain(), name="notes")
    >>> [chunk.text for chunk in store.fetch([Window("d", 0, 2)])]
    ['Bees.']
    """

    in_process = False

    def __init__(
        self, store: ChunkStore, cache: ChunkCache, *, name: str, version: str | Callable[[], str] = ""
    ) -> None:
        if not isinstance(store, ChunkStore):
            raise StoreError(f"store is {type(store).__name__}: give what has fetch(windows, scope)")
        if not isinstance(name, str) or not name:
            raise StoreError(f"name is {name!r}: name the store and its collection, so that caches do not mix")
        self.store = store
        self.cache = cache
        self.name = name
        self._version = version
        self._warnings: dict[str, None] = {}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What went wrong with the cache, and what the store behind it says."""
        return (*self._warnings, *getattr(self.store, "warnings", ()))

    def __getattr__(self, name: str) -> Any:
        # only members that the composer looks for, and only where the store has them
        if name in _PASSED_ON:
            return getattr(self.store, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def fetch(self, windows: Sequence[Window], scope: Scope = None) -> list[Chunk]:
        """Return every chunk of `windows` that exists and `scope` may see; what is missing in the cache is fetched.

        Raises
        ------
        StoreError
            If the store fails, or `windows` hold more than 100,000 places. A cache that fails is passed by: `warnings`
            says so.
        """
        space, places = self._space(scope), _places(windows)
        known = self._read(space, places)
        missing = merge_windows(Window(doc_id, n, n + 1) for doc_id, n in places if (doc_id, n) not in known)
        if missing:
            fresh = _entries(missing, self.store.fetch(missing, scope))
            self._write(space, fresh)
            known |= fresh
        allowed = allowed_scopes(scope)
        return [chunk for place in places for chunk in known.get(place, ()) if chunk.metadata.scope in allowed]

    async def afetch(self, windows: Sequence[Window], scope: Scope = None) -> list[Chunk]:
        """Do the same as `fetch` in a thread."""
        return await in_thread(partial(self.fetch, windows, scope))

    def _read(self, space: str, places: Sequence[ChunkKey]) -> dict[ChunkKey, Entry]:
        try:
            return dict(self.cache.read(space, places))
        except StoreError as error:
            self._warn(error)
            return {}

    def _write(self, space: str, entries: Mapping[ChunkKey, Entry]) -> None:
        try:
            self.cache.write(space, entries)
        except StoreError as error:
            self._warn(error)

    def _warn(self, error: StoreError) -> None:
        # a cache that fails costs time, not neighbours
        warning = f"the cache of {self.name} was passed by ({error})"
        if warning not in self._warnings:
            self._warnings[warning] = None
            logger.warning("%s", warning)

    def _space(self, scope: Scope) -> str:
        version = self._version() if callable(self._version) else self._version
        # repr keeps a scope named "None" apart from no scope, and quotes whatever a name holds
        return repr((self.name, version, sorted(allowed_scopes(scope), key=lambda name: (name is None, name or ""))))


def _places(windows: Sequence[Window]) -> list[ChunkKey]:
    merged = merge_windows(windows)
    count = sum(len(window) for window in merged)
    if count > _MOST_PLACES:
        raise StoreError(f"windows ask for {count} chunks: at most {_MOST_PLACES} in one call; ask for less")
    return [(window.doc_id, n) for window in merged for n in range(max(window.start, 0), window.end)]


def _entries(windows: Sequence[Window], found: Iterable[Chunk]) -> dict[ChunkKey, Entry]:
    """Return an entry for every place that was asked for; what nobody asked for is left out."""
    entries: dict[ChunkKey, Entry] = {(w.doc_id, n): () for w in windows for n in range(w.start, w.end)}
    for key, chunks in groupby(sorted(found, key=lambda chunk: chunk.key), key=lambda chunk: chunk.key):
        if key in entries:
            entries[key] = tuple(chunks)
    return entries
