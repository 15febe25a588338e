"""Converts ranges of characters to chunks; all chunks of a document are made here."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import itemgetter
from typing import Any

from retrivex.chunking.blocks import headings, markdown_blocks, path_of
from retrivex.chunking.links import document_links
from retrivex.chunking.pages import edges_inside, page_edges
from retrivex.chunking.pictures import document_media
from retrivex.model.chunk import Chunk, ChunkKey, ChunkMetadata
from retrivex.model.cues import read_cues, times_of, without_cues
from retrivex.model.document import Document
from retrivex.model.media import Media, media_metadata, without_media
from retrivex.text.sentences import trim_range


@dataclass(frozen=True, slots=True)
class Piece:
    """The range of characters of a future chunk, and what its text does not say.

    Parameters
    ----------
    start, end : range in the document, in Unicode code points, end exclusive
    prefix : see `ChunkMetadata.prefix`
    heading_path : see `ChunkMetadata.heading_path`; None takes it from the document's headings, if it is Markdown
    parent_id : see `ChunkMetadata.parent_id`
    """

    start: int
    end: int
    prefix: str | None = None
    heading_path: Sequence[str] | None = None
    parent_id: str | None = None


def make_chunks(document: Document, pieces: Iterable[Piece]) -> list[Chunk]:
    """Return the chunks that `pieces` describe, numbered 0, 1, 2, ... in the order given.

    The text of a chunk is `document.text[start:end]`, untouched, with the white space behind it up to the next piece:
    neighbouring chunks then join into the very text of the document, line breaks and all. (Limits on a chunk's size
    do not count that white space.) White space before the first and behind the last piece is in no chunk, and pieces of
    nothing but white space are left out. Page, scope, timestamp and metadata come from the document, and so do links: a
    chunk in which another document is linked points to the first chunk of that.

    A piece that reaches across the start of a page is cut there, so that the page of a chunk is that of all its text;
    what that makes a mere part of another piece is left out. White space at the start of a page goes with the piece
    behind it, and a page of white space only is in no chunk.

    Examples
    --------
    >>> chunks = make_chunks(Document("d", "Bees sleep. Ants work."), [Piece(0, 11), Piece(11, 12), Piece(12, 22)])
    >>> [(chunk.metadata.chunk_id, chunk.text) for chunk in chunks]
    [(0, 'Bees sleep. '), (1, 'Ants work.')]
    """
    text = document.text
    edges = page_edges(document)
    parts = _on_pages(list(pieces), edges)
    kept = [piece for piece in parts if not text[piece.start : piece.end].isspace() and piece.start < piece.end]
    markdown = document.format == "markdown" and any(piece.heading_path is None for piece in kept)
    outline = headings(markdown_blocks(text)) if markdown else []
    links = document_links(document)
    cues = read_cues(document.metadata)
    media = document_media(document)
    custom = without_media(without_cues(document.metadata))
    return [
        Chunk(
            text[start:end],
            ChunkMetadata(
                doc_id=document.doc_id,
                chunk_id=chunk_id,
                char_start=start,
                char_end=end,
                parent_id=piece.parent_id,
                heading_path=path_of(outline, *trim_range(text, piece.start, piece.end))
                if piece.heading_path is None and markdown
                else piece.heading_path,
                page=document.page_at(start),
                custom_metadata={**custom, **times_of(cues, start, end), **_media_between(media, start, end)}
                if cues or media
                else custom,
                timestamp=document.timestamp,
                chunk_count=len(kept),
                scope=document.scope,
                prefix=piece.prefix,
                links=_links_between(links, start, end),
            ),
        )
        for chunk_id, (piece, start, end) in enumerate(zip(kept, *_ranges(text, kept, edges), strict=True))
    ]


def _links_between(links: Sequence[tuple[int, str]], start: int, end: int) -> tuple[ChunkKey, ...]:
    """Return the documents that are linked in a range: the first chunk of each, once."""
    first, last = (bisect_left(links, offset, key=itemgetter(0)) for offset in (start, end))
    return tuple((doc_id, 0) for doc_id in dict.fromkeys(doc_id for _, doc_id in links[first:last]))


def _media_between(media: Sequence[Media], start: int, end: int) -> dict[str, Any]:
    """Return the metadata of the media whose place is in a range; those without a place belong to every chunk."""
    return media_metadata(one for one in media if one.at is None or start <= one.at < end)


def _on_pages(pieces: Sequence[Piece], edges: Sequence[int]) -> Sequence[Piece]:
    """Cut pieces at the starts of pages; overlapping ones then leave parts that lie in one another."""
    if not any(edges_inside(edges, piece.start, piece.end) for piece in pieces):
        return pieces
    kept: list[Piece] = []
    furthest = 0
    parts = (
        (part, part.end - part.start < piece.end - piece.start) for piece in pieces for part in _parts(piece, edges)
    )
    for part, torn in sorted(parts, key=lambda pair: (pair[0].start, -pair[0].end, pair[1])):
        if part.end > furthest or not torn:
            kept.append(part)
            furthest = max(furthest, part.end)
    return kept


def _parts(piece: Piece, edges: Sequence[int]) -> Iterator[Piece]:
    """Yield the parts of a piece on each page; only the first begins where the prefix belongs."""
    for start, end in pairwise((piece.start, *edges_inside(edges, piece.start, piece.end), piece.end)):
        yield replace(piece, start=start, end=end, prefix=piece.prefix if start == piece.start else None)


def _ranges(text: str, pieces: Sequence[Piece], edges: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return where the chunks start and end: with the white space between two pieces, each with that on its own page.

    Where a piece lies inside an earlier one, it is the earlier one that the white space follows.
    """
    starts = [piece.start for piece in pieces]
    ends = [piece.end for piece in pieces]
    furthest = 0
    for at, piece in enumerate(pieces):
        if text[ends[furthest] : piece.start].isspace():
            page = edges[bisect_right(edges, piece.start) - 1]
            if page >= ends[furthest]:
                starts[at] = page
            ends[furthest] = min(piece.start, edges[bisect_left(edges, ends[furthest])])
        if ends[at] >= ends[furthest]:
            furthest = at
    return starts, ends
