"""Runs: neighbouring chunks joined into one text, without repeated overlaps and without invented text."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from retrivex.model.chunk import Chunk

MIN_OVERLAP = 8  # characters; a shorter common suffix and prefix is more likely chance than a splitter's overlap
MAX_GAP = 4  # characters; what splitters drop of white space: a blank line and a little indentation
_FEW_TRIES = 8  # places where an overlap may begin; more are a repeated pattern
SURE_GAP = 2  # characters; a space or a blank line, too narrow for the words that would change a sentence

# a heading, table row, list item, quotation or code fence has to begin a line
_BLOCK_START = re.compile(r"#{1,6} |\||[-*+] |\d{1,3}[.)] |> |```|~~~")


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of stitched text that comes from one chunk.

    Parameters
    ----------
    start, end : offsets in the stitched text, end exclusive
    chunk_id : the chunk it comes from
    char_start : document offset of its first character; None where the splitter kept no offsets
    """

    start: int
    end: int
    chunk_id: int
    char_start: int | None


@dataclass(frozen=True, slots=True)
class Run:
    """Contiguous chunks of one document as one text.

    Parameters
    ----------
    chunks : the chunks, ids ascending without holes
    text : the stitched text
    ranges : per chunk, where its text stands in `text`, overlaps included
    sources : per chunk, the document offset of its first character; None where unknown or untrustworthy
    exact_edges : per chunk, whether its left edge is exact: False where a joiner or a text match closed the gap
    """

    chunks: tuple[Chunk, ...]
    text: str
    ranges: tuple[tuple[int, int], ...]
    sources: tuple[int | None, ...]
    exact_edges: tuple[bool, ...]

    def __len__(self) -> int:
        return len(self.chunks)

    @property
    def doc_id(self) -> str:
        """The document all chunks belong to."""
        return self.chunks[0].metadata.doc_id

    def is_exact(self, first: int, last: int) -> bool:
        """Whether every character of chunks `first..last` (positions, inclusive) is known to be the source's."""
        return None not in self.sources[first : last + 1] and all(self.exact_edges[first + 1 : last + 1])

    def segments(self, first: int, last: int, start: int, end: int) -> tuple[Segment, ...]:
        """Map `text[start:end]` back to chunks `first..last`; offsets of the result count from `start`."""
        made: list[Segment] = []
        cursor = start
        some = slice(first, last + 1)
        for chunk, (low, high), source in zip(self.chunks[some], self.ranges[some], self.sources[some], strict=True):
            offset = None if source is None else source - low
            if low < cursor:
                low = cursor
            if high > end:
                high = end
            if low >= high:
                continue
            place = None if offset is None else offset + low
            made.append(Segment(low - start, high - start, chunk.metadata.chunk_id, place))
            cursor = high
        return tuple(made)


class Gap(NamedTuple):
    """A gap that was closed, though it is wide enough for words.

    Parameters
    ----------
    chunk : the one behind it
    width : in characters
    """

    chunk: Chunk
    width: int


class Stitched(NamedTuple):
    """The runs that `stitch` made of chunks, and the problems it found.

    Parameters
    ----------
    runs : in order; they hold every chunk once
    inconsistent : chunks whose offsets contradict their own text or their neighbour's
    gaps : those of more than `SURE_GAP` characters that were closed
    """

    runs: list[Run]
    inconsistent: list[Chunk]
    gaps: list[Gap]


def overlap_length(left: str, right: str) -> int:
    """Return the length of the longest suffix of `left` that is a prefix of `right`.

    Only overlaps of at least `MIN_OVERLAP` characters count, or `right` as a whole where it begins at a word
    boundary of `left`: shorter ones are chance.

    Examples
    --------
    >>> overlap_length("She saw the bird in the", "bird in the tree.")
    11
    >>> overlap_length("He said no", "no one came")
    0
    """
    if left.endswith(right):
        before = left[: len(left) - len(right)][-1:]
        if len(right) >= MIN_OVERLAP or not (before.isalnum() and right[:1].isalnum()):
            return len(right)
        return 0
    if len(right) <= MIN_OVERLAP:
        return 0
    head = right[:MIN_OVERLAP]
    # a suffix as long as `right` was ruled out above
    at = left.find(head, max(0, len(left) - len(right) + 1))
    for _ in range(_FEW_TRIES):
        if at == -1:
            return 0
        if right.startswith(left[at:]):
            return len(left) - at
        at = left.find(head, at + 1)
    longest = _border_length(right, left[at:]) if at != -1 else 0
    return longest if longest >= MIN_OVERLAP else 0


def _border_length(right: str, left: str) -> int:
    """Return the length of the longest suffix of `left` that is a prefix of `right`, in linear time.

    By the failure function of Knuth, Morris and Pratt (1977): a row of dashes begins an overlap at each of them.
    """
    right = right[: len(left)]
    failure = [0] * len(right)
    length = 0
    for at in range(1, len(right)):
        while length and right[at] != right[length]:
            length = failure[length - 1]
        length += right[at] == right[length]
        failure[at] = length
    length = 0
    for letter in left:
        while length and (length == len(right) or letter != right[length]):
            length = failure[length - 1]
        length += letter == right[length]
    return length


class _Stitcher:
    """Builds one run chunk by chunk; `add` returns False where the chunk cannot continue it."""

    def __init__(self, max_gap: int) -> None:
        self.max_gap = max_gap
        self.inconsistent: list[Chunk] = []
        self.gaps: list[Gap] = []
        self._reset()

    def _reset(self) -> None:
        self.parts: list[str] = []
        self.length = 0
        self.chunks: list[Chunk] = []
        self.ranges: list[tuple[int, int]] = []
        self.sources: list[int | None] = []
        self.exact_edges: list[bool] = []
        self.source_end: int | None = None  # document offset right after the text; None where unknown
        self.known_end: int | None = None  # highest document offset so far, whatever came after it
        self.stretch = 0  # where in the text the last stretch begins whose offsets are contiguous

    def add(self, chunk: Chunk) -> bool:
        metadata, text = chunk.metadata, chunk.text
        source = metadata.char_start
        if source is not None and metadata.char_end != source + len(text):
            self.inconsistent.append(chunk)
            source = None
        if not self.chunks:
            self._append(chunk, source, 0, exact=True)
            return True
        if source is None or self.source_end is None:
            if source is not None and self.known_end is not None and source < self.known_end:
                # part of it stands further up, before a chunk whose place is not known: a run of its own is cut later
                return False
            self._match(chunk, source)
            return True
        gap = source - self.source_end
        if gap > self.max_gap:
            return False
        if gap > 0:
            if gap > SURE_GAP:
                self.gaps.append(Gap(chunk, gap))
            self._join(text, gap)
            self._append(chunk, source, self.length, exact=False)
            return True
        at = self.length + gap
        if at < self.stretch:
            return False
        if gap == 0 or (self._tail(-gap)[: len(text)] == text[:-gap]):
            self._append(chunk, source, at, exact=True)
            return True
        self.inconsistent.append(chunk)
        self._match(chunk, None)
        return True

    def _tail(self, size: int) -> str:
        """Return the last `size` characters; the whole text is never joined for it."""
        held, taken = 0, []
        for part in reversed(self.parts):
            taken.append(part)
            held += len(part)
            if held >= size:
                break
        return "".join(reversed(taken))[max(0, held - size) :]

    def _join(self, following: str, gap: int) -> None:
        joiner = guess_joiner(following, gap)
        self.parts.append(joiner)
        self.length += len(joiner)

    def _match(self, chunk: Chunk, source: int | None) -> None:
        tail = self._tail(len(chunk.text) + 1)
        overlap = overlap_length(tail, chunk.text)
        if not overlap and not (tail[-1:].isspace() or chunk.text[0].isspace()):
            self._join(chunk.text, 1)
        self._append(chunk, source, self.length - overlap, exact=False)

    def _append(self, chunk: Chunk, source: int | None, at: int, *, exact: bool) -> None:
        new = chunk.text[self.length - at :] if at < self.length else chunk.text
        if not exact:
            self.stretch = at
        if new:
            self.parts.append(new)
            self.length += len(new)
        self.chunks.append(chunk)
        self.ranges.append((at, at + len(chunk.text)))
        self.sources.append(source)
        self.exact_edges.append(exact)
        if new or not exact:
            self.source_end = None if source is None else source + len(chunk.text)
        if self.source_end is not None:
            self.known_end = max(self.source_end, self.known_end or 0)

    def flush(self) -> Run:
        text = "".join(self.parts)
        made = Run(tuple(self.chunks), text, tuple(self.ranges), tuple(self.sources), tuple(self.exact_edges))
        self._reset()
        return made


def _abutting(chunks: Sequence[Chunk]) -> Run | None:
    """Return the run of chunks whose offsets follow each other without gap or overlap; None for others."""
    if not chunks or chunks[0].metadata.char_start is None:
        return None
    first = chunks[0].metadata.char_start
    texts = [chunk.text for chunk in chunks]
    places = list(itertools.accumulate(map(len, texts), initial=first))
    sources = tuple(places[:-1])
    for chunk, start, end in zip(chunks, sources, places[1:], strict=True):
        metadata = chunk.metadata
        if metadata.char_start != start or metadata.char_end != end:
            return None
    starts = [place - first for place in places]
    return Run(tuple(chunks), "".join(texts), tuple(itertools.pairwise(starts)), sources, (True,) * len(chunks))


def guess_joiner(following: str, gap: int) -> str:
    """Return the white space that a splitter most likely dropped in front of a text.

    Parameters
    ----------
    following : the text behind the gap
    gap : its width in characters, 1 where it is not known

    Examples
    --------
    >>> guess_joiner("She lays eggs.", 1), guess_joiner("| a | b |", 1), guess_joiner("A new paragraph", 2)
    (' ', '\\n', '\\n\\n')
    """
    if gap > 1:
        return "\n\n"
    return "\n" if _BLOCK_START.match(following) else " "


def stitch(chunks: Sequence[Chunk], max_gap: int = MAX_GAP) -> Stitched:
    """Join chunks of one document with consecutive ids into runs of stitched text.

    By offsets where they are there: overlaps are kept once, contained chunks add nothing, a gap of up to
    `max_gap` characters (white space the splitter dropped) is closed as `guess_joiner` says, a wider one begins a new
    run: it may have held words, and nothing says which.
    Without offsets, or where they cannot be right, by the longest suffix of one that is a prefix of the next.

    Parameters
    ----------
    chunks : of one document, ids ascending by one
    max_gap : in characters

    Examples
    --------
    >>> from retrivex.model.chunk import ChunkMetadata
    >>> parts = [("The bird", 0), ("bird", 4), ("sings.", 9)]
    >>> chunks = [Chunk(t, ChunkMetadata("d", i, s, s + len(t))) for i, (t, s) in enumerate(parts)]
    >>> [run.text for run in stitch(chunks).runs]
    ['The bird sings.']
    """
    if (run := _abutting(chunks)) is not None:
        return Stitched([run], [], [])
    builder = _Stitcher(max_gap)
    runs: list[Run] = []
    for chunk in chunks:
        if not builder.add(chunk):
            runs.append(builder.flush())
            builder.add(chunk)
    if builder.chunks:
        runs.append(builder.flush())
    return Stitched(runs, builder.inconsistent, builder.gaps)
