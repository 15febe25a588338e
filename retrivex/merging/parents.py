"""Parent passages: when a span covers enough of its parent to be replaced by it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from retrivex.config import RetrievalConfig
from retrivex.model.chunk import MAX_CHUNK_ID, Chunk, ChunkKey
from retrivex.model.run import Segment
from retrivex.model.span import Span
from retrivex.model.window import Window
from retrivex.text.ranges import merge_ranges, remaining

MOST_SIBLINGS = 64
"""Chunks on each side that are asked for, at most, to learn what a parent holds."""


@dataclass(frozen=True, slots=True)
class PlacedParent:
    """A parent and where it stands in its document.

    Parameters
    ----------
    parent_id : its name
    doc_id : its document
    text : all of it
    char_start : document offset of its first character; None where it could not be found
    children : the chunks in it, in a row; empty where they are not known
    held : the chunks that are known to stand in it, in a row or not
    """

    parent_id: str
    doc_id: str
    text: str
    char_start: int | None
    children: tuple[Chunk, ...] = ()
    held: tuple[Chunk, ...] = ()

    @property
    def char_end(self) -> int | None:
        """Document offset right after it."""
        return None if self.char_start is None else self.char_start + len(self.text)


def place_parent(parent_id: str, parent: Chunk | str, children: Sequence[Chunk]) -> PlacedParent:
    """Find out where a parent stands: from its own offsets, or from where a child's text stands in it.

    Parameters
    ----------
    parent_id : its name
    parent : its text, or a chunk with offsets
    children : at least one chunk that names it as its parent
    """
    if isinstance(parent, Chunk):
        metadata = parent.metadata
        start = metadata.char_start
        honest = start is not None and metadata.char_end == start + len(parent.text)
        return PlacedParent(parent_id, metadata.doc_id, parent.text, start if honest else None)
    for child in children:
        at = parent.find(child.text)
        start = child.metadata.char_start
        if at >= 0 and start is not None and start >= at and parent.find(child.text, at + 1) < 0:
            return PlacedParent(parent_id, child.metadata.doc_id, parent, start - at)
    return PlacedParent(parent_id, children[0].metadata.doc_id, parent, None)


def sibling_window(parent: PlacedParent, children: Sequence[Chunk]) -> Window | None:
    """Return where the chunks of a parent lie around those that are known; None where too many would be asked for."""
    own = [child for child in children if child.metadata.doc_id == parent.doc_id]
    if not own:
        return None
    reach = min(MOST_SIBLINGS, -(-len(parent.text) // max(1, min(len(child.text) for child in own))))
    ids = [child.metadata.chunk_id for child in own]
    if max(ids) - min(ids) > 2 * MOST_SIBLINGS:
        return None
    return Window(parent.doc_id, max(0, min(ids) - reach), min(MAX_CHUNK_ID, max(ids) + reach) + 1)


def with_children(
    parent: PlacedParent,
    window: Window | None,
    known: Sequence[Chunk],
    seen: Mapping[ChunkKey, Chunk],
    *,
    is_text: bool,
) -> PlacedParent | None:
    """Return a parent with the chunks that stand in it, or None where it may show what the caller may not see.

    What may be of another scope is shown only as far as chunks that may be seen say it, white space aside. Of a plain
    text, which carries no scope, that is all of it. Of a chunk, whose own scope may be seen, it is what the chunks may
    hold that are missing in its row: some stores keep back those of other scopes.

    Parameters
    ----------
    parent : its text and place
    window : from `sibling_window`, fetched as a whole; None where it was not
    known : chunks that name it as their parent, of its own document at least one
    seen : what the store has in the window and the caller may see; nothing tells a hidden chunk from a missing one
    is_text : whether the parent is a plain text
    """
    own = [child for child in known if child.metadata.doc_id == parent.doc_id]
    ids = [child.metadata.chunk_id for child in own]
    count = max((child.metadata.chunk_count for child in own if child.metadata.chunk_count is not None), default=None)
    row = _Row(parent, seen, MAX_CHUNK_ID + 1 if count is None else count)
    if window is None:  # numbers come from outside, and may lie any distance apart
        row.chunks += [seen.get(child.key, child) for child in own]
    else:
        row.walk(range(min(ids), max(ids) + 1), whole=True)
        row.walk(range(max(ids) + 1, window.end))
        row.walk(range(min(ids) - 1, window.start - 1, -1))
    unsure = 0 if is_text or window is None else row.unsure_from
    if unsure is not None and _find_uncovered(parent, row.chunks, unsure).strip():
        return None
    children = _in_a_row(row.chunks) if window is not None and not row.cut_off else ()
    return replace(parent, children=children, held=tuple(row.chunks))


@dataclass(slots=True)
class _Row:
    """The chunks that stand in a parent, by their numbers.

    Parameters
    ----------
    parent : see there
    seen : chunks that may be seen
    count : chunks of the document, where that is known

    Attributes
    ----------
    chunks : found in it
    unsure_from : from where on, in the parent's text, it may hold others; None for nowhere
    cut_off : whether more of it may lie behind what was asked for
    """

    parent: PlacedParent
    seen: Mapping[ChunkKey, Chunk]
    count: int
    chunks: list[Chunk] = field(default_factory=list)
    unsure_from: int | None = None
    cut_off: bool = False

    def walk(self, numbers: range, *, whole: bool = False) -> None:
        """Take in the chunks of these numbers, up to the first one behind the parent; with `whole` all of them.

        Up from the first one that is known, then down: a missing chunk begins no earlier than the one below it.
        """
        above = numbers.step > 0
        chunk = None
        for at in numbers:
            chunk = self.seen.get((self.parent.doc_id, at))
            if chunk is None:
                if at < self.count:
                    self._miss(above)
            elif not whole and _is_beyond(self.parent, chunk, above):
                return
            elif whole or _stands_in(chunk, self.parent):
                self.chunks.append(chunk)
        if not whole and chunk is not None and 0 < numbers[-1] < self.count - 1:
            self.cut_off = True
            self._miss(above)

    def _miss(self, above: bool) -> None:
        place = _place_in(self.parent, self.chunks[-1]) if above and self.chunks else None
        start = 0 if place is None else place[0]
        self.unsure_from = start if self.unsure_from is None else min(self.unsure_from, start)


def _is_beyond(parent: PlacedParent, chunk: Chunk, above: bool) -> bool:
    """Whether a parent ends before a chunk, with `above`, or else begins behind it."""
    start, end = chunk.metadata.char_start, chunk.metadata.char_end
    if parent.char_start is None or parent.char_end is None or start is None or end is None:
        return chunk.metadata.parent_id != parent.parent_id
    return start >= parent.char_end if above else end <= parent.char_start


def _stands_in(chunk: Chunk, parent: PlacedParent) -> bool:
    start, end = chunk.metadata.char_start, chunk.metadata.char_end
    if parent.char_start is None or parent.char_end is None or start is None or end is None:
        return chunk.metadata.parent_id == parent.parent_id
    return start < parent.char_end and end > parent.char_start


def _place_in(parent: PlacedParent, chunk: Chunk) -> tuple[int, int] | None:
    """Where in a parent's text a chunk stands, which may reach over its edges; None where it says something else."""
    start = chunk.metadata.char_start
    at = parent.text.find(chunk.text) if start is None or parent.char_start is None else start - parent.char_start
    low, high = max(0, at), min(len(parent.text), at + len(chunk.text))
    says_so = low < high and parent.text[low:high] == chunk.text[low - at : high - at]
    return (low, high) if says_so else None


def _find_uncovered(parent: PlacedParent, family: Sequence[Chunk], start: int) -> str:
    """Return the part of a parent's text, from `start` on, that no chunk covers."""
    covered = [place for chunk in family if (place := _place_in(parent, chunk)) is not None]
    ranges = merge_ranges([(max(low, start), high) for low, high in covered if high > start])
    return "".join(parent.text[low:high] for low, high in remaining(start, len(parent.text), ranges))


def _in_a_row(family: Sequence[Chunk]) -> tuple[Chunk, ...]:
    """Return chunks by their number; none where one between them is missing."""
    row = sorted(family, key=lambda chunk: chunk.metadata.chunk_id)
    ids = [chunk.metadata.chunk_id for chunk in row]
    return tuple(row) if _is_row(ids) else ()


def _is_row(ids: Sequence[int]) -> bool:
    """Whether distinct numbers, ascending, follow each other without a hole."""
    return ids[-1] - ids[0] + 1 == len(ids)


def holds_whole(span: Span, parents: Mapping[str, PlacedParent]) -> bool:
    """Whether all of some parent stands in `span`."""
    for parent_id in {chunk.metadata.parent_id for chunk in span.chunks}:
        parent = parents.get(parent_id) if parent_id is not None else None
        if parent is None or parent.doc_id != span.doc_id:
            continue
        if parent.text.strip() and parent.text.strip() in span.text:
            return True
    return False


def covered_share(parent: PlacedParent, spans: Sequence[Span]) -> float:
    """Share of a parent's characters that `spans` show, in [0, 1]."""
    if not parent.text:
        return 0.0
    start, end = parent.char_start, parent.char_end
    if start is not None and end is not None and all(s.char_start is not None for s in spans):
        inside = [(max(start, s.char_start or 0), min(end, s.char_end or 0)) for s in spans]
        shown = sum(high - low for low, high in merge_ranges([pair for pair in inside if pair[0] < pair[1]]))
    else:
        shown = sum(len(s.text) for s in spans if s.text in parent.text)
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
        chunks = [by_id[i] for i in ids] if _is_row(ids) else list(best.chunks)
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


def _names(span: Span, parent: PlacedParent) -> bool:
    """Whether a chunk of a span says that it is a child of this parent."""
    return any(chunk.metadata.parent_id == parent.parent_id for chunk in span.chunks)


def _spans_of(parent: PlacedParent, spans: Sequence[Span]) -> list[Span]:
    """Spans that lie wholly in a parent: those it can replace without losing a character."""
    start, end = parent.char_start, parent.char_end
    inside = []
    for span in spans:
        if span.pinned or span.doc_id != parent.doc_id:
            continue
        if start is not None and end is not None and span.char_start is not None and span.char_end is not None:
            if start <= span.char_start and span.char_end <= end:
                if span.text not in parent.text:
                    return []  # its offsets, or the span's, do not tell the truth
                inside.append(span)
        elif _names(span, parent) and span.text in parent.text:
            # where places are not known, the same words may stand in another section: only its own children count
            inside.append(span)
    own = any(_names(span, parent) for span in inside)
    return inside if own else []


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
    spans : best first
    parents : by parent_id
    token_counts : tokens of each parent, by parent_id
    room : tokens the budget has left
    config : `parent_coverage`, `max_parent_chars`

    Returns
    -------
    spans
        With the parents in place of what they cover.
    swaps
        `(span, parent span)` for each span that was replaced.
    """
    kept = list(spans)
    swaps: list[tuple[Span, Span]] = []
    for span in spans:
        for parent_id in dict.fromkeys(chunk.metadata.parent_id for chunk in span.chunks):
            parent = parents.get(parent_id) if parent_id is not None else None
            if parent is None or len(parent.text) > config.max_parent_chars or _overlaps(parent, kept):
                continue
            inside = _spans_of(parent, kept)
            if not inside or any(s.parent_id == parent_id for s in inside):
                continue
            price = token_counts[parent.parent_id] - sum(s.token_count for s in inside)
            if price > room or covered_share(parent, inside) < config.parent_coverage:
                continue
            made = _swap_in(parent, inside, token_counts[parent.parent_id])
            kept[kept.index(inside[0])] = made
            kept = [s for s in kept if not any(s is old for old in inside)]
            swaps += [(old, made) for old in inside]
            room -= price
    return kept, swaps


def _overlaps(parent: PlacedParent, spans: Sequence[Span]) -> bool:
    """Whether a span reaches over the parent's edge: swapping it in would show those characters twice."""
    start, end = parent.char_start, parent.char_end
    if start is None or end is None:
        return False
    for span in spans:
        if span.doc_id != parent.doc_id:
            continue
        known = [(s.char_start, s.char_start + s.end - s.start) for s in span.segments if s.char_start is not None]
        inside = len(known) == len(span.segments) and all(start <= low and high <= end for low, high in known)
        if not inside and any(low < end and high > start for low, high in known):
            return True
    return False
