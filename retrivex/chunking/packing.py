"""Fills chunks with blocks up to a number of tokens, and cuts the blocks that do not fit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from retrivex.chunking.blocks import Block
from retrivex.chunking.pieces import Piece
from retrivex.chunking.token_chunker import token_ranges
from retrivex.text.sentences import sentence_ranges
from retrivex.tokens.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Atom:
    """A part of the text that is not cut further; consecutive atoms touch.

    Parameters
    ----------
    tokens : of the text with the white space after it, so that sums are near the count of the joined text
    prefix : what belongs in front of a chunk that begins with this atom
    whole : must not be cut, whatever its length: a table row
    """

    start: int
    end: int
    tokens: int
    prefix: str | None = None
    whole: bool = False


_LEADING_BLANK_LINES = re.compile(r"\s*[\r\n]")


def without_blank_lines(text: str, start: int, end: int) -> tuple[int, int]:
    r"""Return the range without white space, but with the indentation of its first line: code and lists need it.

    Examples
    --------
    >>> without_blank_lines("x:\n\n    y = 1\n", 3, 14)
    (4, 13)
    """
    blank = _LEADING_BLANK_LINES.match(text, start, end)
    start = blank.end() if blank else start
    return start, start + len(text[start:end].rstrip())


class Packer:
    """Packs the blocks of one text into pieces of at most `size` tokens.

    Parameters
    ----------
    text : the whole document; every offset counts in it
    size : most tokens of a piece. Its prefix counts too, unless it alone takes more than half of `size`
    language : for the sentences of blocks that are too long
    """

    def __init__(self, text: str, size: int, tokenizer: Tokenizer, language: str = "en") -> None:
        self.text = text
        self.size = size
        self.tokenizer = tokenizer
        self.language = language
        self._last_prefix: tuple[str, int] = ("", 0)  # with its tokens: the pieces of a table have the same one

    def tokens(self, start: int, end: int) -> int:
        """Return the tokens of what a piece from `start` to `end` would say."""
        start, end = without_blank_lines(self.text, start, end)
        return self.tokenizer.count(self.text[start:end])

    def counts(self, blocks: Sequence[Block]) -> list[int]:
        """Return the tokens of each block, the white space after it included."""
        return self.tokenizer.count_many([self.text[block.start : block.end] for block in blocks])

    def atoms(self, blocks: Sequence[Block]) -> Iterator[Atom]:
        """Yield the blocks as atoms; those over `size` are cut at their children, sentences or words.

        The block after a heading may be cut a little earlier, so that the heading does not stand alone.
        """
        room = self.size
        for block, tokens in zip(blocks, self.counts(blocks), strict=True):
            limit = self.size if block.kind == "heading" else room
            room = max(room - tokens, self.size // 2) if block.kind == "heading" else self.size
            if tokens <= limit or block.kind == "row":
                yield Atom(block.start, block.end, tokens, block.lead, whole=block.kind == "row")
            elif block.children:
                yield from self.atoms(block.children)
            else:
                yield from self._cut(block)

    def _cut(self, block: Block) -> Iterator[Atom]:
        """Cut a block of text at its sentences, and sentences over `size` at words."""
        text = self.text[block.start : block.end]
        starts = [block.start + start for start, _ in sentence_ranges(text, self.language)]
        edges = [block.start, *starts[1:], block.end]
        counts = self.tokenizer.count_many([self.text[start:end] for start, end in pairwise(edges)])
        for (start, end), tokens in zip(pairwise(edges), counts, strict=True):
            if tokens <= self.size:
                yield Atom(start, end, tokens, block.lead)
            else:
                yield from self._cut_words(start, end, block.lead)

    def _cut_words(self, start: int, end: int, prefix: str | None) -> Iterator[Atom]:
        found = token_ranges(self.text[start:end], self.size, 0, self.tokenizer)
        edges = [start, *(start + first for first, _ in found[1:]), end]
        for first, last in pairwise(edges):
            yield Atom(first, last, self.tokens(first, last), prefix)

    def pack(self, atoms: Sequence[Atom], enough: int | None = None) -> Iterator[Piece]:
        """Yield pieces of as many neighbouring atoms as fit.

        Parameters
        ----------
        enough : tokens at which a piece is closed though more would fit; None fills it up
        """
        enough = self.size if enough is None else enough
        first = 0
        while first < len(atoms):
            used = reserved = self.reserved(atoms[first].prefix)
            last = first
            while last < len(atoms) and (last == first or (used < enough and used + atoms[last].tokens <= self.size)):
                used += atoms[last].tokens
                last += 1
            # Tokens of joined text are not the sum of its parts: count what was joined, and give back what is too much.
            while last - first > 1 and reserved + self.tokens(atoms[first].start, atoms[last - 1].end) > self.size:
                last -= 1
            yield from self._pieces(atoms[first:last])
            first = last

    def reserved(self, prefix: str | None) -> int:
        """Return the tokens that a prefix takes from the size of its piece."""
        if not prefix:
            return 0
        if prefix != self._last_prefix[0]:
            self._last_prefix = (prefix, self.tokenizer.count(prefix))
        tokens = self._last_prefix[1]
        return tokens if 2 * tokens <= self.size else 0

    def _pieces(self, atoms: Sequence[Atom]) -> Iterator[Piece]:
        start, end = without_blank_lines(self.text, atoms[0].start, atoms[-1].end)
        prefix = atoms[0].prefix
        if len(atoms) == 1 and not atoms[0].whole and self.tokens(start, end) > self.size:
            for first, last in token_ranges(self.text[start:end], self.size, 0, self.tokenizer):
                yield Piece(start + first, start + last, prefix)
        elif start < end:
            yield Piece(start, end, prefix)
