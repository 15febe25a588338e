"""Where chunks meet: a sentence, row or fence that the end of a chunk cuts through is one unit."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from retrivex.merging.cuts import PARTED, SHORT, ChunkCuts
from retrivex.merging.offsets import OffsetIndex
from retrivex.merging.torn import EdgeRules, RunEdges, of_hits
from retrivex.merging.units import Units
from retrivex.text.structure import WHOLE, Begin, Edges, End, begins_block, ends_sentence, is_wrapped

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


_REPAIRED = 2 * WHOLE
"""Characters that a unit across the ends of chunks may have, where what they cut is surely one sentence or fence."""

_NUMBER = 8  # bytes


class JoinedUnits:
    """The units of a query's chunks, put together: first of each chunk by itself, then changed where chunks meet.

    Parameters
    ----------
    axis : the chunks
    known : what is remembered of each
    fine : shape (c,), which of them were cut; no unit joins one that was not
    shown : shape (c,), which of those may be shown: of others, only the rest of what begins or ends in one of them
    tokens : shape (c,), of each chunk; its units have their share, by their characters
    size : bytes of a group
    """

    def __init__(
        self, axis: OffsetIndex, known: Sequence[ChunkCuts], fine: Flags, shown: Flags, tokens: Integers, size: int
    ) -> None:
        self.axis = axis
        self.known = known
        self.fine = fine
        self.shown = shown
        self.size = size
        packed = [one.packed for one in known]
        sizes = np.array(list(map(len, packed)), dtype=np.int64) // _NUMBER
        self.begins = sizes.cumsum() - sizes  # first unit of each chunk
        self.run = axis.run.repeat(sizes)
        self.first = (np.arange(len(known)) - axis.firsts[axis.run]).repeat(sizes)
        self.last = self.first.copy()
        lows = axis.starts - axis.bases[axis.run]
        end = np.frombuffer(bytearray().join(packed), dtype=np.int64)
        start = np.empty_like(end)
        start[1:] = end[:-1]
        start[self.begins] = 0
        lengths = np.maximum(axis.ends - axis.starts, 1).repeat(sizes)
        before = (tokens.repeat(sizes) * np.array((start, end)) + lengths // 2) // lengths
        self.tokens = before[1] - before[0]
        self.start, self.end = start + lows.repeat(sizes), end + lows.repeat(sizes)
        self.kept = np.ones(len(self.end), dtype=np.bool_)
        # as the chunks of a run come in order, its kept units so far are listed once
        self.known_run, self.known_to = -1, 0
        self.known_kept: list[int] = []

    def units(self, rules: EdgeRules) -> Units:
        """Return the units, joined where chunks meet; which are torn and hidden depends on the rules."""
        for meeting in self._meetings():
            self._meet(*meeting)
        fields: list[Integers] = [self.run, self.first, self.last, self.start, self.end, self.tokens]
        if not self.kept.all():
            fields = [row[self.kept] for row in fields]
        units = Units(self.axis, *fields)
        torn = RunEdges(units, self.known, rules).torn()
        before = np.append(0, self.shown.cumsum())
        hidden = before[units.chunk] == before[units.chunk + units.last - units.first + 1]
        if torn is not None:
            hidden |= torn & ~of_hits(units, rules.hits)
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
        ends, at = self.known[chunk].ends, int(self.begins[chunk])
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
            both = text[int(self.start[before]) : int(self.end[at])]
            fits = len(both.encode("utf-8", "surrogatepass")) <= 2 * self.size
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
