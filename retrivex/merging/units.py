"""Units: groups of whole sentences of a run, which are scored and selected as a whole."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from retrivex.merging.offsets import OffsetIndex
from retrivex.model.run import Run
from retrivex.text.cache import TextCache
from retrivex.text.sentences import may_cut, sentence_ranges
from retrivex.tokens.cache import TokenCache

Integers = NDArray[np.int64]

UNIT_TOKENS = 50
"""Tokens of a group of sentences, about; a longer sentence is a unit of its own, up to two groups long."""

_ENDS_SENTENCE = frozenset(".!?。！？｡…:;：；\"'”’»)）]】」』》|`")
_TAIL = 8  # characters in which the end of a sentence is looked for, from the end of a text
_MAX_CHARS = 32_000_000  # characters of chunk text whose cuts are remembered
_PER_TEXT = 200  # that a text counts beside its own, as short texts take memory too
_NUMBER = 8  # bytes


def _size(text: str) -> int:
    return len(text) + _PER_TEXT


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
    def _fields(self) -> tuple[Integers, ...]:
        return self.run, self.first, self.last, self.start, self.end, self.tokens

    @cached_property
    def _rows(self) -> list[Unit]:
        return _rows(self._fields)

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


class Cuts(NamedTuple):
    """Where a chunk's text may be cut.

    Parameters
    ----------
    ends : end of each group of sentences, ascending; the last is the length of the text
    tokens : of each group
    """

    ends: tuple[int, ...]
    tokens: tuple[int, ...]


def group_sentences(text: str, cache: TokenCache, size: int = UNIT_TOKENS) -> Cuts:
    """Group the sentences of a text, as many as have some `size` tokens together.

    White space belongs to the group that it follows.

    Examples
    --------
    >>> from retrivex.tokens.tokenizer import CallableTokenizer
    >>> words = TokenCache(CallableTokenizer(lambda text: len(text.split()), name="words"))
    >>> group_sentences("Bees sleep. Ants work. They never rest.", words, size=5)
    Cuts(ends=(23, 39), tokens=(4, 3))
    """
    # as many characters as have `size` tokens on average in this text: each group is then counted once, exactly
    room = size * len(text) / max(1, cache.count(text))
    starts = [start for start, _ in sentence_ranges(text)]
    edges = _split_long([*starts[1:], len(text)], text, int(room) + 1)
    ends: list[int] = []
    begun = 0
    for end in edges:
        if ends and end - begun <= room:
            ends[-1] = end
        else:
            begun = ends[-1] if ends else 0
            ends.append(end)
    counts = cache.tokenizer.count_many([text[low:high] for low, high in zip([0, *ends], ends, strict=False)])
    return Cuts(tuple(ends), tuple(counts))


def _split_long(edges: Sequence[int], text: str, room: int) -> list[int]:
    """Cut sentences that are longer than two groups: some scripts end none with a mark, and tables have none."""
    made: list[int] = []
    begun = 0
    for end in edges:
        while end - begun > 2 * room:
            space = max(text.rfind(" ", begun, begun + room), text.rfind("\n", begun, begun + room)) + 1
            begun = space if space > begun else next(at for at in range(begun + room, end + 1) if may_cut(text, at))
            made.append(begun)
        if end > begun:
            made.append(end)
        begun = end
    return made


class _CachedCuts(NamedTuple):
    """The cached cuts of a chunk's text.

    Parameters
    ----------
    cuts : where it may be cut
    ends, tokens : the same as int64 in bytes, which are joined in a tenth of the time that arrays take
    open : whether a sentence goes on behind its end; None where its end alone does not tell
    """

    cuts: Cuts
    ends: bytes
    tokens: bytes
    open: bool | None

    @classmethod
    def of(cls, text: str, cuts: Cuts) -> _CachedCuts:
        # a text that ends with nothing but white space leaves it to what stands before
        is_known = len(text) >= _TAIL or bool(text.strip())
        ends, tokens = (np.array(row, dtype=np.int64).tobytes() for row in (cuts.ends, cuts.tokens))
        return cls(cuts, ends, tokens, _is_unfinished(text[-_TAIL:]) if is_known else None)


class UnitCutter:
    """Cuts runs into units, with a cache of the cuts of texts; safe for several threads.

    Parameters
    ----------
    cache : counts tokens
    size : tokens of a group of sentences, about
    """

    def __init__(self, cache: TokenCache, size: int = UNIT_TOKENS) -> None:
        self.cache = cache
        self.size = size
        self._known = TextCache[str, _CachedCuts](_MAX_CHARS, _size)

    def cuts(self, text: str) -> Cuts:
        """Return where a chunk's text may be cut."""
        return self._look_up([text])[0].cuts

    def _look_up(self, texts: Sequence[str]) -> list[_CachedCuts]:
        return self._known.find(texts, lambda fresh: map(self._read, fresh))

    def _read(self, text: str) -> _CachedCuts:
        return _CachedCuts.of(text, group_sentences(text, self.cache, self.size))

    def units(self, runs: Sequence[Run]) -> Units:
        """Return the units of all runs, in order; those of a run tile what its chunks say, each character once.

        Sentences that a chunk's end cuts through are repaired: the two parts become one unit.
        """
        axis = OffsetIndex(runs)
        return _Cutting(axis, self._look_up(axis.texts), self.cache, 2 * self.size).units()


class _Cutting:
    """The units of a query's chunks, put together: first of each chunk by itself, then changed where chunks meet.

    Parameters
    ----------
    axis : the chunks
    known : what is remembered of each
    cache : counts what is not
    most : tokens of a repaired unit
    """

    def __init__(self, axis: OffsetIndex, known: Sequence[_CachedCuts], cache: TokenCache, most: int) -> None:
        self.axis = axis
        self.known = known
        self.cache = cache
        self.most = most
        ends = [one.ends for one in known]
        sizes = np.array(list(map(len, ends)), dtype=np.int64) // _NUMBER
        self.begins = sizes.cumsum() - sizes  # first unit of each chunk
        self.run = axis.run.repeat(sizes)
        self.first = (np.arange(len(known)) - axis.firsts[axis.run]).repeat(sizes)
        self.last = self.first.copy()
        self.tokens = _concatenate([one.tokens for one in known])
        lows = axis.starts - axis.bases[axis.run]
        self.end = _concatenate(ends) + lows.repeat(sizes)
        self.start = np.empty_like(self.end)
        self.start[1:] = self.end[:-1]
        self.start[self.begins] = lows
        self.kept = np.ones(len(self.end), dtype=np.bool_)

    def units(self) -> Units:
        for meeting in self._meetings():
            self._meet(*meeting)
        fields: list[Integers] = [self.run, self.first, self.last, self.start, self.end, self.tokens]
        if not self.kept.all():
            fields = [row[self.kept] for row in fields]
        return Units(self.axis, *fields)

    def _meetings(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Chunks that do not simply follow a finished sentence: number, run, range in the run, and what is reached."""
        axis = self.axis
        reached = np.maximum.accumulate(axis.ends)[:-1]
        finished = np.frombuffer(bytes([one.open is False for one in self.known[:-1]]), dtype=np.bool_)
        simple = finished & (axis.starts[1:] == reached) & (axis.ends[:-1] == reached)
        chunks = (axis.goes_on & ~simple).nonzero()[0] + 1
        if not len(chunks):
            return iter(())
        runs = axis.run[chunks]
        places = [edges[chunks] - axis.bases[runs] for edges in (axis.starts, axis.ends)]
        ends = reached[chunks - 1] - axis.bases[runs]
        return zip(*[row.tolist() for row in (chunks, runs, *places, ends)], strict=True)

    def _meet(self, chunk: int, run: int, low: int, high: int, reached: int) -> None:
        """Let the units of a chunk begin where those before it end."""
        text = self.axis.runs[run].text
        if low >= reached:
            if _is_unfinished(text[max(0, reached - _TAIL) : reached], text[reached:low]):
                self._merge(int(self.begins[chunk]), chunk, text)
            return
        self._extend_inside(chunk, low, min(high, reached))
        ends, at = self.known[chunk].cuts.ends, int(self.begins[chunk])
        over = bisect_right(ends, reached - low)
        self.kept[at : at + over] = False
        if reached - low in ends or over == len(ends):  # the chunk knows where its own sentences end
            return
        at += over
        self.start[at] = reached
        self.tokens[at] = self.cache.count(text[reached : int(self.end[at])])
        self._merge(at, chunk, text)

    def _merge(self, at: int, chunk: int, text: str) -> None:
        """Merge a unit into the one before it, if they are not too long together."""
        before = self._before(at)
        if self.tokens[before] + self.tokens[at] <= self.most:
            self.kept[at] = False
            self.end[before], self.last[before] = self.end[at], self.first[self.begins[chunk]]
            self.tokens[before] = self.cache.count(text[self.start[before] : self.end[before]])

    def _before(self, at: int) -> int:
        at -= 1
        while not self.kept[at]:
            at -= 1
        return at

    def _extend_inside(self, chunk: int, low: int, high: int) -> None:
        """Let the units that show the beginning of a chunk, or all of it, before its turn say so."""
        at = int(self.begins[chunk])
        run, position = self.run[at], self.first[at]
        while at and self.run[at - 1] == run:
            at -= 1
            if not self.kept[at]:
                continue
            if self.end[at] <= low:
                break
            if self.start[at] < high:
                self.last[at] = max(self.last[at], position)


def _concatenate(parts: Sequence[bytes]) -> Integers:
    return np.frombuffer(bytearray().join(parts), dtype=np.int64)


def _is_unfinished(before: str, joiner: str = "") -> bool:
    """Whether a sentence goes on across the place where a text ends, with a joiner behind it."""
    between = before + joiner
    solid = between.rstrip()
    return bool(solid) and solid[-1] not in _ENDS_SENTENCE and "\n" not in between[len(solid) :]
