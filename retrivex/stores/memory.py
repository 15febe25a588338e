"""The in-memory store: chunks in dictionaries, for tests, notebooks and small collections."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from retrivex.errors import StoreError
from retrivex.merging.intervals import merge_windows
from retrivex.model.chunk import Chunk, ChunkKey, Scope, allowed_scopes
from retrivex.model.window import Window

_FEW = 1000  # places that are looked up whatever a mapping says of its size: it may make its chunks when asked


def index_chunks(chunks: Iterable[Chunk]) -> dict[ChunkKey, Chunk]:
    """Return `chunks` by their keys; the same chunk given twice counts once.

    Raises
    ------
    StoreError
        If two chunks share `(doc_id, chunk_id)` and differ in text.
    """
    by_key: dict[ChunkKey, Chunk] = {}
    for chunk in chunks:
        known = by_key.setdefault(chunk.key, chunk)
        if known.text != chunk.text:
            texts = f"{known.text[:40]!r}, {chunk.text[:40]!r}"
            raise StoreError(f"two chunks share the id {chunk.key!r} but not the text ({texts}): number them 0, 1, 2")
    return by_key


def fetch_from_mapping(mapping: Mapping[ChunkKey, Chunk], windows: Sequence[Window]) -> list[Chunk]:
    """Return the chunks of `windows` that `mapping` holds, in the order of `windows`.

    One look-up an id and no scope check: the composer checks every chunk it fetched anyway. An entry under the key of
    another chunk is left alone.

    Examples
    --------
    >>> from retrivex.model.chunk import ChunkMetadata
    >>> store = {("d", i): Chunk(f"text {i}", ChunkMetadata("d", i)) for i in range(3)}
    >>> [chunk.text for chunk in fetch_from_mapping(store, [Window("d", 1, 9)])]
    ['text 1', 'text 2']
    """
    found: list[Chunk] = []
    get, limit = mapping.get, max(len(mapping), _FEW)
    for window in windows:
        doc_id, start, end = window.doc_id, max(window.start, 0), window.end
        if end - start > limit:
            # "the whole document" is often asked for as range(0, huge): walk what is there, not what might be
            ids: Iterable[int] = sorted(key[1] for key in mapping if key[0] == doc_id and start <= key[1] < end)
        else:
            ids = range(start, end)
        for chunk_id in ids:
            chunk = get((doc_id, chunk_id))
            if chunk is not None and chunk.metadata.chunk_id == chunk_id and chunk.metadata.doc_id == doc_id:
                found.append(chunk)
    return found


class InMemoryChunkStore:
    """A `ChunkStore` over chunks held in memory; changing a store means building a new one.

    Parameters
    ----------
    chunks : of any number of documents, in any order
    parents : sections or whole documents by `parent_id`. A parent given as plain text carries no scope, so only
        callers who may see unscoped chunks get it.

    Raises
    ------
    StoreError
        If two chunks share `(doc_id, chunk_id)` and differ in text.

    Examples
    --------
    >>> from retrivex.model.chunk import ChunkMetadata
    >>> store = InMemoryChunkStore(Chunk(f"text {i}", ChunkMetadata("d", i)) for i in range(5))
    >>> [chunk.text for chunk in store.fetch([Window("d", 1, 3)])]
    ['text 1', 'text 2']
    """

    in_process = True

    def __init__(self, chunks: Iterable[Chunk], parents: Mapping[str, Chunk | str] | None = None) -> None:
        self._chunks = index_chunks(chunks)
        self._parents = dict(parents or {})
        self._ids: dict[str, list[int]] = {}
        for doc_id, chunk_id in sorted(self._chunks):
            self._ids.setdefault(doc_id, []).append(chunk_id)

    def __len__(self) -> int:
        return len(self._chunks)

    def fetch(self, windows: Sequence[Window], scope: Scope = None) -> list[Chunk]:
        """Return every chunk of `windows` that exists and `scope` may see, by document and chunk id."""
        allowed = allowed_scopes(scope)
        found: list[Chunk] = []
        for window in merge_windows(windows):
            ids = self._ids.get(window.doc_id, [])
            here = ids[bisect_left(ids, window.start) : bisect_left(ids, window.end)]
            found.extend(self._chunks[window.doc_id, chunk_id] for chunk_id in here)
        return [chunk for chunk in found if chunk.metadata.scope in allowed]

    async def afetch(self, windows: Sequence[Window], scope: Scope = None) -> list[Chunk]:
        """Do the same as `fetch`; nothing in it waits."""
        return self.fetch(windows, scope)

    def fetch_parents(self, parent_ids: Sequence[str], scope: Scope = None) -> dict[str, Chunk | str]:
        """Return the parents that exist and `scope` may see."""
        allowed = allowed_scopes(scope)
        found = {parent_id: self._parents[parent_id] for parent_id in parent_ids if parent_id in self._parents}
        return {
            parent_id: parent
            for parent_id, parent in found.items()
            if (parent.metadata.scope if isinstance(parent, Chunk) else None) in allowed
        }
