"""The tokens of a text and of its parts, by encoding it once.

A byte-pair tokenizer of the GPT family first cuts a text into words with a regular expression and never merges across
a cut. Those of `PATTERNS` always cut before a space with no white space behind it, whatever stands in front, and behind
line breaks with neither white space nor a slash behind them. A part that begins and ends at such places has the tokens
that it has in the whole, but for its first word, which has lost the space in front of it, and for the space at its end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import tiktoken
from numpy.typing import NDArray

from retrivex.text.cache import TextCache

PATTERNS = frozenset({"cl100k_base", "o200k_base", "o200k_harmony"})
"""Encodings whose expressions cut as described above."""

_MAX_WORDS = 20_000  # first words of parts that are remembered
_FIRST_WORD = re.compile(r"\S+[\r\n]*")
_BREAKS = " \n"


class PartCounter:
    """Counts texts and their parts with one of the encodings that cut at such places; safe for several threads."""

    def __init__(self, encoding: tiktoken.Encoding) -> None:
        self._encode = encoding.encode_ordinary
        self._decode = encoding.decode_single_token_bytes
        # bytes of each token; 0 where not looked up yet
        self._sizes: NDArray[np.int64] = np.zeros(encoding.n_vocab, dtype=np.int64)
        self._differences = TextCache[str, int](_MAX_WORDS)

    def read(self, text: str) -> EncodedText | None:
        """Encode a text; None where it has no UTF-8 form."""
        try:
            data = text.encode()
        except UnicodeEncodeError:
            return None
        tokens = np.array(self._encode(text), dtype=np.int64)
        sizes = self._sizes[tokens]
        if not sizes.all():
            for token in set(tokens[sizes == 0].tolist()):
                self._sizes[token] = len(self._decode(token))
            sizes = self._sizes[tokens]
        return EncodedText(text, data, sizes.cumsum() - sizes, self)

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        return len(self._encode(text))

    def lost_with_space(self, text: str, at: int) -> int:
        """Return how many tokens more the word at a place has without the space in front of it."""
        found = _FIRST_WORD.match(text, at)
        word = found[0] if found else ""
        return self._differences.find([word], lambda words: [self.count(w) - self.count(f" {w}") for w in words])[0]


class EncodedText:
    """A text that was encoded.

    Parameters
    ----------
    text, data : the same, as characters and as bytes
    starts : shape (n,), where in the bytes each token begins
    counter : counts what does not lie between cuts

    Attributes
    ----------
    tokens : of the whole
    """

    __slots__ = ("_counter", "_data", "_starts", "_text", "tokens")

    def __init__(self, text: str, data: bytes, starts: NDArray[np.int64], counter: PartCounter) -> None:
        self.tokens = len(starts)
        self._text = text
        self._data = data
        self._starts = starts
        self._counter = counter

    def parts(self, ends: Sequence[int]) -> list[int]:
        """Return the tokens of each part by itself, given where they end: the first begins at 0, each other behind one.

        Examples
        --------
        >>> counter = PartCounter(tiktoken.get_encoding("cl100k_base"))
        >>> read = counter.read("Bees sleep. Ants work.")
        >>> read.tokens, read.parts([12, 22])
        (8, [5, 4])
        """
        text, made = self._text, []
        # a word begins with the space in front of it
        cuts = [end - text.startswith(" ", end - 1) for end in ends[:-1]]
        reached = [0, *self._starts.searchsorted(self._bytes_before(cuts)).tolist(), self.tokens]
        low, was_cut = 0, True
        for number, high in enumerate(ends):
            is_last = high == len(text)
            is_cut = is_last or (text[high - 1] in _BREAKS and not text[high].isspace() and text[high] != "/")
            spaces = 0 if is_last else self._spaces_lost(low, high)
            if was_cut and is_cut and spaces is not None:
                count = reached[number + 1] - reached[number] + spaces
                if low and text[low - 1] == " ":
                    count += self._counter.lost_with_space(text, low)
                made.append(count)
            else:
                made.append(self._counter.count(text[low:high]))
            low, was_cut = high, is_cut
        return made

    def _spaces_lost(self, low: int, high: int) -> int | None:
        """Tokens that a part has more by itself, as the space at its end is then one; None where that is not known."""
        if self._text[high - 1] != " ":
            return 0
        before = self._text[max(low, high - 3) : high - 1]
        if not before[-1:].isspace():
            return 1
        return 0 if before[-1] == " " and not before[:-1].isspace() and high - low > 2 else None

    def _bytes_before(self, places: list[int]) -> list[int]:
        if len(self._data) == len(self._text):
            return places
        made, low, reached = [], 0, 0
        for place in places:
            reached += len(self._text[low:place].encode())
            low = place
            made.append(reached)
        return made
