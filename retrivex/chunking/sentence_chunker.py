"""Chunks of a fixed number of sentences."""

from __future__ import annotations

from collections.abc import Iterator

from retrivex.chunking.chunker import check_overlap, check_size
from retrivex.chunking.pages import page_ranges
from retrivex.chunking.pieces import Piece, make_chunks
from retrivex.model.chunk import Chunk
from retrivex.model.document import Document
from retrivex.text.sentences import sentence_ranges


class SentenceChunker:
    """Cuts chunks of `size` sentences, each repeating the last `overlap` sentences of the one before.

    `retrivex.utils.SentenceChunker` is the published class that takes bare text and knows only `.`, `!` and `?`.

    Parameters
    ----------
    size : sentences of a chunk, at least 1; their length in tokens is not bounded
    overlap : sentences shared with the chunk before; less than `size`
    language : ISO 639-1 code, see `sentence_ranges`

    Raises
    ------
    ChunkError
        If `size` is less than 1, or `overlap` negative or not smaller than `size`.

    Examples
    --------
    >>> chunker = SentenceChunker(size=2, overlap=1)
    >>> [chunk.text for chunk in chunker.chunk(Document("d", "One. Two. Three."))]
    ['One. Two.', 'Two. Three.']
    """

    def __init__(self, size: int = 3, overlap: int = 1, *, language: str = "en") -> None:
        check_size("size", size)
        check_overlap(overlap, size)
        self.size = size
        self.overlap = overlap
        self.language = language

    @property
    def name(self) -> str:
        """Kind and settings."""
        return f"sentence(size={self.size}, overlap={self.overlap}, language={self.language})"

    def chunk(self, document: Document) -> list[Chunk]:
        """Return the chunks of `document`; see `Chunker`."""
        return make_chunks(
            document, [piece for page in page_ranges(document) for piece in self._pieces(document, *page)]
        )

    def _pieces(self, document: Document, page: int, page_end: int) -> Iterator[Piece]:
        ranges = sentence_ranges(document.text[page:page_end], self.language)
        # the last `overlap` sentences alone would only repeat the chunk before
        firsts = range(0, max(len(ranges) - self.overlap, min(len(ranges), 1)), self.size - self.overlap)
        for first in firsts:
            window = ranges[first : first + self.size]
            yield Piece(page + window[0][0], page + window[-1][1])
