"""The protocols of stores: one method, one request, whatever the number of seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from retrivex.model.chunk import Chunk, ChunkKey, Scope
from retrivex.model.window import Window


@runtime_checkable
class ChunkStore(Protocol):
    """Returns the chunks of windows.

    Optional members that are used where a store has them: `afetch` (the same, awaited), `batch_limit` (most
    chunks one request may ask for; the composer then sends `ceil(n / batch_limit)` requests), `in_process`
    (True where `fetch` cannot block, so that no time-out is needed), `row_ends` (places without a chunk where
    nothing is missing, as between two rows of numbers: no warning names them), `fetch_parents`, and
    `fetch_counted(windows, scope, *, tokenizer)`, which gives `(chunk, StoredCount or None)` pairs with the counts
    that the named tokenizer made at index time, see `retrivex.tokens.StoredCount` (awaited: `afetch_counted`).
    """

    def fetch(self, windows: Sequence[Window], scope: Scope = None) -> Iterable[Chunk]:
        """Return every chunk of `windows` that exists and `scope` may see, in any order, in one request."""


@runtime_checkable
class ParentStore(Protocol):
    """Returns parents (sections, whole documents) by id."""

    def fetch_parents(self, parent_ids: Sequence[str], scope: Scope = None) -> Mapping[str, Chunk | str]:
        """Return the parents that exist and `scope` may see, in one request."""


AnyChunkStore: TypeAlias = ChunkStore | Mapping[ChunkKey, Chunk]
"""What a composer takes as `chunk_store`: a store, or a plain mapping."""

AnyParentStore: TypeAlias = ParentStore | Mapping[str, "Chunk | str"]
"""What a composer takes as `parent_store`: a store, or a plain mapping."""
