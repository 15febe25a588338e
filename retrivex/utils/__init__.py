"""The two published chunkers of bare text; `retrivex.chunking` has the ones that read documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from retrivex.chunking.chunker import check_overlap, check_size
from retrivex.chunking.pieces import Piece, make_chunks
from retrivex.model.chunk import Chunk
from retrivex.model.document import Document
from retrivex.text.sentences import trim_range

_SEARCH_BACK = 100  # characters before the full length in which a good place to break is looked for
_BREAKS = (". ", "! ", "? ", ".\n", "!\n", "?\n", " ")  # the published order: the first that is found decides
_SENTENCE_GAP = re.compile(r"(?<=[.!?])\s+")


class SimpleChunker:
    """Chunks of a fixed number of characters, broken after a sentence or word where one ends near by.

    Parameters
    ----------
    chunk_size : length of a chunk in tokens, estimated as characters / `chars_per_token`
    overlap : tokens that a chunk repeats of the one before; less than `chunk_size`
    chars_per_token : characters of a token, at least 1

    Raises
    ------
    ChunkError
        If `chunk_size` or `chars_per_token` is less than 1, or `overlap` negative or not smaller than `chunk_size`.

    Examples
    --------
    >>> chunks = SimpleChunker(chunk_size=4, overlap=0).chunk_text("Bees sleep. Ants work.", "d")
    >>> [(chunk.text, chunk.metadata.char_start, chunk.metadata.char_end) for chunk in chunks]
    [('Bees sleep. ', 0, 12), ('Ants work.', 12, 22)]
    """

    def __init__(self, chunk_size: int = 200, overlap: int = 50, chars_per_token: int = 4) -> None:
        check_size("chunk_size", chunk_size)
        check_size("chars_per_token", chars_per_token)
        check_overlap(overlap, chunk_size, size_name="chunk_size")
        self.chunk_size = chunk_size
        self.overlap = overlap
        self.chars_per_token = chars_per_token

    @property
    def chunk_chars(self) -> int:
        """Most characters of a chunk; the white space behind it, up to the next one, does not count."""
        return self.chunk_size * self.chars_per_token

    @property
    def overlap_chars(self) -> int:
        """Characters that a chunk repeats of the one before."""
        return self.overlap * self.chars_per_token

    def chunk_text(
        self, text: str, doc_id: str, parent_id: str | None = None, heading_path: Sequence[str] | None = None
    ) -> list[Chunk]:
        """Return the chunks of `text`; the offsets are exact and no character but white space is left out.

        Parameters
        ----------
        doc_id, parent_id, heading_path : written to the metadata of every chunk
        """
        return _chunks(text, doc_id, parent_id, heading_path, self._ranges(text))

    def _ranges(self, text: str) -> Iterator[tuple[int, int]]:
        start = 0
        while len(text) - start > self.chunk_chars:
            # Breaking no earlier than this keeps the next start, `overlap_chars` before the break, beyond this one.
            earliest = max(start + self.overlap_chars + 1, start + self.chunk_chars - _SEARCH_BACK)
            end = _break_before(text, earliest, start + self.chunk_chars)
            yield start, end
            start = end - self.overlap_chars
        yield start, len(text)


class SentenceChunker:
    """Chunks of a number of sentences; a sentence ends at white space after `.`, `!` or `?`.

    Parameters
    ----------
    sentences_per_chunk : at least 1
    overlap_sentences : sentences that a chunk repeats of the one before; less than `sentences_per_chunk`

    Raises
    ------
    ChunkError
        If `sentences_per_chunk` is less than 1, or `overlap_sentences` negative or not smaller.

    Examples
    --------
    >>> [chunk.text for chunk in SentenceChunker(2, 1).chunk_text("One. Two. Three.", "d")]
    ['One. Two.', 'Two. Three.']
    """

    def __init__(self, sentences_per_chunk: int = 3, overlap_sentences: int = 1) -> None:
        check_size("sentences_per_chunk", sentences_per_chunk)
        check_overlap(overlap_sentences, sentences_per_chunk, name="overlap_sentences", size_name="sentences_per_chunk")
        self.sentences_per_chunk = sentences_per_chunk
        self.overlap_sentences = overlap_sentences

    def chunk_text(
        self, text: str, doc_id: str, parent_id: str | None = None, heading_path: Sequence[str] | None = None
    ) -> list[Chunk]:
        """Return the chunks of `text`; the offsets are exact and no character but white space is left out.

        Parameters
        ----------
        doc_id, parent_id, heading_path : written to the metadata of every chunk
        """
        edges = [0, *(match.end() for match in _SENTENCE_GAP.finditer(text)), len(text)]
        sentences = [edge for edge in pairwise(edges) if edge[0] < edge[1]]
        # the last `overlap_sentences` alone would only repeat the chunk before
        stop = max(len(sentences) - self.overlap_sentences, min(len(sentences), 1))
        firsts = range(0, stop, self.sentences_per_chunk - self.overlap_sentences)
        windows = (sentences[first : first + self.sentences_per_chunk] for first in firsts)
        return _chunks(text, doc_id, parent_id, heading_path, ((window[0][0], window[-1][1]) for window in windows))


def _break_before(text: str, earliest: int, latest: int) -> int:
    """Return the offset from `earliest` to `latest` to end a chunk at: after a sentence, after a word, or the last."""
    for mark in _BREAKS:
        found = text.rfind(mark, max(earliest - len(mark), 0), latest)
        if found >= 0:
            return found + len(mark)
    return latest


def _chunks(
    text: str, doc_id: str, parent_id: str | None, heading_path: Sequence[str] | None, ranges: Iterator[tuple[int, int]]
) -> list[Chunk]:
    pieces = (Piece(*trim_range(text, *part), heading_path=heading_path, parent_id=parent_id) for part in ranges)
    return make_chunks(Document(doc_id, text), pieces)
