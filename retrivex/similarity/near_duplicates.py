r"""Near-duplicates among texts, found exactly by a set-similarity join.

Texts are taken in order. One that is like none before it stands for itself, and every later text whose trigrams have a
Jaccard similarity of at least t with it repeats it. Comparing all pairs would give the same; two bounds that no similar
pair can miss leave few pairs to compare:

- *Size.* :math:`J \ge t` needs :math:`t |X| \le |Y| \le |X| / t`.
- *Sketches.* At most :math:`k = \frac{1-t}{1+t}(|X| + |Y|)` trigrams are in one text alone, so that no more than k bits
  of their parity sketches differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from retrivex.similarity.trigrams import SKETCH_BITS, Ints, common_trigrams, trigram_batches, trigrams

_BLOCK = 1 << 17  # characters and trigrams that are compared at a time, so that memory stays small
_ROUNDING = 1e-9  # no pair is missed that is alike by exactly the threshold


@dataclass(frozen=True, slots=True)
class Repeats:
    """Which of n texts repeat which.

    Parameters
    ----------
    of : shape (n,), position of the text that each one repeats; its own where it repeats none
    similarity : shape (n,), with that text; 1 for those that repeat none
    """

    of: Ints
    similarity: NDArray[np.float64]


def repeats(texts: Sequence[str], threshold: float, families: Sequence[object] | None = None) -> Repeats:
    """Find the texts that repeat an earlier one.

    Parameters
    ----------
    texts : n of them, in the order in which they are taken; equal ones are repeats too
    threshold : least Jaccard similarity of character trigrams, in [0, 1]
    families : n values; texts of one family never repeat each other. None: each may repeat any

    Examples
    --------
    >>> found = repeats(["the cat sat on the mat", "a dog", "the cat sat on the mat."], 0.9)
    >>> found.of.tolist(), found.similarity.round(2).tolist()
    ([0, 1, 0], [1.0, 1.0, 0.94])
    """
    join = _Join(texts, threshold, families)
    for position in range(len(texts)):
        if join.open[position]:
            join.absorb(position)
    return Repeats(join.of, join.similarity)


class _Join:
    """The state of a join: sizes and sketches of the texts, and which of them are not yet found to repeat another."""

    def __init__(self, texts: Sequence[str], threshold: float, families: Sequence[object] | None) -> None:
        count = len(texts)
        self.texts = texts
        self.threshold = threshold
        self.families = np.arange(count) if families is None else _number(families)
        self.same = _number(texts)
        self.open = np.ones(count, dtype=bool)
        self.of = np.arange(count)
        self.similarity = np.ones(count)
        self.sizes = np.zeros(count, dtype=np.int64)
        self.sketches = np.zeros((SKETCH_BITS // 64, count), dtype=np.uint64)
        self.first_words = _count_first_words(threshold)
        for batch in trigram_batches(texts):
            self.sizes[batch.texts] = batch.sizes
            self.sketches[:, batch.texts] = batch.parity().T

    def absorb(self, position: int) -> None:
        """Find the open later texts that repeat one, and close them."""
        later = self._fitting(position)
        common = self._count_common(position, later)
        union = self.sizes[later] + self.sizes[position] - common
        similarity = common / np.maximum(union, 1)
        bare = union == 0  # only equal texts are alike without trigrams
        similarity[bare] = self.same[later[bare]] == self.same[position]
        repeated = similarity >= self.threshold
        found = later[repeated]
        self.of[found], self.similarity[found], self.open[found] = position, similarity[repeated], False

    def _count_common(self, position: int, later: Ints) -> Ints:
        """How many trigrams each of some texts has in common with one."""
        if not len(later):
            return later
        own = trigrams(self.texts[position])
        texts = [self.texts[other] for other in later.tolist()]
        blocks = np.cumsum([len(text) + len(own) for text in texts]) // _BLOCK
        edges = [0, *(np.flatnonzero(np.diff(blocks)) + 1).tolist(), len(texts)]
        return np.concatenate([common_trigrams(own, texts[start:end]) for start, end in pairwise(edges)])

    def _fitting(self, position: int) -> Ints:
        """Later texts that are open and may be similar by size, family and sketch."""
        later = slice(position + 1, None)
        sizes, own = self.sizes[later], self.sizes[position]
        fits = self.open[later] & (self.families[later] != self.families[position])
        fits &= (sizes >= self.threshold * own - _ROUNDING) & (sizes * self.threshold <= own + _ROUNDING)
        most = (1 - self.threshold) / (1 + self.threshold) * (sizes + own) + _ROUNDING
        first, rest = slice(0, self.first_words), slice(self.first_words, None)
        left = (fits & (self._apart(position, later, first) <= most)).nonzero()[0]
        found: Ints = left + position + 1
        bits = self._apart(position, found, first) + self._apart(position, found, rest)
        close: Ints = found[bits <= most[left]]
        return close

    def _apart(self, position: int, others: Ints | slice, words: slice) -> NDArray[np.uint16]:
        """Bits of some words of the sketches that differ from one text's."""
        sketches = self.sketches[words]
        bits = np.bitwise_count(sketches[:, others] ^ sketches[:, position, None])
        apart: NDArray[np.uint16] = bits.sum(axis=0, dtype=np.uint16)
        return apart


def _number(values: Sequence[object]) -> Ints:
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)


def _count_first_words(threshold: float) -> int:
    """Return how many words of a sketch separate most texts: the lower the threshold, the more bits may differ."""
    return 8 if threshold >= 0.8 else 16 if threshold >= 0.6 else 24
