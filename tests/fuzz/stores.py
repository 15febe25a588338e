"""Stores that do not answer as asked: what they say must never decide more than which neighbours there are."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from retrivex import Chunk, ChunkMetadata, Window
from retrivex.model.chunk import ChunkKey, Scope
from retrivex.stores import InMemoryChunkStore

HONEST = ("memory", "limited", "ignores scope", "gives everything", "fails")
LYING = ("counts", "foreign", "twice", "two texts", "garbage", "no answer", "fails late", "odd limit", "odd ends")
LYING_PARENTS = ("unasked", "all alike", "garbage", "no answer", "fails")
COUNTS: tuple[Any, ...] = (0, 1, 1, 1, -5, "x", 10**30, True, 2.5, None, float("nan"))
GARBAGE: tuple[Any, ...] = (None, 7, "text", (), {}, ("a", 0), object)
ODD_LIMITS: tuple[Any, ...] = (0, -1, "x", 2.5, 10**30, True, float("nan"))
ODD_ENDS: tuple[Any, ...] = (None, 5, ["a"], {("a", 1)}, {"a": 1}, "ends", {1, None})


class OddStore:
    """A store that counts its requests, and on demand answers in other ways than asked.

    Attributes
    ----------
    steady : whether the same call gives the same again: counts that are signed and wrong hold until the tokenizer has
        counted the text itself
    """

    steady = True

    def __init__(self, chunks: Mapping[ChunkKey, Chunk], behaviour: str, limit: int | None, seed: int = 0) -> None:
        self.inner = InMemoryChunkStore(chunks.values())
        self.chunks = chunks
        self.behaviour = behaviour
        self.batch_limit: Any = limit
        self.in_process = True
        self.calls: list[tuple[Window, ...]] = []
        self.given: set[str] = set()
        self.seed = seed
        rng = random.Random(seed)
        if behaviour == "odd limit":
            self.batch_limit = rng.choice(ODD_LIMITS)
        if behaviour == "odd ends":
            self.row_ends = rng.choice(ODD_ENDS)

    @property
    def lies(self) -> bool:
        """Whether its answers cannot be told from what it was given."""
        return self.behaviour in LYING

    def fetch(self, windows: Sequence[Window], scope: Scope = None) -> Iterable[Chunk]:
        """Answer as `behaviour` says."""
        self.calls.append(tuple(windows))
        if self.behaviour == "fails":
            raise ConnectionError("no route to host")
        if self.behaviour == "ignores scope":
            return [chunk for chunk in self.chunks.values() if any(_inside(chunk, window) for window in windows)][::-1]
        if self.behaviour == "gives everything":
            return iter(self.chunks.values())
        right = self.inner.fetch(windows, scope)
        return self._lie(list(right), windows) if self.lies else right

    def _lie(self, right: list[Chunk], windows: Sequence[Window]) -> Any:
        """Answer wrongly, each time in the same way."""
        rng = random.Random(self.seed)
        match self.behaviour:
            case "foreign":
                made = right + [Chunk("not asked for", ChunkMetadata(doc_id, at)) for doc_id, at in _beside(windows)]
            case "twice":
                made = right + right[::-1]
            case "two texts":
                made = right + [replace(chunk, text=chunk.text + " or so", metadata=_bare(chunk)) for chunk in right]
            case "garbage":
                made = [*right, *rng.sample(GARBAGE, 2)]
                rng.shuffle(made)
            case "no answer":
                return rng.choice((None, 5, object()))
            case "fails late":
                return _fail_late(right)
            case _:
                made = right
        self.given |= {chunk.text for chunk in made if isinstance(chunk, Chunk)}
        return made


class CountingStore(OddStore):
    """An odd store that says how many tokens its chunks have; no count of its can be trusted."""

    def fetch_counted(
        self, windows: Sequence[Window], scope: Scope = None, *, tokenizer: str
    ) -> Iterator[tuple[Chunk, Any]]:
        """Return chunks with counts that were never made."""
        rng = random.Random(self.seed)
        kind = rng.choice(COUNTS)
        for chunk in self.fetch(windows, scope):
            yield chunk, rng.choice((kind, kind, len(chunk.text.split())))


class OddParents:
    """A parent store that answers in other ways than asked."""

    def __init__(self, parents: Mapping[str, Chunk | str], behaviour: str, seed: int) -> None:
        self.parents = parents
        self.behaviour = behaviour
        self.seed = seed
        self.in_process = True

    def fetch_parents(self, parent_ids: Sequence[str], scope: Scope = None) -> Any:
        """Answer as `behaviour` says."""
        right: dict[Any, Any] = {name: self.parents[name] for name in parent_ids if name in self.parents}
        rng = random.Random(self.seed)
        match self.behaviour:
            case "unasked":
                return {**self.parents, "other": "a parent nobody asked for", **right}
            case "all alike":
                return dict.fromkeys(parent_ids, next(iter(right.values()), "one text for all"))
            case "garbage":
                return {**right, rng.choice((None, 7, *parent_ids)): rng.choice(GARBAGE)}
            case "no answer":
                return rng.choice((None, 5, [("a", "text")], object()))
            case _:
                raise ConnectionError("no route to host")


def make_store(rng: random.Random, chunks: Mapping[ChunkKey, Chunk], kind: str) -> Any:
    """Return a store of a kind; `dict` is the mapping itself."""
    if kind == "dict":
        return chunks
    limit = rng.choice((1, 2, 7)) if kind == "limited" else None
    return (CountingStore if kind == "counts" else OddStore)(chunks, kind, limit, rng.randrange(1000))


def _inside(chunk: Chunk, window: Window) -> bool:
    return chunk.metadata.doc_id == window.doc_id and chunk.metadata.chunk_id in window


def _beside(windows: Sequence[Window]) -> list[ChunkKey]:
    """Places of no window: behind each, and in a document nobody named."""
    taken = {(window.doc_id, at) for window in windows for at in (window.end, window.end + 1)}
    return [key for key in sorted(taken) if not any(key[0] == w.doc_id and key[1] in w for w in windows)] + [("z", 0)]


def _bare(chunk: Chunk) -> ChunkMetadata:
    return replace(chunk.metadata, char_start=None, char_end=None)


def _fail_late(chunks: Sequence[Chunk]) -> Iterator[Chunk]:
    yield from chunks[: len(chunks) // 2]
    raise ConnectionError("connection reset by peer")
