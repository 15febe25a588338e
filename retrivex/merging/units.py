"""Units: groups of whole sentences of a run, which are scored and selected as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from retrivex.merging.offsets import OffsetIndex

Integers = NDArray[np.int64]


class Unit(NamedTuple):
    """A group of sentences of a run, scored and selected as a whole.

    Parameters
    ----------
    run : number of the run
    first, last : positions in the run of the chunks it touches, inclusive
    start, end : offsets in the run's text
    tokens : of its text
    """

    run: int
    first: int
    last: int
    start: int
    end: int
    tokens: int


@dataclass(frozen=True, eq=False)
class Units(Sequence[Unit]):
    """The units of a query's runs, one array for each field of `Unit`, shape (n,).

    Parameters
    ----------
    axis : the chunks they were cut from
    run, first, last, start, end, tokens : as in `Unit`
    torn : whether each is part of a sentence, or a heading without its text, at the edge of a run; None where none is
    hidden : whether each is not to be shown: torn, without any text of a hit, or a chunk that was not cut; None where
        none is

    Attributes
    ----------
    chunk : number on the axis of the first chunk that each touches
    joined : whether each goes on from the one before it, in the same run
    """

    axis: OffsetIndex
    run: Integers
    first: Integers
    last: Integers
    start: Integers
    end: Integers
    tokens: Integers
    torn: NDArray[np.bool_] | None = field(default=None, kw_only=True)
    hidden: NDArray[np.bool_] | None = field(default=None, kw_only=True)
    chunk: Integers = field(init=False)
    joined: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        joined = np.zeros(len(self), dtype=np.bool_)
        np.equal(self.run[1:], self.run[:-1], out=joined[1:])
        object.__setattr__(self, "chunk", self.axis.firsts[self.run] + self.first)
        object.__setattr__(self, "joined", joined)

    def __len__(self) -> int:
        return len(self.run)

    @overload
    def __getitem__(self, at: int) -> Unit: ...
    @overload
    def __getitem__(self, at: slice) -> list[Unit]: ...
    def __getitem__(self, at: int | slice) -> Unit | list[Unit]:
        return self._rows[at]

    def pick(self, chosen: Sequence[int]) -> list[Unit]:
        """Return some units; the others are not made."""
        numbers = np.array(chosen, dtype=np.int64)
        return _rows([row[numbers] for row in self._fields])

    def __iter__(self) -> Iterator[Unit]:
        return iter(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._rows == list(other)

    __hash__ = None  # type: ignore[assignment]  # a list of units has none either

    @property
    def places(self) -> tuple[Integers, ...]:
        """Runs, first and last chunks, and where they begin and end."""
        return self.run, self.first, self.last, self.start, self.end

    @property
    def _fields(self) -> tuple[Integers, ...]:
        return *self.places, self.tokens

    @cached_property
    def _rows(self) -> list[Unit]:
        return _rows(self._fields)

    @property
    def whole(self) -> Integers:
        """Numbers of the units that may be shown."""
        return np.arange(len(self)) if self.hidden is None else np.flatnonzero(~self.hidden)

    def without_hidden(self) -> Units:
        """Return the units that may be shown; what stands behind a hidden one does not go on from what is before it."""
        if self.hidden is None:
            return self
        whole = self.whole
        made = Units(self.axis, *[row[whole] for row in self._fields])
        made.joined[1:] &= whole[1:] == whole[:-1] + 1
        return made

    def touching(self, chunk: int) -> Sequence[int]:
        """Return the numbers of the units that touch a chunk, given by its number on the axis."""
        if self._ranges is None:
            return np.flatnonzero((self.chunk <= chunk) & (chunk <= self.chunk + self.last - self.first)).tolist()
        return self._ranges[chunk]

    @cached_property
    def _ranges(self) -> list[range] | None:
        """Of each chunk the numbers of the units that touch it; None where the last chunks of units do not ascend."""
        last = self.chunk + self.last - self.first
        if np.count_nonzero(last[1:] < last[:-1]):
            return None
        chunks = np.arange(len(self.axis.chunks))
        lows, highs = last.searchsorted(chunks, side="left"), self.chunk.searchsorted(chunks, side="right")
        return list(map(range, lows.tolist(), highs.tolist()))


def _rows(fields: Sequence[Integers]) -> list[Unit]:
    return list(map(Unit._make, zip(*[row.tolist() for row in fields], strict=True)))
