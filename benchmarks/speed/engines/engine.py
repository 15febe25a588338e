"""What `benchmarks/speed/adapters.py` measures of a store, whichever it is."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from retrivex import Chunk, ChunkMetadata, SeedHit
from retrivex.model.window import Window

CHUNKS_PER_DOCUMENT = 50
DIMENSION = 8  # neighbours do not depend on vectors
SEEDS, RADIUS = 20, 2

Key = tuple[str, int]


class Meter:
    """Counts the calls of some methods of an object and the time in them; calls that they make themselves are theirs.

    Parameters
    ----------
    target : its methods are replaced
    names : of methods that send one request each
    """

    def __init__(self, target: Any, *names: str) -> None:
        self.calls, self.seconds = 0, 0.0
        self._inside = False
        for name in names:
            setattr(target, name, self._noted(getattr(target, name)))

    def _noted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **kwargs: Any) -> Any:
            if self._inside:
                return call(*args, **kwargs)
            self._inside = True
            began = time.perf_counter()
            try:
                return call(*args, **kwargs)
            finally:
                self._inside = False
                self.calls += 1
                self.seconds += time.perf_counter() - began

        return noted


@dataclass(frozen=True)
class Way:
    """One way to ask a store for neighbours.

    Parameters
    ----------
    name : how, for the table
    store : the chunk store
    meter : of the requests that it sends
    peer, peer_name : what a framework has for the same: a function from seeds to the keys of all it returns. None
        stands for a request for each neighbour, sent the same way.
    """

    name: str
    store: Any
    meter: Meter
    peer: Callable[[Sequence[Chunk]], Iterable[Key]] | None = None
    peer_name: str = "one request a neighbour"


@dataclass(frozen=True)
class Engine:
    """A store that is running and filled.

    Parameters
    ----------
    version : of what holds the records
    ways : an iterator: what has to be made for a way (an index) is made when its turn comes
    nearest : asks for the 20 records nearest to a vector; None where that is not measured
    """

    version: str
    ways: Iterable[Way]
    nearest: Callable[[list[float]], Any] | None = None


@dataclass(frozen=True)
class Question:
    """Seeds at random places, and what is around them."""

    seeds: list[Chunk]
    windows: list[Window]
    keys: set[Key]
    neighbours: list[Key] = field(default_factory=list)

    @property
    def hits(self) -> list[SeedHit]:
        """The seeds as a retriever gives them, best first."""
        return [SeedHit(chunk, 1 / (at + 1)) for at, chunk in enumerate(self.seeds)]


def made_chunks(count: int) -> list[Chunk]:
    """Return `count` chunks of 200 characters on average, seeded, in documents of 50."""
    draws = random.Random(1)
    words = ["".join(draws.choices("abcdefghijklmnopqrstuvwxyz", k=draws.randint(2, 10))) for _ in range(5_000)]
    texts = [" ".join(draws.choices(words, k=28)) for _ in range(2_000)]
    vectors = np.random.default_rng(1).standard_normal((count, DIMENSION), dtype=np.float32)
    made = []
    for at in range(count):
        document, number = divmod(at, CHUNKS_PER_DOCUMENT)
        size = min(CHUNKS_PER_DOCUMENT, count - document * CHUNKS_PER_DOCUMENT)
        place = ChunkMetadata(f"folder/document-{document}.md", number, chunk_count=size)
        made.append(Chunk(f"{at}: {texts[at % len(texts)]}", place, embedding=vectors[at]))
    return made


def questions(chunks: Sequence[Chunk], count: int) -> list[Question]:
    """Return questions with 20 seeds each."""
    draws = random.Random(2)
    made = []
    for _ in range(count):
        seeds = draws.sample(list(chunks), min(SEEDS, len(chunks)))
        windows = [_window(chunk.metadata) for chunk in seeds]
        keys = {(window.doc_id, n) for window in windows for n in range(window.start, window.end)}
        neighbours = sorted(keys - {chunk.key for chunk in seeds})
        made.append(Question(seeds, windows, keys, neighbours))
    return made


def _window(place: ChunkMetadata) -> Window:
    assert place.chunk_count is not None
    return Window(place.doc_id, max(0, place.chunk_id - RADIUS), min(place.chunk_count, place.chunk_id + RADIUS + 1))


def listed(chunk: Chunk) -> list[float]:
    """Return the vector of a chunk as numbers of Python."""
    numbers: list[float] = np.asarray(chunk.embedding).tolist()
    return numbers


def batches(chunks: Sequence[Chunk], size: int) -> Iterable[Sequence[Chunk]]:
    """Yield chunks in slices."""
    for start in range(0, len(chunks), size):
        yield chunks[start : start + size]
