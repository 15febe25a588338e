"""Word overlap of two texts, computed from bit signatures of their words."""

from __future__ import annotations

import re
from functools import lru_cache, reduce
from operator import or_
from zlib import crc32

from retrivex.text.cache import TextCache
from retrivex.text.scripts import CJK_WORDS
from retrivex.text.words import read_text

SIGNATURE_BITS = 2048

MIN_WORD = 4  # letters; shorter words of most languages are function words that any two texts share

_WORDS = re.compile(rf"[^\W_]{{{MIN_WORD},}}")

_ASCII_WORDS = re.compile(rf"[A-Za-z0-9]{{{MIN_WORD},}}")  # the same words, in a third of the time
_ANY_WORDS = re.compile(r"[^\W_]+")
_CJK = re.compile(f"[{CJK_WORDS}]")


def word_signature(text: str) -> int:
    """Return the content words of `text` as a bit set of `SIGNATURE_BITS` bits.

    Words of at least `MIN_WORD` letters in any script; Chinese, Japanese and Korean by character pairs, since they
    are written without spaces. Hashed with CRC-32, so that it is the same in every process.
    """
    read = read_text(text)
    is_ascii = read.isascii()
    words = set((_ASCII_WORDS if is_ascii else _WORDS).findall(read))
    if not is_ascii and _CJK.search(read):
        written = {word for word in _ANY_WORDS.findall(read) if _CJK.search(word)}
        words -= written
        words |= {word[i : i + 2] for word in written for i in range(max(1, len(word) - 1))}
    return reduce(or_, map(_bit_of, words), 0)


@lru_cache(maxsize=65_536)
def _bit_of(word: str) -> int:
    return 1 << crc32(word.encode("utf-8", "surrogatepass")) % SIGNATURE_BITS


def common_words(left: int, right: int) -> float:
    r"""Overlap coefficient of two word signatures, :math:`|A \cap B| / \min(|A|, |B|)`, in [0, 1]; 0 if one is empty.

    Examples
    --------
    >>> common_words(word_signature("Honey bees store honey"), word_signature("Their honey feeds bees"))
    0.6666666666666666
    """
    smaller = min(left.bit_count(), right.bit_count())
    return (left & right).bit_count() / smaller if smaller else 0.0


class SignatureCache:
    """Word signatures of texts and overlaps of pairs of texts, kept so that warm queries do not read texts again.

    Parameters
    ----------
    max_entries : most texts, and most pairs of texts
    """

    def __init__(self, max_entries: int = 200_000) -> None:
        self.max_entries = max_entries
        self._signatures = TextCache[str, int](max_entries)
        self._overlaps = TextCache[tuple[str, str], float](max_entries)

    def of(self, text: str) -> int:
        """Signature of `text`."""
        return self._signatures.find([text], lambda texts: map(word_signature, texts))[0]

    def between(self, left: str, right: str) -> float:
        """Share of common words of two texts, as `common_words`."""
        pair = (left, right)
        overlap = self._overlaps.get(pair)
        if overlap is None:
            overlap = common_words(self.of(left), self.of(right))
            self._overlaps.put([pair], [overlap])
        return overlap
