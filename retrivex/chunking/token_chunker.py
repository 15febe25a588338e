"""Chunks of a limited number of tokens, cut at the largest paragraph, sentence or word that fits."""

from __future__ import annotations

from collections.abc import Iterator

from semantic_text_splitter import TextSplitter

from retrivex.chunking.chunker import check_overlap, check_size
from retrivex.chunking.pages import page_ranges
from retrivex.chunking.pieces import Piece, make_chunks
from retrivex.model.chunk import Chunk
from retrivex.model.document import Document
from retrivex.text.sentences import trim_range
from retrivex.tokens.tokenizer import Tokenizer, TokenizerSpec, get_tokenizer

# The splitter counts its candidates again and again, up to a whole document that has no break. With more characters
# than these a part is too long without counting, or the time would be quadratic in the length of the text. At worst
# a text of very long tokens (a row of spaces) is cut where it need not be.
_MOST_CHARS_PER_TOKEN = 16
_ALWAYS_COUNTED = 256  # characters

# The splitter also looks for words in all that is left of a sentence, for every chunk: windows keep it linear.
_WINDOW_CHARS_PER_TOKEN = 64
_LEAST_WINDOW = 4096  # characters


def token_ranges(text: str, size: int, overlap: int, tokenizer: Tokenizer) -> list[tuple[int, int]]:
    """Return ranges of at most `size` tokens that cover `text`, without white space at their ends.

    Parameters
    ----------
    size, overlap : in tokens of `tokenizer`; each range begins with at most `overlap` tokens of the one before

    Notes
    -----
    A single character of more than `size` tokens (an emoji can have three) is the only thing that may be longer.
    """
    # a lone surrogate cannot be handed over; one character stands in for it, so that offsets stay
    safe = text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
    found = _split(safe, size, overlap, tokenizer)
    ranges = [(start, end) for start, end in (trim_range(text, *part) for part in found) if start < end]
    counts = tokenizer.count_many([text[start:end] for start, end in ranges])
    # A real vocabulary is not monotonic: a text may have more tokens than the same text with a space in front.
    return [
        part
        for (start, end), count in zip(ranges, counts, strict=True)
        for part in (_halves(text, start, end, size, tokenizer) if count > size else [(start, end)])
    ]


def _split(text: str, size: int, overlap: int, tokenizer: Tokenizer) -> Iterator[tuple[int, int]]:
    """Yield what the splitter makes of the text, window by window."""
    longest = max(size * _MOST_CHARS_PER_TOKEN, _ALWAYS_COUNTED)
    window = max(size * _WINDOW_CHARS_PER_TOKEN, _LEAST_WINDOW)

    def tokens(part: str) -> int:
        return size + len(part) if len(part) > longest else tokenizer.count(part)

    splitter = TextSplitter.from_callback(tokens, size, overlap)
    begin = 0
    while begin < len(text):
        found = [
            (begin + start, begin + start + len(part))
            for start, part in splitter.chunk_indices(text[begin : begin + window])
        ]
        begin += window
        if begin < len(text) and len(found) > 1:
            begin, _ = found.pop()  # the window's edge may have cut it short: the next window begins with it
        yield from found


def _halves(text: str, start: int, end: int, size: int, tokenizer: Tokenizer) -> Iterator[tuple[int, int]]:
    """Halve a range until every part has at most `size` tokens or is one character."""
    start, end = trim_range(text, start, end)
    if end - start <= 1 or tokenizer.count(text[start:end]) <= size:
        if start < end:
            yield start, end
        return
    middle = (start + end) // 2
    yield from _halves(text, start, middle, size, tokenizer)
    yield from _halves(text, middle, end, size, tokenizer)


class TokenChunker:
    """Cuts chunks of at most `size` tokens that end at a paragraph, sentence or word wherever one fits.

    Parameters
    ----------
    size : most tokens of a chunk, at least 1. A single character of more tokens is the only exception
    overlap : most tokens that a chunk repeats of the one before; less than `size`
    tokenizer : whose tokens; see `retrivex.tokens.get_tokenizer`

    Raises
    ------
    ChunkError
        If `size` is less than 1, or `overlap` negative or not smaller than `size`.

    Examples
    --------
    >>> chunker = TokenChunker(size=4, tokenizer=lambda text: len(text.split()))
    >>> [chunk.text for chunk in chunker.chunk(Document("d", "Bees sleep at night. Ants do not."))]
    ['Bees sleep at night. ', 'Ants do not.']
    """

    def __init__(self, size: int = 200, overlap: int = 0, *, tokenizer: TokenizerSpec = "auto") -> None:
        check_size("size", size)
        check_overlap(overlap, size)
        self.size = size
        self.overlap = overlap
        self.tokenizer = get_tokenizer(tokenizer)

    @property
    def name(self) -> str:
        """Kind and settings."""
        return f"token(size={self.size}, overlap={self.overlap}, tokenizer={self.tokenizer.name})"

    def chunk(self, document: Document) -> list[Chunk]:
        """Return the chunks of `document`; see `Chunker`."""
        pieces = [
            Piece(page + start, page + end)
            for page, page_end in page_ranges(document)
            for start, end in token_ranges(document.text[page:page_end], self.size, self.overlap, self.tokenizer)
        ]
        return make_chunks(document, pieces)
