"""How many words two texts share, by signatures that are quick to compare."""

from __future__ import annotations

import re
from zlib import crc32

SIGNATURE_BITS = 2048

MIN_WORD = 4  # letters; shorter words of most languages are function words that any two texts share

_WORDS = re.compile(r"[^\W_]+")

_CJK = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")


def word_signature(text: str) -> int:
    """Return the content words of `text` as a bit set of `SIGNATURE_BITS` bits.

    Words of at least `MIN_WORD` letters in any script; Chinese, Japanese and Korean by character pairs, since they
    are written without spaces. Hashed with CRC-32, so that it is the same in every process.
    """
    bits = 0
    for word in set(_WORDS.findall(text.lower())):
        if _CJK.search(word):
            for pair in {word[i : i + 2] for i in range(max(1, len(word) - 1))}:
                bits |= 1 << (crc32(pair.encode("utf-8", "surrogatepass")) % SIGNATURE_BITS)
        elif len(word) >= MIN_WORD:
            bits |= 1 << (crc32(word.encode("utf-8", "surrogatepass")) % SIGNATURE_BITS)
    return bits


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
    """Word signatures by text, and how much neighbours share; bounded, so that warm queries do not read words again.

    Two generations: when the young one is full it becomes the old one, and what was old is forgotten.

    Parameters
    ----------
    max_entries : most texts in both together, and most pairs of texts
    """

    def __init__(self, max_entries: int = 200_000) -> None:
        self.max_entries = max_entries
        self._young: dict[str, int] = {}
        self._old: dict[str, int] = {}
        self._young_shares: dict[tuple[str, str], float] = {}
        self._old_shares: dict[tuple[str, str], float] = {}

    def of(self, text: str) -> int:
        """Signature of `text`."""
        signature = self._young.get(text)
        if signature is None:
            signature = self._old.get(text)
            if signature is None:
                signature = word_signature(text)
            if len(self._young) >= self.max_entries // 2:
                self._old, self._young = self._young, {}
            self._young[text] = signature
        return signature

    def between(self, left: str, right: str) -> float:
        """Share of common words of two texts, as `common_words`."""
        pair = (left, right)
        share = self._young_shares.get(pair)
        if share is None:
            share = self._old_shares.get(pair)
            if share is None:
                share = common_words(self.of(left), self.of(right))
            if len(self._young_shares) >= self.max_entries // 2:
                self._old_shares, self._young_shares = self._young_shares, {}
            self._young_shares[pair] = share
        return share
