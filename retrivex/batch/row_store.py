"""The store of a row: the chunks that it brings in front of the store of all rows, whose failure ends a batch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from retrivex.errors import StoreError, describe_cause
from retrivex.merging.intervals import merge_windows
from retrivex.model.chunk import Chunk, ChunkKey, Scope, allowed_scopes
from retrivex.model.window import Window
from retrivex.stores.access import cannot_hang, split_windows
from retrivex.stores.memory import fetch_from_mapping
from retrivex.stores.protocol import ChunkStore, ParentStore
from retrivex.timeouts import call_in_time
from retrivex.tokens.stored import StoredCount

_T = TypeVar("_T")


class RowStore:
    """A store in front of another one, which keeps a failure of it: a batch must not go on without neighbours.

    It has `fetch_counted` and `fetch_parents` where the store has.

    Parameters
    ----------
    store : where chunks are
    timeout_s : to wait for one request; None waits
    """

    in_process = True  # it keeps the time itself

    def __init__(self, store: ChunkStore, timeout_s: float | None) -> None:
        self.own: Mapping[ChunkKey, Chunk] = {}
        self.failure: StoreError | None = None
        self.row_ends: Collection[ChunkKey] = getattr(store, "row_ends", frozenset())
        self.batch_limit = getattr(store, "batch_limit", None)
        self._store: Any = store
        self._timeout_s = None if cannot_hang(store) else timeout_s
        if hasattr(store, "fetch_counted"):
            self.fetch_counted = self._fetch_counted
        if isinstance(store, ParentStore):
            self.fetch_parents = self._fetch_parents

    def find(self, windows: Iterable[Window], scope: Scope) -> dict[ChunkKey, Chunk]:
        """Return what is in windows and `scope` may see, by key; of several texts the one that the composer takes."""
        allowed, found = allowed_scopes(scope), dict[ChunkKey, Chunk]()
        for batch in split_windows(merge_windows(windows), self.batch_limit):
            for chunk in self._ask(partial(self._fetch, batch, scope)):
                known = found.get(chunk.key)
                if chunk.metadata.scope in allowed and (known is None or chunk.text < known.text):
                    found[chunk.key] = chunk
        return found

    def fetch(self, windows: Sequence[Window], scope: Scope = None) -> list[Chunk]:
        """Return the chunks of `windows`."""
        found = self._ask(partial(self._fetch, windows, scope))
        return [*(chunk for chunk in found if chunk.key not in self.own), *fetch_from_mapping(self.own, windows)]

    def _fetch(self, windows: Sequence[Window], scope: Scope) -> list[Chunk]:
        found = list(self._store.fetch(windows, scope))
        if not all(isinstance(chunk, Chunk) for chunk in found):
            raise StoreError("fetch returned something else than chunks: a chunk store gives Chunk objects")
        return found

    def _fetch_counted(
        self, windows: Sequence[Window], scope: Scope = None, *, tokenizer: str
    ) -> list[tuple[Chunk, StoredCount | None]]:
        found = self._ask(lambda: list(self._store.fetch_counted(windows, scope, tokenizer=tokenizer)))
        own = [(chunk, None) for chunk in fetch_from_mapping(self.own, windows)]
        return [*(pair for pair in found if pair[0].key not in self.own), *own]

    def _fetch_parents(self, parent_ids: Sequence[str], scope: Scope = None) -> dict[str, Chunk | str]:
        return self._ask(lambda: dict(self._store.fetch_parents(parent_ids, scope)))

    def _ask(self, request: Callable[[], _T]) -> _T:
        try:
            return call_in_time(request, self._timeout_s)
        except Exception as error:  # a store is somebody else's code
            said = str(error) if isinstance(error, StoreError) else f"the store failed: {describe_cause(error)}"
            self.failure = StoreError(said)
            raise self.failure from error
