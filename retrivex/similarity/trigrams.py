r"""Character trigrams of texts: their Jaccard similarity, and sketches that bound it from above.

A text's trigrams are the set of all its stretches of three characters (Unicode code points). Texts :math:`x, y` with
trigram sets :math:`X, Y` are alike by the Jaccard similarity :math:`|X \cap Y| / |X \cup Y|` (Broder, "On the
resemblance and containment of documents", 1997).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

SKETCH_BITS = 2048
"""Bits of a text's parity sketch: some three times the trigrams of a passage of 200 tokens."""

_CELLS = 1 << 18  # characters that are read at a time, so that memory stays small
_TABLE_BITS = 16
_CODE_POINT = 21  # bits that hold any Unicode character
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93))


def trigrams(text: str) -> Ints:
    """Return the distinct trigrams of a text as numbers, ascending; none for texts of less than three characters.

    Examples
    --------
    >>> len(trigrams("banana")), len(trigrams("an"))
    (3, 0)
    """
    if len(text) < 3:
        return np.empty(0, dtype=np.int64)
    return distinct(_encode(_characters(text)))


def trigram_jaccard(left: str, right: str) -> float:
    r"""Return how much two texts have in common, :math:`|X \cap Y| / |X \cup Y|` of their trigrams, in [0, 1].

    Equal texts have 1; a text without trigrams has 0 with any other.

    Examples
    --------
    >>> trigram_jaccard("abcd", "bcde")
    0.3333333333333333
    >>> trigram_jaccard("ab", "ab"), trigram_jaccard("ab", "abc")
    (1.0, 0.0)
    """
    return 1.0 if left == right else jaccard(trigrams(left), trigrams(right))


def jaccard(left: Ints, right: Ints) -> float:
    """Return the Jaccard similarity of two sets given as ascending distinct numbers; 0 where both are empty."""
    common = len(np.intersect1d(left, right, assume_unique=True))
    union = len(left) + len(right) - common
    return common / union if union else 0.0


def common_trigrams(own: Ints, texts: Sequence[str]) -> Ints:
    """Return how many of some trigrams stand in each text, shape (len(texts),).

    Parameters
    ----------
    own : shape (m,), the trigrams as `trigrams` gives them

    Examples
    --------
    >>> common_trigrams(trigrams("banana"), ["bananas", "ana ana", "an", ""]).tolist()
    [3, 1, 0, 0]
    """
    characters = _characters("".join(texts))
    if not len(own) or len(characters) < 3:
        return np.zeros(len(texts), dtype=np.int64)
    codes = _encode(characters)
    rows = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    codes[rows[:-2] != rows[2:]] = -1  # begun in one text and ended in another
    # which of the trigrams each could be, by a hash; those that share theirs with another are looked for one by one
    numbers = np.arange(len(own))
    held = np.zeros((len(texts), len(own)), dtype=bool)
    table = np.zeros(1 << _TABLE_BITS, dtype=np.int32)
    table[_hash(own)] = numbers
    found = table[_hash(codes)]
    at = np.flatnonzero(own[found] == codes)
    held[rows[at], found[at]] = True
    for number in np.flatnonzero(table[_hash(own)] != numbers).tolist():
        held[rows[np.flatnonzero(codes == own[number])], number] = True
    counts: Ints = np.count_nonzero(held, axis=1)
    return counts


def _hash(codes: Ints) -> Words:
    return codes.view(np.uint64) * _MIX[0] >> np.uint64(64 - _TABLE_BITS)


def distinct(numbers: Ints) -> Ints:
    """Sort numbers in place and return each once: np.unique, in a third of the time for some hundred of them."""
    numbers.sort()
    return numbers[np.append(True, numbers[1:] != numbers[:-1])] if len(numbers) else numbers


def _characters(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def _encode(characters: NDArray[np.uint32]) -> Ints:
    """Three characters as one number, along the last axis."""
    wide = characters.astype(np.int64)
    return wide[..., :-2] | wide[..., 1:-1] << _CODE_POINT | wide[..., 2:] << 2 * _CODE_POINT


@dataclass(frozen=True, slots=True)
class TrigramBatch:
    """Distinct trigrams of some texts, hashed.

    Parameters
    ----------
    texts : shape (b,), numbers of the texts
    sizes : shape (b,), distinct trigrams of each
    rows : shape (t,), of each trigram the place of its text in `texts`
    hashes : shape (t,), of each trigram, in [0, 2^32)
    """

    texts: Ints
    sizes: Ints
    rows: Ints
    hashes: Words

    def parity(self) -> Words:
        """Return a sketch of each text, shape (b, SKETCH_BITS / 64): which bits are hit by an odd number of trigrams.

        Sets that differ in d trigrams have sketches that differ in at most d bits (the bitmap filter of Sandes, Teodoro
        and Melo, "Bitmap filter: speeding up exact set similarity joins with bitwise operations", 2020).
        """
        cells = self.rows * SKETCH_BITS + (self.hashes % np.uint64(SKETCH_BITS)).astype(np.int64)
        odd = np.bincount(cells, minlength=len(self.texts) * SKETCH_BITS) & 1
        return np.packbits(odd.astype(bool).reshape(len(self.texts), SKETCH_BITS), axis=1).view(np.uint64)


def trigram_batches(texts: Sequence[str]) -> Iterator[TrigramBatch]:
    """Read texts in batches of similar length, the shortest first; texts without trigrams are left out."""
    order = sorted(
        (number for number, text in enumerate(texts) if len(text) > 2), key=lambda number: len(texts[number])
    )
    start = 0
    while start < len(order):
        end = start + 1
        while end < len(order) and (end + 1 - start) * len(texts[order[end]]) <= _CELLS:
            end += 1
        yield _batch([texts[number] for number in order[start:end]], np.array(order[start:end], dtype=np.int64))
        start = end


def _batch(texts: Sequence[str], numbers: Ints) -> TrigramBatch:
    lengths = np.array([len(text) for text in texts])
    characters = np.zeros((len(texts), int(lengths[-1])), dtype=np.uint32)
    for row, text in enumerate(texts):
        characters[row, : len(text)] = _characters(text)
    codes = _encode(characters)
    codes[np.arange(codes.shape[1]) >= lengths[:, None] - 2] = -1
    codes.sort(axis=1)
    new = codes >= 0
    new[:, 1:] &= codes[:, 1:] != codes[:, :-1]
    rows, _ = np.nonzero(new)
    mixed = codes[new].view(np.uint64) * _MIX[0]
    mixed ^= mixed >> np.uint64(32)
    mixed *= _MIX[1]
    return TrigramBatch(numbers, new.sum(axis=1), rows, mixed & np.uint64(0xFFFFFFFF) ^ mixed >> np.uint64(39))
