"""Parent passages: when a span covers enough of its parent to be replaced by it."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from retrivex.config import RetrievalConfig
from retrivex.model.chunk import MAX_CHUNK_ID, Chunk, ChunkKey
from retrivex.model.run import Segment
from retrivex.model.span import Span
from retrivex.model.window import Window
from retrivex.text.ranges import merge_ranges, remaining

MOST_SIBLINGS = 64
"""Chunks on each side that are asked for to learn what a parent holds; parents of more are left alone."""


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
    """

    parent_id: str
    doc_id: str
    text: str
    char_start: int | None
    children: tuple[Chunk, ...] = ()

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
    reach = -(-len(parent.text) // max(1, min(len(child.text) for child in own)))
    ids = [child.metadata.chunk_id for child in own]
    if reach > MOST_SIBLINGS or max(ids) - min(ids) > 2 * MOST_SIBLINGS:
        return None
    return Window(parent.doc_id, max(0, min(ids) - reach), min(MAX_CHUNK_ID, max(ids) + reach) + 1)


def with_children(
    parent: PlacedParent,
    window: Window,
    known: Sequence[Chunk],
    seen: Mapping[ChunkKey, Chunk],
    hidden: Collection[ChunkKey],
    *,
    complete: bool,
) -> PlacedParent | None:
    """Return a plain text with the chunks that stand in it, or None where it may show what the caller may not see.

    Parameters
    ----------
    parent : a text, which carries no scope of its own
    window : from `sibling_window`, fetched as a whole
    known : chunks that name it as their parent
    seen, hidden : what the store has in the window, and which of it belongs to another scope
    complete : whether all of the text has to stand in chunks that may be seen, white space aside; so it has to
        wherever the row of chunks has a gap, as a store may keep back what the caller may not see
    """
    ids = [child.metadata.chunk_id for child in known if child.metadata.doc_id == parent.doc_id]
    inner = range(min(ids), max(ids) + 1)
    count = max((child.metadata.chunk_count for child in known if child.metadata.chunk_count is not None), default=None)
    before, after = range(inner.start - 1, window.start - 1, -1), range(inner.stop, window.end)
    family: list[Chunk] = []
    for row in (inner, before, after):
        chunk = None
        for at in row:
            key = (parent.doc_id, at)
            # a hidden chunk counts as a missing one, so that nothing tells them apart: all of the text has to be seen
            chunk = None if key in hidden else seen.get(key)
            if chunk is None:
                complete = complete or key in hidden or count is None or at < count
                continue
            if row is not inner and not _stands_in(chunk, parent):
                break
            family.append(chunk)
        else:
            if row is not inner and chunk is not None and 0 < row[-1] < (count or MAX_CHUNK_ID) - 1:
                return None  # there may be more of it behind what was asked for
    if complete and _find_uncovered(parent, family).strip():
        return None
    return replace(parent, children=_in_a_row(family))


def may_hold_hidden(
    parent: PlacedParent, known: Sequence[Chunk], seen: Mapping[ChunkKey, Chunk], hidden: Collection[ChunkKey]
) -> bool:
    """Whether a chunk of another scope stands in a parent, or may: none that can be seen lies between the two.

    Parameters
    ----------
    parent : a chunk, whose own scope may be seen
    known : chunks that name it as their parent
    seen, hidden : what the store has around them, and which of it belongs to another scope
    """
    ids = [child.metadata.chunk_id for child in known if child.metadata.doc_id == parent.doc_id]
    others = [chunk_id for doc_id, chunk_id in hidden if doc_id == parent.doc_id]
    if not others or not ids:
        return bool(others)
    low, high = min(ids), max(ids)
    around = {at: chunk for (doc_id, at), chunk in seen.items() if doc_id == parent.doc_id}
    first = max((at for at, chunk in around.items() if at <= low and not _begins_before(parent, chunk)), default=-1)
    last = min(
        (at for at, chunk in around.items() if at >= high and not _ends_behind(parent, chunk)),
        default=MAX_CHUNK_ID + 1,
    )
    return any(first < at < last for at in others)


def _begins_before(parent: PlacedParent, chunk: Chunk) -> bool:
    """Whether a parent may hold text before a chunk."""
    start = chunk.metadata.char_start
    if parent.char_start is None or start is None:
        return chunk.metadata.parent_id == parent.parent_id
    return parent.char_start < start


def _ends_behind(parent: PlacedParent, chunk: Chunk) -> bool:
    """Whether a parent may hold text behind a chunk."""
    end = chunk.metadata.char_end
    if parent.char_end is None or end is None:
        return chunk.metadata.parent_id == parent.parent_id
    return end < parent.char_end


def _stands_in(chunk: Chunk, parent: PlacedParent) -> bool:
    start, end = chunk.metadata.char_start, chunk.metadata.char_end
    if parent.char_start is None or parent.char_end is None or start is None or end is None:
        return chunk.metadata.parent_id == parent.parent_id
    return start < parent.char_end and end > parent.char_start


def _find_uncovered(parent: PlacedParent, family: Sequence[Chunk]) -> str:
    """Return the part of a parent's text that no chunk covers."""
    covered: list[tuple[int, int]] = []
    for chunk in family:
        start = chunk.metadata.char_start
        at = parent.text.find(chunk.text) if start is None or parent.char_start is None else start - parent.char_start
        # a chunk may reach over the edge of its parent
        low, high = max(0, at), min(len(parent.text), at + len(chunk.text))
        if low < high and parent.text[low:high] == chunk.text[low - at : high - at]:
            covered.append((low, high))
    return "".join(parent.text[low:high] for low, high in remaining(0, len(parent.text), merge_ranges(covered)))


def _in_a_row(family: Sequence[Chunk]) -> tuple[Chunk, ...]:
    """Return chunks by their number; none where one between them is missing."""
    row = sorted(family, key=lambda chunk: chunk.metadata.chunk_id)
    ids = [chunk.metadata.chunk_id for chunk in row]
    return tuple(row) if ids == list(range(ids[0], ids[0] + len(ids))) else ()


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
    whole_row = ids == list(range(ids[0], ids[-1] + 1))
    if parent.children and set(ids) <= {chunk.metadata.chunk_id for chunk in parent.children}:
        chunks = list(parent.children)
    else:
        # chunks between the spans are not known, so a span that lists chunks without holes lists the best span's
        chunks = [by_id[i] for i in ids] if whole_row else list(best.chunks)
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
