"""The offset index: chunks and runs of a query as arrays of offsets in one joined text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.run import Run

Integers = NDArray[np.int64]
T = TypeVar("T")

RUN_SEPARATOR_CHARS = 2
"""Characters between the texts of two runs."""


class OffsetIndex:
    """Chunks and runs as arrays; a run's text takes its length, and a separator follows it.

    Parameters
    ----------
    runs : m of them, with c chunks together

    Attributes
    ----------
    runs, chunks : the same, in order
    sizes : shape (m,), chunks of each run
    firsts : shape (m,), number of each run's first chunk
    bases, run_ends : shape (m,), where each run begins, and where it ends
    run : shape (c,), number of each chunk's run
    goes_on : shape (c - 1,), whether the run of each chunk but the last of all goes on behind it
    starts, ends : shape (c,), where each chunk stands
    texts : of all chunks

    Examples
    --------
    >>> from retrivex.model.chunk import ChunkMetadata
    >>> from retrivex.model.run import stitch
    >>> bees, ants = (stitch([Chunk(text, ChunkMetadata(text, 0))]).runs[0] for text in ("bees", "ants"))
    >>> OffsetIndex([bees, ants]).starts.tolist(), OffsetIndex([bees, ants]).ends.tolist()
    ([0, 6], [4, 10])
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = runs
        self.chunks: list[Chunk] = [chunk for run in runs for chunk in run.chunks]
        rows = [len(run.chunks) for run in runs], [len(run.text) + RUN_SEPARATOR_CHARS for run in runs]
        sizes: Integers = np.array(rows, dtype=np.int64)
        reached = sizes.cumsum(axis=1)
        self.sizes: Integers = sizes[0]
        self.firsts: Integers = reached[0] - sizes[0]
        self.bases: Integers = reached[1] - sizes[1]
        self.run_ends: Integers = reached[1] - RUN_SEPARATOR_CHARS
        edges = chain.from_iterable(chain.from_iterable([run.ranges for run in runs]))
        places = np.fromiter(edges, dtype=np.int64, count=2 * len(self.chunks)).reshape(-1, 2)
        self.run: Integers = np.arange(len(self.sizes)).repeat(self.sizes)
        self.goes_on: NDArray[np.bool_] = np.equal(self.run[1:], self.run[:-1])
        self.starts, self.ends = places.T + self.bases[self.run]
        self.texts = [chunk.text for chunk in self.chunks]

    @cached_property
    def is_first(self) -> NDArray[np.bool_]:
        """Whether each chunk is the first of its run, shape (c,)."""
        made = np.zeros(len(self.chunks), dtype=np.bool_)
        made[self.firsts] = True
        return made

    @cached_property
    def is_last(self) -> NDArray[np.bool_]:
        """Whether each chunk is the last of its run, shape (c,)."""
        made = np.zeros(len(self.chunks), dtype=np.bool_)
        made[self.firsts + self.sizes - 1] = True
        return made

    @cached_property
    def keys(self) -> list[ChunkKey]:
        """Keys of all chunks."""
        return [(metadata.doc_id, metadata.chunk_id) for metadata in [chunk.metadata for chunk in self.chunks]]

    @cached_property
    def numbers(self) -> dict[ChunkKey, int]:
        """Number of each chunk, by key."""
        return dict(zip(self.keys, range(len(self.keys)), strict=True))

    def rows(self, values: Sequence[T]) -> list[Sequence[T]]:
        """Return values of the chunks, run by run."""
        return [values[a : a + n] for a, n in zip(self.firsts.tolist(), self.sizes.tolist(), strict=True)]
