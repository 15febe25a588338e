"""From ranges of characters to chunks: the one place where chunks of a document are made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from retrivex.chunk import Chunk, ChunkMetadata
from retrivex.chunking.blocks import headings, markdown_blocks, path_of
from retrivex.document import Document


@dataclass(frozen=True, slots=True)
class Piece:
    """Where a chunk is to be: a range of characters of the document and what its text does not say.

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
    nothing but white space are left out. Page, scope, timestamp and metadata come from the document.

    Examples
    --------
    >>> chunks = make_chunks(Document("d", "Bees sleep. Ants work."), [Piece(0, 11), Piece(11, 12), Piece(12, 22)])
    >>> [(chunk.metadata.chunk_id, chunk.text) for chunk in chunks]
    [(0, 'Bees sleep. '), (1, 'Ants work.')]
    """
    text = document.text
    kept = [piece for piece in pieces if not text[piece.start : piece.end].isspace() and piece.start < piece.end]
    markdown = document.format == "markdown" and any(piece.heading_path is None for piece in kept)
    outline = headings(markdown_blocks(text)) if markdown else []
    custom = dict(document.metadata)
    return [
        Chunk(
            text[piece.start : end],
            ChunkMetadata(
                doc_id=document.doc_id,
                chunk_id=chunk_id,
                char_start=piece.start,
                char_end=end,
                parent_id=piece.parent_id,
                heading_path=path_of(outline, piece.start, piece.end)
                if piece.heading_path is None and markdown
                else piece.heading_path,
                page=document.page_at(piece.start),
                custom_metadata=custom,
                timestamp=document.timestamp,
                chunk_count=len(kept),
                scope=document.scope,
                prefix=piece.prefix,
            ),
        )
        for chunk_id, (piece, end) in enumerate(zip(kept, _ends(text, kept), strict=True))
    ]


def _ends(text: str, pieces: Sequence[Piece]) -> list[int]:
    """Return where the chunks end: at the next piece where only white space lies before it, else where the piece ends.

    Where a piece lies inside an earlier one, it is the earlier one that the white space follows.
    """
    ends = [piece.end for piece in pieces]
    furthest = 0
    for at, piece in enumerate(pieces):
        if text[ends[furthest] : piece.start].isspace():
            ends[furthest] = piece.start
        if ends[at] >= ends[furthest]:
            furthest = at
    return ends
