"""The store of a batch: what many calls need is asked for together, and each call then finds it in memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, TypeAlias, TypeVar

from retrivex.composer.request_hits import LayeredStore
from retrivex.errors import StoreError, describe_cause
from retrivex.merging.intervals import merge_windows
from retrivex.model.chunk import Chunk, ChunkKey, Scope, allowed_scopes
from retrivex.model.window import Window
from retrivex.stores.access import cannot_hang, split_windows
from retrivex.stores.protocol import ChunkStore, ParentStore
from retrivex.timeouts import call_in_time
from retrivex.tokens.stored import StoredCount

MOST_AT_ONCE = 5_000
"""Chunks that one request asks for, where the store's own limit is not lower."""

Counted: TypeAlias = tuple[Chunk, StoredCount | None]
_T = TypeVar("_T")


@dataclass(slots=True)
class _Known:
    """What is known of a store for one set of scopes: chunks by place, places that were asked for, parents."""

    chunks: dict[str, dict[int, list[Counted]]] = field(default_factory=dict)
    asked: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    parents: dict[str, Chunk | str | None] = field(default_factory=dict)

    def missing(self, windows: Iterable[Window]) -> list[Window]:
        """Return the parts of windows that were not asked for yet, merged."""
        return merge_windows(part for window in windows for part in _outside(window, self.asked.get(window.doc_id, ())))

    def add(self, windows: Sequence[Window], found: Iterable[Counted]) -> None:
        """Take what a store answered to a request for these windows."""
        for chunk, count in found:
            doc_id, chunk_id = chunk.key
            same = self.chunks.setdefault(doc_id, {}).setdefault(chunk_id, [])
            if not any(_is_same(chunk, known) for known, _ in same):
                same.append((chunk, count))
        for doc_id in {window.doc_id for window in windows}:
            known = [Window(doc_id, *pair) for pair in self.asked.get(doc_id, ())]
            merged = merge_windows([*known, *(window for window in windows if window.doc_id == doc_id)])
            self.asked[doc_id] = [(window.start, window.end) for window in merged]

    def inside(self, windows: Iterable[Window]) -> Iterator[Counted]:
        """Yield the chunks of windows, by document and number."""
        for window in windows:
            of_document = self.chunks.get(window.doc_id, {})
            if len(window) > len(of_document):
                ids: Iterable[int] = sorted(n for n in of_document if n in window)
            else:
                ids = range(window.start, window.end)
            yield from chain.from_iterable(of_document.get(n, ()) for n in ids)


def _is_same(chunk: Chunk, other: Chunk) -> bool:
    """Whether a store gave the same chunk again, and not another text or scope under its key."""
    return chunk.text == other.text and chunk.metadata.scope == other.metadata.scope


def _outside(window: Window, asked: Sequence[tuple[int, int]]) -> Iterator[Window]:
    """Yield the parts of a window outside of intervals, which are sorted and apart."""
    start = window.start
    for low, high in asked[max(0, bisect_right(asked, (start,)) - 1) :]:
        if low >= window.end:
            break
        if low > start:
            yield Window(window.doc_id, start, low)
        start = max(start, high)
    if start < window.end:
        yield Window(window.doc_id, start, window.end)


class BatchStore:
    """A store in front of another one, for the calls of a batch: it asks for many windows in one request.

    What was not asked for in advance is asked for when a call wants it, so that a call gets what it would get from the
    store itself. A failure of the store is kept in `failure`: a batch must not go on without neighbours.

    Parameters
    ----------
    store : where chunks are
    tokenizer : whose stored counts are taken along
    timeout_s : to wait for one request; None waits
    """

    in_process = True  # it keeps the time itself

    def __init__(self, store: ChunkStore, tokenizer: str, timeout_s: float | None) -> None:
        self.store = store
        self.tokenizer = tokenizer
        self.requests = 0
        self.failure: StoreError | None = None
        self._timeout_s = None if cannot_hang(store) else timeout_s
        self._known: dict[frozenset[str | None], _Known] = {}

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
        for of_document in self._of(scope).chunks.values():
            for same in of_document.values():
                seen = [chunk for chunk, _ in same if chunk.metadata.scope in allowed]
                if seen:
                    best = min(seen, key=lambda chunk: chunk.text)
                    found[best.key] = best
        return found

    def fetch(self, windows: Sequence[Window], scope: Scope = None) -> list[Chunk]:
        """Return the chunks of `windows`."""
        self.load(windows, scope)
        return [chunk for chunk, _ in self._of(scope).inside(windows)]

    def fetch_counted(self, windows: Sequence[Window], scope: Scope = None, *, tokenizer: str) -> list[Counted]:
        """Return the chunks of `windows` with the counts that the tokenizer of the batch made at index time."""
        self.load(windows, scope)
        counted = self._of(scope).inside(windows)
        return list(counted) if tokenizer == self.tokenizer else [(chunk, None) for chunk, _ in counted]

    def _of(self, scope: Scope) -> _Known:
        return self._known.setdefault(allowed_scopes(scope), _Known())

    def _fetch(self, windows: Sequence[Window], scope: Scope) -> list[Counted]:
        counted = getattr(self.store, "fetch_counted", None)
        if counted is None:
            found: list[Counted] = [(chunk, None) for chunk in self.store.fetch(windows, scope)]
        else:
            found = list(counted(windows, scope, tokenizer=self.tokenizer))
        for chunk, _ in found:
            if not isinstance(chunk, Chunk):
                raise StoreError(
                    f"fetch returned {type(chunk).__name__}: a chunk store gives Chunk objects, nothing else"
                )
        return found

    def _ask(self, request: Callable[[], _T]) -> _T:
        self.requests += 1
        try:
            return call_in_time(request, self._timeout_s)
        except Exception as error:  # a store is somebody else's code
            said = str(error) if isinstance(error, StoreError) else f"the store failed: {describe_cause(error)}"
            self.failure = StoreError(said)
            raise self.failure from error


class BatchStoreWithParents(BatchStore):
    """The same for a store that has parents."""

    store: Any

    def load_parents(self, scope: Scope) -> None:
        """Ask for the parents that loaded chunks name, in one request.

        Raises
        ------
        StoreError
            If the store fails.
        """
        chunks = chain.from_iterable(of_document.values() for of_document in self._of(scope).chunks.values())
        self._load_parents({chunk.metadata.parent_id for same in chunks for chunk, _ in same}, scope)

    def fetch_parents(self, parent_ids: Sequence[str], scope: Scope = None) -> dict[str, Chunk | str]:
        """Return the parents that exist and `scope` may see."""
        self._load_parents(parent_ids, scope)
        known = self._of(scope).parents
        return {name: parent for name in parent_ids if (parent := known[name]) is not None}

    def _load_parents(self, names: Iterable[str | None], scope: Scope) -> None:
        known = self._of(scope).parents
        missing = sorted({name for name in names if name is not None} - known.keys())
        if missing:
            found = self._ask(lambda: self.store.fetch_parents(missing, scope))
            if not isinstance(found, Mapping):
                self.failure = StoreError(
                    f"fetch_parents returned {type(found).__name__}: it gives a dict {{parent_id: text}}"
                )
                raise self.failure
            known.update((name, found.get(name)) for name in missing)


def make_batch_store(store: ChunkStore, tokenizer: str, timeout_s: float | None) -> BatchStore:
    """Return a store for the calls of a batch; parameters as in `BatchStore`."""
    kind = BatchStoreWithParents if isinstance(store, ParentStore) else BatchStore
    return kind(store, tokenizer, timeout_s)


class OwnFirst:
    """The chunks that a row brings, in front of the store of the batch.

    Parameters
    ----------
    own : chunks by key, of the row
    store : of the batch
    """

    in_process = True

    def __init__(self, own: Mapping[ChunkKey, Chunk], store: BatchStore) -> None:
        self._own = LayeredStore(own, {})
        self._store = store

    @property
    def row_ends(self) -> Collection[ChunkKey]:
        """As the store has them."""
        return self._store.row_ends

    def fetch_counted(self, windows: Sequence[Window], scope: Scope = None, *, tokenizer: str) -> list[Counted]:
        """Return the chunks of `windows`; one that the row brings hides the store's."""
        own = {chunk.key: chunk for chunk in self._own.fetch(windows, scope)}
        stored = self._store.fetch_counted(windows, scope, tokenizer=tokenizer)
        return [*(pair for pair in stored if pair[0].key not in own), *((chunk, None) for chunk in own.values())]

    def fetch(self, windows: Sequence[Window], scope: Scope = None) -> list[Chunk]:
        """Do the same as `fetch_counted`, without counts."""
        return [chunk for chunk, _ in self.fetch_counted(windows, scope, tokenizer="")]


class OwnFirstWithParents(OwnFirst):
    """The same in front of a store that has parents."""

    _store: BatchStoreWithParents

    def fetch_parents(self, parent_ids: Sequence[str], scope: Scope = None) -> dict[str, Chunk | str]:
        """Return the parents that the store has."""
        return self._store.fetch_parents(parent_ids, scope)


def with_own(own: Mapping[ChunkKey, Chunk], store: BatchStore) -> BatchStore | OwnFirst:
    """Return the store of a row that brings chunks of its own, or none."""
    if not own:
        return store
    return OwnFirstWithParents(own, store) if isinstance(store, BatchStoreWithParents) else OwnFirst(own, store)
