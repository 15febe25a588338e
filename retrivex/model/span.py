"""Spans: contiguous passages of the context, with their exact position in the document."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

from retrivex.errors import RetrivexError
from retrivex.model.chunk import Chunk
from retrivex.model.media import Media, media_between
from retrivex.model.run import Segment, stitch


@dataclass(frozen=True, slots=True)
class Span:
    """Contiguous text of one document.

    Parameters
    ----------
    doc_id : the document
    chunk_ids : chunks touched, ascending without holes
    chunks : the same, whole and unmodified
    score : what the order goes by
    char_start, char_end : where `text` stands in the document, end exclusive; None without offsets
    token_count : tokens of `text`
    sim_score, adjacency_score, continuity_score, parent_bonus : factors of the score, each in [0, 1]
    text : exactly what is shown; may begin and end inside a chunk. Left out, it is the chunks joined
    value : what the selection counted for it
    exact : whether every character of `text` is known to be the source's
    segments : `text` mapped back to chunks and document offsets, piece by piece
    pinned : whether the caller asked for it
    parent_id : the parent that was swapped in; None where the span is made of chunks
    prefix : text to show in front that is not at this place in the document: a table's head, a list's lead-in

    Raises
    ------
    RetrivexError
        If `chunks` is empty or `chunk_ids` do not match it or have holes.
    """

    doc_id: str
    chunk_ids: list[int]
    chunks: list[Chunk]
    score: float
    char_start: int | None
    char_end: int | None
    token_count: int
    sim_score: float = 0.0
    adjacency_score: float = 0.0
    continuity_score: float = 0.0
    parent_bonus: float = 0.0
    text: str = ""
    value: float = 0.0
    exact: bool = False
    segments: tuple[Segment, ...] = ()
    pinned: bool = False
    parent_id: str | None = None
    prefix: str | None = None

    def __post_init__(self) -> None:
        if not self.chunks:
            raise RetrivexError("Span must contain at least one chunk; leave empty spans out")
        if len(self.chunk_ids) != len(self.chunks):
            raise RetrivexError(
                f"chunk_ids and chunks must have same length, got {len(self.chunk_ids)} and {len(self.chunks)}"
            )
        first = self.chunk_ids[0]
        if self.chunk_ids != list(range(first, first + len(self.chunk_ids))):
            raise RetrivexError(f"chunk_ids must be contiguous, got {self.chunk_ids}; make one span of each run")
        if not self.text:
            object.__setattr__(self, "text", " ".join(run.text for run in stitch(self.chunks).runs))

    @property
    def span_range(self) -> tuple[int, int]:
        """First and last chunk id, inclusive."""
        return (self.chunk_ids[0], self.chunk_ids[-1])

    @property
    def media(self) -> tuple[Media, ...]:
        """Pictures and other media that stand in what is shown; of its chunks, where their place is unknown."""
        return media_between(self.chunks, self.char_start, self.char_end)


def ids_without_place(span: Span) -> set[int]:
    """Return the numbers of the chunks that a span shows without knowing where in the document."""
    if span.exact and span.char_start is not None:
        return set()
    placed = {segment.chunk_id for segment in span.segments if segment.char_start is not None}
    return {chunk_id for chunk_id in span.chunk_ids if chunk_id not in placed}


def cut_span(span: Span, start: int, end: int, token_count: int) -> Span:
    """Return the part `text[start:end]` of a span, with its offsets, chunks and source map cut to fit.

    Parameters
    ----------
    span : what to cut
    start, end : offsets in `span.text`, `0 <= start < end <= len(span.text)`
    token_count : tokens of that part
    """
    kept = []
    for segment in span.segments:
        low, high = max(segment.start, start), min(segment.end, end)
        if low < high:
            source = None if segment.char_start is None else segment.char_start + low - segment.start
            kept.append(Segment(low - start, high - start, segment.chunk_id, source))
    first, last = (kept[0], kept[-1]) if kept else (None, None)
    ids = range(first.chunk_id, last.chunk_id + 1) if first and last else span.chunk_ids
    chunks = [chunk for chunk in span.chunks if chunk.metadata.chunk_id in ids]
    ends_at = None if last is None or last.char_start is None else last.char_start + last.end - last.start
    seamless = all(
        b.start == a.end and b.char_start == (a.char_start or 0) + a.end - a.start for a, b in itertools.pairwise(kept)
    )
    known = bool(first and last) and all(segment.char_start is not None for segment in kept)
    whole = first is not None and last is not None and first.start == 0 and last.end == end - start
    # of a span that was made without segments, its own offsets tell
    own = span.char_start + start if span.exact and span.char_start is not None and not kept else None
    return replace(
        span,
        chunk_ids=[chunk.metadata.chunk_id for chunk in chunks],
        chunks=chunks,
        char_start=first.char_start if first else own,
        char_end=ends_at if own is None else own + end - start,
        token_count=token_count,
        text=span.text[start:end],
        exact=span.exact or (known and whole and seamless),
        segments=tuple(kept),
        prefix=span.prefix if start == 0 else chunks[0].metadata.prefix,
    )
