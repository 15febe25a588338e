"""Units: groups of whole sentences of a run, which are scored and selected as a whole.

What is one part of a text (`retrivex.text.structure`) is in one unit, also where the end of a chunk cuts through it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from retrivex.merging.cuts import PARTED, SHORT, UNIT_TOKENS, ChunkCuts, Cuts
from retrivex.merging.offsets import OffsetIndex
from retrivex.merging.stored_cuts import unpack
from retrivex.model.chunk import ChunkKey
from retrivex.model.run import Run
from retrivex.text.cache import TextCache
from retrivex.text.structure import (
    WHOLE,
    Begin,
    Edges,
    End,
    begins_block,
    ends_sentence,
    fence_at_start,
    is_wrapped,
    structure_of,
)
from retrivex.tokens.stored import TextCounts

Integers = NDArray[np.int64]

_REPAIRED = 2 * WHOLE
"""Characters that a unit across the ends of chunks may have, where what they cut is surely one sentence or fence."""

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
    def _fields(self) -> tuple[Integers, ...]:
        return self.run, self.first, self.last, self.start, self.end, self.tokens

    @cached_property
    def _rows(self) -> list[Unit]:
        return _rows(self._fields)

    @property
    def whole(self) -> Integers:
        """Numbers of the units that may be shown."""
        return np.arange(len(self)) if self.hidden is None else np.flatnonzero(~self.hidden)

    def without_hidden(self) -> Units:
        """Return the units that may be shown."""
        return self if self.hidden is None else Units(self.axis, *[row[self.whole] for row in self._fields])

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


class EdgeRules(NamedTuple):
    """What is known of the edges of runs.

    Parameters
    ----------
    hits : chunks of which nothing is hidden; None for all
    absent : chunks that do not exist, behind the last ones of documents
    """

    hits: Collection[ChunkKey] | None = None
    absent: Collection[ChunkKey] = ()


class Fineness(NamedTuple):
    """Which of c chunks are cut into units; each of the others is valued as a whole.

    Parameters
    ----------
    cut : shape (c,)
    tokens : shape (c,), of each, estimated; of those that are not cut
    """

    cut: NDArray[np.bool_]
    tokens: Integers

    @classmethod
    def full(cls, axis: OffsetIndex) -> Fineness:
        """Cut all."""
        count = len(axis.chunks)
        return cls(np.ones(count, dtype=np.bool_), np.zeros(count, dtype=np.int64))


class UnitCutter:
    """Cuts runs into units, with a cache of the cuts of texts; safe for several threads.

    Parameters
    ----------
    cache : counts tokens
    size : tokens of a group of sentences, about
    """

    def __init__(self, cache: TextCounts, size: int = UNIT_TOKENS) -> None:
        self.cache = cache
        self.size = size
        self._own = cache
        self._known = TextCache[str, ChunkCuts](_MAX_CHARS, _size)
        self._in_fences = TextCache[tuple[str, str], ChunkCuts](_MAX_CHARS // 8, lambda key: _size(key[1]))
        self._stored = TextCache[str, tuple[bytes, ChunkCuts]](_MAX_CHARS, _size)

    def counting_by(self, cache: TextCounts) -> UnitCutter:
        """Return a cutter with the same cache of cuts that counts by `cache`, of the same tokenizer."""
        made = copy(self)
        made.cache = cache
        return made

    def cuts(self, text: str) -> Cuts:
        """Return where a chunk's text may be cut."""
        return self._look_up([text])[0].cuts

    def _look_up(self, texts: Sequence[str]) -> list[ChunkCuts]:
        stored = self.cache.stored_cuts
        if not stored or self.size != UNIT_TOKENS:
            return self._known.find(texts, self._read_all)
        found = [self._known.get(text) or self._believe(text, stored.get(text)) for text in texts]
        missing = [text for text, one in zip(texts, found, strict=True) if one is None]
        made = dict(zip(missing, self._known.find(missing, self._read_all), strict=True))
        return [made[text] if one is None else one for text, one in zip(texts, found, strict=True)]

    def _believe(self, text: str, packed: bytes | None) -> ChunkCuts | None:
        """Return what a store keeps of a text, if it holds: apart from what was cut here, as it is another's word."""
        if packed is None:
            return None
        known = self._stored.get(text)
        if known is not None and known[0] == packed:
            return known[1]
        cuts = unpack(packed, text, self.cache.tokenizer.name)
        if cuts is not None:
            self._stored.put([text], [(packed, cuts)])
        return cuts

    def _read_all(self, texts: Sequence[str]) -> list[ChunkCuts]:
        return self._read([("", text) for text in texts])

    def _read(self, keys: Sequence[tuple[str, str]]) -> list[ChunkCuts]:
        counts = self._own.count_many([text for _, text in keys])  # what is kept is nobody else's word
        return [
            ChunkCuts.read(text, fence, count, self.size) for (fence, text), count in zip(keys, counts, strict=True)
        ]

    def units(self, runs: Sequence[Run], rules: EdgeRules = EdgeRules()) -> Units:  # noqa: B008 - it is immutable
        """Return the units of all runs, in order; those of a run tile what its chunks say, each character once.

        A sentence, row or fence that the end of a chunk cuts through is repaired: its parts become one unit, and so do
        a heading and its text. Where the rest of it is not in the run, its unit is `torn`, and `hidden` unless it has
        text of a hit.

        Parameters
        ----------
        runs : of candidates
        rules : what is known of their edges
        """
        axis = OffsetIndex(runs)
        return self.cut(axis, rules, Fineness.full(axis))

    def cut(self, axis: OffsetIndex, rules: EdgeRules, fineness: Fineness) -> Units:
        """Return the units of some chunks, as `units` does, and each of the others as one, which is hidden."""
        fine = fineness.cut.tolist()
        found = iter(self._look_up([text for text, cut in zip(axis.texts, fine, strict=True) if cut]))
        known = [
            next(found) if cut else ChunkCuts.whole(text, tokens)
            for text, cut, tokens in zip(axis.texts, fine, fineness.tokens.tolist(), strict=True)
        ]
        # single letters are found in a tenth of the time of strings
        if any(("`" in text and "```" in text) or ("~" in text and "~~~" in text) for text in axis.texts):
            known = self._in_order(axis, known, fine)
        return _Cutting(axis, known, fineness.cut, self.size).units(rules)

    def _in_order(self, axis: OffsetIndex, known: Sequence[ChunkCuts], fine: Sequence[bool]) -> list[ChunkCuts]:
        """Read the chunks again that begin inside a fence."""
        made: list[ChunkCuts] = []
        goes_on = [False, *axis.goes_on.tolist()]
        for at, (text, one) in enumerate(zip(axis.texts, known, strict=True)):
            if not fine[at]:
                made.append(one)
                continue
            if goes_on[at] and fine[at - 1]:
                fence = made[-1].fence
            else:
                lead = axis.chunks[at].metadata.prefix
                fence = structure_of(lead).fence if lead and begins_block(lead, 0) else fence_at_start(text)
            made.append(self._in_fences.find([(fence, text)], self._read)[0] if fence else one)
        return made


class _Cutting:
    """The units of a query's chunks, put together: first of each chunk by itself, then changed where chunks meet.

    Parameters
    ----------
    axis : the chunks
    known : what is remembered of each
    fine : shape (c,), which of them were cut; no unit joins one that was not
    size : tokens of a group
    """

    def __init__(self, axis: OffsetIndex, known: Sequence[ChunkCuts], fine: NDArray[np.bool_], size: int) -> None:
        self.axis = axis
        self.known = known
        self.fine = fine
        self.size = size
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
        # as the chunks of a run come in order, its kept units so far are listed once
        self.known_run, self.known_to = -1, 0
        self.known_kept: list[int] = []

    def units(self, rules: EdgeRules) -> Units:
        for meeting in self._meetings():
            self._meet(*meeting)
        fields: list[Integers] = [self.run, self.first, self.last, self.start, self.end, self.tokens]
        if not self.kept.all():
            fields = [row[self.kept] for row in fields]
        units = Units(self.axis, *fields)
        torn = _Edges(units, self.known, rules).torn()
        hidden = ~self.fine[units.chunk]
        if torn is not None:
            hidden |= torn & ~_of_hits(units, rules.hits)
        return Units(self.axis, *fields, torn=torn, hidden=hidden if hidden.any() else None)

    def _meetings(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Chunks that do not simply follow a finished sentence: number, run, range in the run, and what is reached."""
        axis = self.axis
        reached = np.maximum.accumulate(axis.ends)[:-1]
        done, begins = bytes([one.done for one in self.known[:-1]]), bytes([one.begins for one in self.known[1:]])
        finished = np.frombuffer(done, dtype=np.bool_) & np.frombuffer(begins, dtype=np.bool_)
        finished |= ~(self.fine[1:] & self.fine[:-1])
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
        before, after = self.known[chunk - 1].edges, self.known[chunk].edges
        may_join = bool(self.fine[chunk - 1] and self.fine[chunk])
        if low >= reached:
            goes_on = may_join and self._goes_on(before, after, text, reached, low)
            if goes_on is not False:
                at = int(self.begins[chunk])
                self._merge(at, chunk, text, surely=goes_on is True)
                if goes_on and not self.kept[at] and self._is_short_rest(at, chunk, text, before.end):
                    self._merge(at + 1, chunk, text, surely=True)
            return
        self._extend_inside(chunk, low, min(high, reached))
        ends, at = self.known[chunk].cuts.ends, int(self.begins[chunk])
        over = bisect_right(ends, reached - low)
        self.kept[at : at + over] = False
        if reached - low in ends or over == len(ends):  # the chunk knows where its own sentences end
            return
        at += over
        length = int(self.end[at] - self.start[at])
        self.tokens[at] = -(-int(self.tokens[at]) * (int(self.end[at]) - reached) // length)
        self.start[at] = reached
        if may_join:
            self._merge(at, chunk, text, surely=before.end in PARTED)

    def _is_short_rest(self, at: int, chunk: int, text: str, before: End) -> bool:
        """Whether what a chunk began with was no rest of a sentence: part of a heading, or of an abbreviation."""
        end, is_last = (
            int(self.end[at]),
            at + 1 == len(self.end) or self.begins[chunk + 1 : chunk + 2].tolist() == [at + 1],
        )
        if is_last or end - int(self.start[at]) > SHORT:
            return False
        is_heading = before is End.BINDS and "\n" not in text[int(self.start[at]) - 1 : int(self.start[at])]
        return is_heading or not ends_sentence(text, int(self.start[at]) + len(text[self.start[at] : end].rstrip()))

    def _goes_on(self, before: Edges, after: Edges, text: str, reached: int, low: int) -> bool | None:
        """Whether a sentence, fence or heading with its text goes on where two chunks meet; None for perhaps."""
        if before.end in (End.BINDS, End.FENCE):
            return True
        solid, next_solid = reached, low
        while solid and text[solid - 1].isspace():
            solid -= 1
        while next_solid < len(text) and text[next_solid].isspace():
            next_solid += 1
        between = text[solid:next_solid]
        breaks = between.count("\n")
        line = between.rfind("\n") + 1
        if after.begin is Begin.TORN and text[next_solid : next_solid + 1] == "|":
            return True  # a row, or the head of a table
        follows_block = bool(breaks) and begins_block(text, solid + line)
        if follows_block or breaks > 1 or next_solid == len(text) or not solid:
            return follows_block and text[solid - 1] in ":：" and not text.startswith("#", next_solid)
        punctuated = before.punctuated or after.punctuated
        # in texts without capitals a small letter says nothing
        capitals = before.cased or after.cased
        goes_on = after.begin is Begin.TORN or (after.begin is Begin.LOWER and capitals is True)
        if before.end is End.ABBREVIATED:
            goes_on = goes_on or not ends_sentence(text, solid)
        if goes_on and punctuated:
            return True
        if breaks:
            is_open = punctuated and before.end is not End.DONE
            return is_open and is_wrapped(text, solid + between.find("\n"))
        if before.end in (End.DONE, End.ABBREVIATED):
            return False
        return True if punctuated else None

    def _merge(self, at: int, chunk: int, text: str, *, surely: bool) -> None:
        """Merge a unit into the one before it, if they are not too long together."""
        before = self._before(at)
        if surely:
            fits = self.end[at] - self.start[before] <= _REPAIRED
        else:
            fits = self.tokens[before] + self.tokens[at] <= 2 * self.size
        if fits:
            self.kept[at] = False
            self.end[before], self.last[before] = self.end[at], self.first[self.begins[chunk]]
            self.tokens[before] += self.tokens[at]

    def _before(self, at: int) -> int:
        return self._kept_before(at)[-1]

    def _extend_inside(self, chunk: int, low: int, high: int) -> None:
        """Let the units that show the beginning of a chunk, or all of it, before its turn say so."""
        at = int(self.begins[chunk])
        kept = self._kept_before(at)
        # they tile the run, so that both their ends and their beginnings ascend
        first = bisect_right(kept, low, key=self.end.__getitem__)
        inside = kept[first : bisect_left(kept, high, first, key=self.start.__getitem__)]
        self.last[inside] = np.maximum(self.last[inside], self.first[at])

    def _kept_before(self, at: int) -> list[int]:
        """Return the units of a run before one of them that are kept; what is dropped later begins behind those."""
        run = int(self.run[at])
        if run != self.known_run:
            self.known_run, self.known_to, self.known_kept = run, int(self.begins[self.axis.firsts[run]]), []
        self.known_kept += (np.flatnonzero(self.kept[self.known_to : at]) + self.known_to).tolist()
        self.known_to = at
        return self.known_kept


class _Edges:
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
        return any(self.known[at].edges.cased for at in range(first, last + 1))

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


def _of_hits(units: Units, hits: Collection[ChunkKey] | None) -> NDArray[np.bool_]:
    """Return which units touch a chunk that is a hit, shape (n,)."""
    if hits is None:
        return np.ones(len(units), dtype=np.bool_)
    numbers = units.axis.numbers
    count = np.zeros(len(units.axis.chunks) + 1, dtype=np.int64)
    count[[numbers[key] + 1 for key in hits if key in numbers]] = 1
    count = count.cumsum()
    return np.asarray(count[units.chunk + units.last - units.first + 1] > count[units.chunk], dtype=np.bool_)


def _concatenate(parts: Sequence[bytes]) -> Integers:
    return np.frombuffer(bytearray().join(parts), dtype=np.int64)
