"""Torn units: parts of a sentence whose rest is no candidate, at the edges of runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrivex.merging.cuts import PARTED, ChunkCuts
from retrivex.merging.units import Units
from retrivex.model.chunk import ChunkKey
from retrivex.text.structure import Begin, End


class EdgeRules(NamedTuple):
    """What is known of the edges of runs.

    Parameters
    ----------
    hits : chunks of which nothing is hidden; None for all
    absent : chunks that do not exist, behind the last ones of documents
    """

    hits: Collection[ChunkKey] | None = None
    absent: Collection[ChunkKey] = ()


class RunEdges:
    """The edges of runs, where a sentence may go on in a chunk that is no candidate.

    Parameters
    ----------
    units : of all runs
    known : of each chunk
    rules : see there
    """

    def __init__(self, units: Units, known: Sequence[ChunkCuts], rules: EdgeRules) -> None:
        self.units = units
        self.known = known
        self.rules = rules

    def torn(self) -> NDArray[np.bool_] | None:
        """Return which units are parts of something that goes on outside the runs, shape (n,); None where none is."""
        axis, units = self.units.axis, self.units
        torn = np.zeros(len(units), dtype=np.bool_)
        firsts = (~units.joined).nonzero()[0].tolist()
        for run, (low, high) in enumerate(pairwise([*firsts, len(units)])):
            first = int(axis.firsts[run])
            last = first + int(axis.sizes[run]) - 1
            torn[low] = self._begins_torn(run, first, last)
            torn[high - 1] |= self._ends_torn(last)
        return torn if torn.any() else None

    def _begins_torn(self, run: int, first: int, last: int) -> bool:
        edges, metadata = self.known[first].edges, self.units.axis.chunks[first].metadata
        # a capital letter may begin a sentence as well as a name
        if edges.begin <= Begin.SUSPECT or not metadata.chunk_id or metadata.char_start == 0 or metadata.prefix:
            return False
        if edges.begin is not Begin.LOWER:
            return True
        # where sentences begin with small letters, as in chats, one may begin here
        cased = {self.known[at].edges.cased for at in range(first, last + 1)}
        return True in cased or False not in cased

    def _ends_torn(self, last: int) -> bool:
        edges, metadata = self.known[last].edges, self.units.axis.chunks[last].metadata
        if edges.end is End.BINDS:
            return True
        # where sentences begin with small letters, as in chats, some end without a mark
        if edges.end not in PARTED or edges.cased is False:
            return False
        if (metadata.doc_id, metadata.chunk_id + 1) in self.rules.absent:
            return False
        return metadata.chunk_count is None or metadata.chunk_id + 1 < metadata.chunk_count


def of_hits(units: Units, hits: Collection[ChunkKey] | None) -> NDArray[np.bool_]:
    """Return which units touch a chunk that is a hit, shape (n,)."""
    if hits is None:
        return np.ones(len(units), dtype=np.bool_)
    numbers = units.axis.numbers
    count = np.zeros(len(units.axis.chunks) + 1, dtype=np.int64)
    count[[numbers[key] + 1 for key in hits if key in numbers]] = 1
    count = count.cumsum()
    return np.asarray(count[units.chunk + units.last - units.first + 1] > count[units.chunk], dtype=np.bool_)
