"""Parent passages: when a span covers enough of its parent to be replaced by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from retrivex.model.chunk import MAX_CHUNK_ID, Chunk, ChunkKey
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

    Attributes
    ----------
    core : its text without the white space around it
    """

    parent_id: str
    doc_id: str
    text: str
    char_start: int | None
    children: tuple[Chunk, ...] = ()
    held: tuple[Chunk, ...] = ()
    core: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "core", self.text.strip())

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
        start = child.metadata.char_start
        if start is None:
            continue
        at = parent.find(child.text)
        if 0 <= at <= start and parent.find(child.text, at + 1) < 0:
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
    return tuple(row) if is_row(ids) else ()


def is_row(ids: Sequence[int]) -> bool:
    """Whether distinct numbers, ascending, follow each other without a hole."""
    return ids[-1] - ids[0] + 1 == len(ids)


def holds_whole(span: Span, parents: Mapping[str, PlacedParent]) -> bool:
    """Whether all of some parent stands in `span`."""
    for parent_id in {chunk.metadata.parent_id for chunk in span.chunks}:
        parent = parents.get(parent_id) if parent_id is not None else None
        if parent is None or parent.doc_id != span.doc_id:
            continue
        if parent.core and len(parent.core) <= len(span.text) and parent.core in span.text:
            return True
    return False
