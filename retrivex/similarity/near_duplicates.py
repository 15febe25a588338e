r"""Near-duplicates among texts, found exactly by a set-similarity join.

Texts are taken in order. One that is like none before it stands for itself, and every later text whose trigrams have a
Jaccard similarity of at least t with it repeats it. Comparing all pairs would give the same; three bounds that no
similar pair can miss leave few pairs to compare:

- *Size.* :math:`J \ge t` needs :math:`t |X| \le |Y| \le |X| / t`.
- *Parts.* At most :math:`k = \frac{1-t}{1+t}(|X| + |Y|)` trigrams are in one text alone, so that texts cut into k + 1
  parts have one in common: these are found by sorting, see `retrivex.similarity.signatures`. The usual filter, by the
  rarest trigrams of a text, leaves far more, as texts of one language have most trigrams in common with thousands of
  others.
- *Sketches.* No more than k bits of their parity sketches differ.

Where the threshold is so low that the bounds leave most pairs, what texts have in common is counted out of lists of the
texts that hold each trigram, see `retrivex.similarity.inverted_index`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from retrivex.similarity.inverted_index import Postings
from retrivex.similarity.signatures import ROUNDING, PartTable
from retrivex.similarity.trigrams import SKETCH_BITS, Ints, common_trigrams, trigram_batches, trigrams

PARTS_FROM = 0.82
"""Least threshold at which texts are looked up by their parts.

A part holds (1 + t) / (1 - t) / 2 trigrams on average. The fewer there are, the more texts share one by chance, until
comparing the sketches of all texts is cheaper.
"""

_BLOCK = 1 << 17  # characters and trigrams that are compared at a time, so that memory stays small
_COUNTED_FROM = 10  # comparisons a text from which on making lists of all trigrams costs less than to go on
_LOOKING_UP = 3  # what comparing a text costs that was looked up, by what it costs where all are compared


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
        self.open = np.ones(count, dtype=bool)
        self.of = np.arange(count)
        self.similarity = np.ones(count)
        self.sizes = np.zeros(count, dtype=np.int64)
        self.sketches = np.zeros((SKETCH_BITS // 64, count), dtype=np.uint64)
        self.compared = 0
        self.postings: Postings | None = None
        self.first_words = _count_first_words(threshold)
        self._read()

    def _read(self) -> None:
        longest = max(map(len, self.texts), default=0)
        parts = PartTable(self.threshold, longest, len(self.texts)) if self.threshold >= PARTS_FROM else None
        for batch in trigram_batches(self.texts):
            self.sizes[batch.texts] = batch.sizes
            self.sketches[:, batch.texts] = batch.parity().T
            if parts is not None:
                parts.add(batch)
        self.shared = None if parts is None else parts.shared()
        self.bare: dict[str, list[int]] = {}
        for position in np.flatnonzero(self.sizes == 0).tolist():
            self.bare.setdefault(self.texts[position], []).append(position)

    def absorb(self, position: int) -> None:
        """Find the open later texts that repeat one, and close them."""
        if self.compared > _COUNTED_FROM * len(self.texts) and self.sizes[position]:
            later, common = self._count(position)
        else:
            later, common = self._compare(position)
        union = self.sizes[later] + self.sizes[position] - common
        similarity = common / np.maximum(union, 1)
        for place in np.flatnonzero(union == 0).tolist():  # only equal texts are alike without trigrams
            similarity[place] = self.texts[later[place]] == self.texts[position]
        repeated = similarity >= self.threshold
        found = later[repeated]
        self.of[found], self.similarity[found], self.open[found] = position, similarity[repeated], False

    def _count(self, position: int) -> tuple[Ints, Ints]:
        """Open later texts, and how many trigrams each has in common with one."""
        if self.postings is None:
            self.postings = Postings(self.texts)
        later = np.flatnonzero(self.open[position + 1 :]) + position + 1
        later = later[self.families[later] != self.families[position]]
        return later, self.postings.common(position)[later]

    def _compare(self, position: int) -> tuple[Ints, Ints]:
        """Open later texts that the bounds leave, and how many trigrams each has in common with one."""
        candidates = self._candidates(position)
        later = candidates if candidates is not None and not len(candidates) else self._fitting(position, candidates)
        if not len(later):
            return later, later
        self.compared += len(later)
        own = trigrams(self.texts[position])
        texts = [self.texts[other] for other in later.tolist()]
        blocks = np.cumsum([len(text) + len(own) for text in texts]) // _BLOCK
        edges = [0, *(np.flatnonzero(np.diff(blocks)) + 1).tolist(), len(texts)]
        return later, np.concatenate([common_trigrams(own, texts[start:end]) for start, end in pairwise(edges)])

    def _candidates(self, position: int) -> Ints | None:
        """Later texts that may repeat one, ascending; None for all of them."""
        if not self.sizes[position] and self.threshold > 0:
            same = np.array(self.bare[self.texts[position]])
            return same[same > position]
        if self.shared is None:
            return None
        return self.shared.later(position, (len(self.texts) - position) // _LOOKING_UP)

    def _fitting(self, position: int, later: Ints | None) -> Ints:
        """Those texts that are open and may be similar by size, family and sketch."""
        some: Ints | slice = slice(position + 1, None) if later is None else later
        sizes, own = self.sizes[some], self.sizes[position]
        fits = self.open[some] & (self.families[some] != self.families[position])
        fits &= (sizes >= self.threshold * own - ROUNDING) & (sizes * self.threshold <= own + ROUNDING)
        most = (1 - self.threshold) / (1 + self.threshold) * (sizes + own) + ROUNDING
        first, rest = slice(0, self.first_words), slice(self.first_words, None)
        fits &= self._apart(position, some, first) <= most
        left = fits.nonzero()[0]
        found: Ints = left + position + 1 if later is None else later[left]
        if len(found):
            found = found[self._apart(position, found, first) + self._apart(position, found, rest) <= most[left]]
        return found

    def _apart(self, position: int, others: Ints | slice, words: slice) -> NDArray[np.int64]:
        """Bits of some words of the sketches that differ from one text's."""
        sketches = self.sketches[words]
        bits = np.bitwise_count(sketches[:, others] ^ sketches[:, position, None])
        apart: NDArray[np.int64] = bits.sum(axis=0, dtype=np.int64)
        return apart


def _number(families: Sequence[object]) -> Ints:
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(family, len(numbers)) for family in families], dtype=np.int64)


def _count_first_words(threshold: float) -> int:
    """Return how many words of a sketch separate most texts: the lower the threshold, the more bits may differ."""
    return 16 if threshold >= 0.6 else 24
