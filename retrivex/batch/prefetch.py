"""The store of a batch: what many calls need is asked for together, and each call then finds it in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, TypeAlias, TypeVar

from retrivex.errors import StoreError, describe_cause
from retrivex.merging.intervals import merge_windows
from retrivex.model.chunk import Chunk, ChunkKey, Scope, allowed_scopes
from retrivex.model.window import Window
from retrivex.stores.access import cannot_hang, split_windows
from retrivex.stores.memory import fetch_from_mapping
from retrivex.stores.protocol import ChunkStore, ParentStore
from retrivex.timeouts import call_in_time
from retrivex.tokens.stored import StoredCount

MOST_AT_ONCE = 5_000
"""Chunks that one request asks for, where the store's own limit is not lower."""

Counted: TypeAlias = tuple[Chunk, StoredCount | None]
_T = TypeVar("_T")


@dataclass(slots=True)
class _Known:
    """What is known of a store for one set of scopes: chunks by place, and windows that were asked for."""

    chunks: dict[str, dict[int, list[Counted]]] = field(default_factory=dict)
    asked: dict[str, list[Window]] = field(default_factory=dict)

    def missing(self, windows: Iterable[Window]) -> list[Window]:
        """Return the windows that were not asked for yet, merged."""
        return merge_windows(window for window in windows if len(window) and not self._has(window))

    def _has(self, window: Window) -> bool:
        asked = self.asked.get(window.doc_id, ())
        return any(known.start <= window.start and window.end <= known.end for known in asked)

    def add(self, windows: Sequence[Window], found: Iterable[Counted]) -> None:
        """Take what a store answered to a request for these windows."""
        for chunk, count in found:
            doc_id, chunk_id = chunk.key
            same = self.chunks.setdefault(doc_id, {}).setdefault(chunk_id, [])
            # a store may give a chunk again, and another text or scope under its key
            if all((chunk.text, chunk.metadata.scope) != (one.text, one.metadata.scope) for one, _ in same):
                same.append((chunk, count))
        for window in windows:
            self.asked[window.doc_id] = merge_windows([*self.asked.get(window.doc_id, ()), window])

    def inside(self, windows: Iterable[Window]) -> Iterator[Counted]:
        """Yield the chunks of windows, by document and number."""
        for window in windows:
            of_document = self.chunks.get(window.doc_id, {})
            is_wide = len(window) > len(of_document)
            ids = sorted(n for n in of_document if n in window) if is_wide else range(window.start, window.end)
            yield from chain.from_iterable(of_document.get(n, ()) for n in ids)


class BatchStore:
    """A store in front of another one, for the calls of a batch: it asks for many windows in one request.

    What was not asked for in advance is asked for when a call wants it, so that a call gets what it would get from the
    store itself. A failure of the store is kept in `failures`: a batch must not go on without neighbours. It has
    `fetch_parents` where the store has.

    Parameters
    ----------
    store : where chunks are
    tokenizer : whose stored counts are taken along
    timeout_s : to wait for one request; None waits
    """

    in_process = True  # it keeps the time itself

    fetch_parents: Callable[..., dict[str, Chunk | str]]

    def __init__(self, store: ChunkStore, tokenizer: str, timeout_s: float | None) -> None:
        self.store = store
        self.tokenizer = tokenizer
        self.requests = 0
        self.failures: list[StoreError] = []
        self._own: Mapping[ChunkKey, Chunk] = {}
        self._timeout_s = None if cannot_hang(store) else timeout_s
        self._known: defaultdict[frozenset[str | None], _Known] = defaultdict(_Known)
        if isinstance(store, ParentStore):
            self.fetch_parents = self._fetch_parents

    def with_own(self, own: Mapping[ChunkKey, Chunk]) -> BatchStore:
        """Return the same store with chunks that a row brings, each in place of the store's."""
        made = copy(self)
        made._own = own
        return made

    @property
    def row_ends(self) -> Collection[ChunkKey]:
        """As the store itself has them."""
        ends: Collection[ChunkKey] = getattr(self.store, "row_ends", frozenset())
        return ends

    def load(self, windows: Iterable[Window], scope: Scope) -> None:
        """Ask for the chunks of windows, in as few requests as the store allows; what is known is not asked again.

        Raises
        ------
        StoreError
            If the store fails.
        """
        known = self._of(scope)
        limit = min(getattr(self.store, "batch_limit", None) or MOST_AT_ONCE, MOST_AT_ONCE)
        missing = known.missing(windows)
        for batch in split_windows(missing, limit) if missing else ():
            known.add(batch, self._ask(partial(self._fetch, batch, scope)))

    def chunks(self, scope: Scope) -> dict[ChunkKey, Chunk]:
        """Return what was loaded and `scope` may see, by key; of several texts the one that the composer takes."""
        allowed = allowed_scopes(scope)
        found: dict[ChunkKey, Chunk] = {}
        for chunk in self._loaded(scope):
            known = found.get(chunk.key)
            if chunk.metadata.scope in allowed and (known is None or chunk.text < known.text):
                found[chunk.key] = chunk
        return found

    def fetch(self, windows: Sequence[Window], scope: Scope = None) -> list[Chunk]:
        """Return the chunks of `windows`."""
        return [chunk for chunk, _ in self.fetch_counted(windows, scope, tokenizer="")]

    def fetch_counted(self, windows: Sequence[Window], scope: Scope = None, *, tokenizer: str) -> list[Counted]:
        """Return the chunks of `windows` with the counts that the tokenizer of the batch made at index time."""
        self.load(windows, scope)
        own = {chunk.key: chunk for chunk in fetch_from_mapping(self._own, windows)}
        stored = [pair for pair in self._of(scope).inside(windows) if pair[0].key not in own]
        if tokenizer != self.tokenizer:
            stored = [(chunk, None) for chunk, _ in stored]
        return [*stored, *((chunk, None) for chunk in own.values())]

    def _fetch_parents(self, parent_ids: Sequence[str], scope: Scope = None) -> dict[str, Chunk | str]:
        store: Any = self.store
        return self._ask(lambda: dict(store.fetch_parents(parent_ids, scope)))

    def _of(self, scope: Scope) -> _Known:
        return self._known[allowed_scopes(scope)]

    def _loaded(self, scope: Scope) -> Iterator[Chunk]:
        for of_document in self._of(scope).chunks.values():
            yield from (chunk for same in of_document.values() for chunk, _ in same)

    def _fetch(self, windows: Sequence[Window], scope: Scope) -> list[Counted]:
        counted = getattr(self.store, "fetch_counted", None)
        if counted is None:
            found: list[Counted] = [(chunk, None) for chunk in self.store.fetch(windows, scope)]
        else:
            found = list(counted(windows, scope, tokenizer=self.tokenizer))
        for chunk, _ in found:
            if not isinstance(chunk, Chunk):
                raise StoreError(f"fetch returned {type(chunk).__name__}: a chunk store gives Chunk objects")
        return found

    def _ask(self, request: Callable[[], _T]) -> _T:
        self.requests += 1
        try:
            return call_in_time(request, self._timeout_s)
        except Exception as error:  # a store is somebody else's code
            said = str(error) if isinstance(error, StoreError) else f"the store failed: {describe_cause(error)}"
            self.failures.append(StoreError(said))
            raise self.failures[-1] from error
