"""Swaps: spans that are replaced by their parent, where they cover enough of it."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from retrivex.config import RetrievalConfig
from retrivex.merging.parents import PlacedParent, is_row
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.run import Segment
from retrivex.model.span import Span, ids_without_place
from retrivex.text.ranges import merge_ranges

T = TypeVar("T", int, tuple[int, int])


def swap_in(
    spans: Sequence[Span],
    parents: Mapping[str, PlacedParent],
    token_counts: Mapping[str, int],
    room: int,
    config: RetrievalConfig,
) -> tuple[list[Span], list[tuple[Span, Span]]]:
    """Swap spans for their parent where most of it is covered and the budget allows (auto-merging).

    Parameters
    ----------
    spans : best first, none of them pinned
    parents : by parent_id
    token_counts : tokens of each parent, by parent_id
    room : tokens the budget has left
    config : `return_parents`, `max_parent_chars`

    Returns
    -------
    spans
        With the parents in place of what they cover.
    swaps
        `(span, parent span)` for each span that was replaced.
    """
    kept = _Kept()
    for number, span in enumerate(spans):
        kept.add(number, span)
    swaps: list[tuple[Span, Span]] = []
    refused: dict[str, tuple[int, float]] = {}  # at which state of its document, and the room that would do
    for span in spans:
        for parent_id in dict.fromkeys(chunk.metadata.parent_id for chunk in span.chunks):
            parent = parents.get(parent_id) if parent_id is not None else None
            if parent is None or len(parent.text) > config.max_parent_chars:
                continue
            state = kept.changes[parent.doc_id]
            at, needed = refused.get(parent.parent_id, (-1, 0))
            if at == state and needed > room:
                continue
            count = token_counts[parent.parent_id]
            numbers = kept.replaceable(parent, config.parent_coverage)
            price = count - sum(kept.spans[number].token_count for number in numbers)
            if not numbers or price > room:
                refused[parent.parent_id] = (state, price if numbers else math.inf)
                continue
            inside = [kept.spans[number] for number in numbers]
            made = _swap_in(parent, inside, count)
            for number in numbers:
                kept.remove(number)
            kept.add(numbers[0], made)
            swaps += [(old, made) for old in inside]
            room -= price
    return [kept.spans[number] for number in sorted(kept.spans)], swaps


@dataclass(slots=True)
class _Kept:
    """Spans by their number, found by what they show: their place, the parents they name.

    Attributes
    ----------
    spans : by number
    names : of each, the parents that its chunks name
    changes : how often the spans of a document have changed
    """

    spans: dict[int, Span] = field(default_factory=dict)
    names: dict[int, set[str | None]] = field(default_factory=dict)
    changes: Counter[str] = field(default_factory=Counter)
    _by_start: defaultdict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    _by_name: defaultdict[tuple[str, str | None], set[int]] = field(default_factory=lambda: defaultdict(set))
    _without_place: defaultdict[ChunkKey, set[int]] = field(default_factory=lambda: defaultdict(set))
    _starts: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))  # of segments
    _ends: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, number: int, span: Span) -> None:
        """Take in a span."""
        doc_id = span.doc_id
        self.spans[number] = span
        self.names[number] = {chunk.metadata.parent_id for chunk in span.chunks}
        self.changes[doc_id] += 1
        if span.char_start is not None and span.char_end is not None:
            insort(self._by_start[doc_id], (span.char_start, number))
        for name in self.names[number]:
            self._by_name[doc_id, name].add(number)
        for chunk_id in ids_without_place(span):
            self._without_place[doc_id, chunk_id].add(number)
        for low, high in _placed(span):
            insort(self._starts[doc_id], low)
            insort(self._ends[doc_id], high)

    def remove(self, number: int) -> None:
        """Forget a span."""
        span = self.spans.pop(number)
        doc_id = span.doc_id
        self.changes[doc_id] += 1
        if span.char_start is not None and span.char_end is not None:
            _take_out(self._by_start[doc_id], (span.char_start, number))
        for name in self.names.pop(number):
            self._by_name[doc_id, name].remove(number)
        for chunk_id in ids_without_place(span):
            self._without_place[doc_id, chunk_id].remove(number)
        for low, high in _placed(span):
            _take_out(self._starts[doc_id], low)
            _take_out(self._ends[doc_id], high)

    def replaceable(self, parent: PlacedParent, least: float) -> list[int]:
        """Return the spans that a parent can replace; none where they cover less of it than the share `least`."""
        numbers = self._inside(parent)
        own = set(numbers)
        inside = [self.spans[number] for number in numbers]
        if not any(parent.parent_id in self.names[number] for number in numbers):
            return []
        if any(span.parent_id == parent.parent_id for span in inside) or _covered_share(parent, inside) < least:
            return []
        if any(not self._without_place[chunk.key] <= own for chunk in parent.held if chunk.key in self._without_place):
            return []  # a span reaches over the edge, and where is not known
        if parent.char_start is None and self._repeats(parent, inside):
            return []
        return [] if self._overlaps(parent, inside) else numbers

    def _inside(self, parent: PlacedParent) -> list[int]:
        """Spans that lie wholly in a parent: those it can replace without losing a character."""
        found = []
        for number in self._near(parent):
            span = self.spans[number]
            start, end = span.char_start, span.char_end
            if parent.char_start is not None and parent.char_end is not None and start is not None and end is not None:
                if start < parent.char_start or end > parent.char_end:
                    continue
                if span.text not in parent.text:
                    return []  # its offsets, or the span's, do not tell the truth
                found.append(number)
            elif parent.parent_id in self.names[number] and span.text in parent.text:
                # where places are not known, the same words may stand in another section: only its own children count
                found.append(number)
        return sorted(found)

    def _near(self, parent: PlacedParent) -> set[int]:
        """Spans that name a parent, or begin in it."""
        near = set(self._by_name.get((parent.doc_id, parent.parent_id), ()))
        if parent.char_start is not None and parent.char_end is not None:
            row = self._by_start.get(parent.doc_id, [])
            low, high = bisect_left(row, (parent.char_start, -1)), bisect_left(row, (parent.char_end, -1))
            near.update(number for _, number in row[low:high])
        return near

    def _overlaps(self, parent: PlacedParent, inside: Sequence[Span]) -> bool:
        """Whether a span reaches over the parent's edge: swapping it in would show those characters twice.

        So it is where more segments have something of the parent than those of spans that lie in it.
        """
        start, end = parent.char_start, parent.char_end
        if start is None or end is None:
            return False
        own = 0
        for span in inside:
            known = [*_placed(span)]
            if len(known) == len(span.segments) and all(start <= low and high <= end for low, high in known):
                own += sum(low < end and high > start for low, high in known)
        return self._meeting(parent.doc_id, start, end) > own

    def _repeats(self, parent: PlacedParent, inside: Sequence[Span]) -> bool:
        """Whether a parent without a place has a chunk of which another span shows something, by the chunk's place."""
        known = [place for span in inside for place in _placed(span)]
        starts, ends = sorted(low for low, _ in known), sorted(high for _, high in known)
        places = [
            (metadata.char_start, metadata.char_end)
            for metadata in (chunk.metadata for chunk in parent.held)
            if metadata.char_start is not None and metadata.char_end is not None
        ]
        return any(
            self._meeting(parent.doc_id, low, high) > bisect_left(starts, high) - bisect_right(ends, low)
            for low, high in merge_ranges(places)
            if low < high
        )

    def _meeting(self, doc_id: str, start: int, end: int) -> int:
        """How many segments have something of `start..end`."""
        return bisect_left(self._starts[doc_id], end) - bisect_right(self._ends[doc_id], start)


def _placed(span: Span) -> Iterator[tuple[int, int]]:
    """Where in the document the segments of a span stand of which that is known."""
    for segment in span.segments:
        if segment.char_start is not None:
            yield segment.char_start, segment.char_start + segment.end - segment.start


def _take_out(row: list[T], value: T) -> None:
    """Take a value out of a sorted row."""
    del row[bisect_left(row, value)]


def _covered_share(parent: PlacedParent, inside: Sequence[Span]) -> float:
    """Share of a parent's characters that spans show which lie in it, in [0, 1]."""
    start, end = parent.char_start, parent.char_end
    if start is not None and end is not None and all(s.char_start is not None for s in inside):
        places = [(max(start, s.char_start or 0), min(end, s.char_end or 0)) for s in inside]
        shown = sum(high - low for low, high in merge_ranges([pair for pair in places if pair[0] < pair[1]]))
    else:
        shown = sum(len(s.text) for s in inside)
    return min(1.0, shown / len(parent.text))


def _swap_in(parent: PlacedParent, inside: Sequence[Span], token_count: int) -> Span:
    """One span with the parent's text; it takes the place of those inside it."""
    best = max(inside, key=lambda span: span.score)
    by_id = {chunk.metadata.chunk_id: chunk for span in inside for chunk in span.chunks}
    ids = sorted(by_id)
    if parent.children and set(ids) <= {chunk.metadata.chunk_id for chunk in parent.children}:
        chunks = list(parent.children)
    else:
        # chunks between the spans are not known, so a span that lists chunks without holes lists the best span's
        chunks = [by_id[i] for i in ids] if is_row(ids) else list(best.chunks)
    return replace(
        best,
        chunk_ids=[chunk.metadata.chunk_id for chunk in chunks],
        chunks=chunks,
        text=parent.text,
        char_start=parent.char_start,
        char_end=parent.char_end,
        token_count=token_count,
        value=sum(span.value for span in inside),
        exact=parent.char_start is not None,
        segments=_segments(parent, chunks),
        parent_id=parent.parent_id,
        prefix=None,
    )


def _segments(parent: PlacedParent, chunks: Sequence[Chunk]) -> tuple[Segment, ...]:
    """Map a parent's text to its known children; what lies between them goes with the one before."""
    if parent.char_start is None:
        return (Segment(0, len(parent.text), chunks[0].metadata.chunk_id, None),)
    cuts: list[tuple[int, int]] = []
    for chunk in chunks:
        start, end = chunk.metadata.char_start, chunk.metadata.char_end
        if start is None or end is None:
            continue
        low = max(0, start - parent.char_start, cuts[-1][0] if cuts else 0)
        high = min(len(parent.text), end - parent.char_start)
        # a child begins a segment where it stands, and what follows it, up to the next one, another
        if low < high:
            cuts += [(low, chunk.metadata.chunk_id), (high, chunk.metadata.chunk_id)]
    edges = [(0, chunks[0].metadata.chunk_id), *cuts, (len(parent.text), chunks[-1].metadata.chunk_id)]
    return tuple(
        Segment(low, high, chunk_id, parent.char_start + low)
        for (low, chunk_id), (high, _) in itertools.pairwise(edges)
        if low < high
    )
