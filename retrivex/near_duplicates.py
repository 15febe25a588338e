r"""Which texts repeat an earlier one almost word for word: exact, by a set-similarity join.

Texts are taken in order. One that is like none before it stands for itself, and every later text whose trigrams have a
Jaccard similarity of at least t with it repeats it. Comparing all pairs would give the same; three bounds that no
similar pair can miss leave few pairs to compare:

- *Size.* :math:`J \ge t` needs :math:`t |X| \le |Y| \le |X| / t`.
- *Difference.* :math:`J \ge t` allows at most :math:`k = \frac{1-t}{1+t}(|X| + |Y|)` trigrams in one text alone, so no
  more bits may differ between parity sketches.
- *Parts.* Trigrams are hashed into k + 1 parts. At most k of the parts can differ, so that one of them is the same in
  both texts: texts that share a part are found by sorting (Arasu, Ganti and Kaushik, "Efficient exact set-similarity
  joins", VLDB 2006). Prefixes of the rarest trigrams (the usual filter) leave too much: texts of one language share
  half of their trigrams with thousands of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retrivex.trigrams import SKETCH_BITS, Ints, TrigramBatch, Words, jaccard, trigram_batches, trigrams

PARTS_FROM = 0.82
"""Least threshold at which texts are looked up by their parts. Parts hold (1 + t) / (1 - t) / 2 trigrams on average: the
fewer there are, the more texts share one by chance, until comparing the sketches of all of them is cheaper."""

_CELLS = 1 << 16  # that trigrams are hashed into, to count how many two texts have in common at most
_BLOCK = 2_000  # texts whose trigrams are compared at a time, so that memory stays small
_ROUNDING = 1e-9  # by which bounds give way, so that rounding misses no pair
_LOOKING_UP = 3  # what comparing a text costs that was looked up, by what it costs where all are compared
_SHIFT = np.uint64(32)
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


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
    texts : n of them, in the order in which they are taken; equal ones count as repeats too
    threshold : least Jaccard similarity of character trigrams, in [0, 1]
    families : n values; texts of one family never repeat each other. None: each may repeat any

    Examples
    --------
    >>> found = repeats(["the cat sat on the mat", "a dog", "the cat sat on the mat."], 0.9)
    >>> found.of.tolist(), found.similarity.round(2).tolist()
    ([0, 1, 0], [1.0, 1.0, 0.95])
    """
    join = _Join(texts, threshold, families)
    for position in range(len(texts)):
        if join.open[position]:
            join.absorb(position)
    return Repeats(join.of, join.similarity)


class _Join:
    """The texts, what is known of them, and which are open: not yet found to repeat another."""

    def __init__(self, texts: Sequence[str], threshold: float, families: Sequence[object] | None) -> None:
        count = len(texts)
        self.texts = texts
        self.threshold = threshold
        self.families = np.arange(count) if families is None else _numbered(families)
        self.open = np.ones(count, dtype=bool)
        self.of = np.arange(count)
        self.similarity = np.ones(count)
        self.sizes = np.zeros(count, dtype=np.int64)
        self.sketches = np.zeros((SKETCH_BITS // 64, count), dtype=np.uint64)
        self.first_words = _words_that_tell(threshold)
        self.starts = np.zeros(count, dtype=np.int64)
        self.held = np.zeros(_CELLS, dtype=bool)
        cells: list[NDArray[np.uint16]] = [np.empty(0, dtype=np.uint16)]
        parts = _PartTable(threshold, max(map(len, texts), default=0)) if threshold >= PARTS_FROM else None
        read = 0
        for batch in trigram_batches(texts):
            self.sizes[batch.texts] = batch.sizes
            self.starts[batch.texts] = read + np.cumsum(batch.sizes) - batch.sizes
            self.sketches[:, batch.texts] = batch.parity().T
            cells.append((batch.low % np.uint64(_CELLS)).astype(np.uint16))
            read += len(cells[-1])
            if parts is not None:
                parts.add(batch)
        self.cells = np.concatenate(cells)
        self.shared = None if parts is None else parts.shared(count)

    def absorb(self, position: int) -> None:
        """Find the open later texts that repeat one, and close them."""
        later = self._fitting(position, self._candidates(position))
        later = np.concatenate([self._overlapping(position, part) for part in _blocks(later)])
        own = trigrams(self.texts[position]) if len(later) else None
        for other in later.tolist():
            equal = own is None or self.texts[other] == self.texts[position]
            similarity = 1.0 if equal else jaccard(own, trigrams(self.texts[other]))
            if similarity >= self.threshold:
                self.of[other], self.similarity[other], self.open[other] = position, similarity, False

    def _candidates(self, position: int) -> Ints | None:
        """Later texts that may repeat one, ascending: those that share a part with it; None for all, if not few do."""
        if self.shared is None:
            return None
        return self.shared.later(position, (len(self.texts) - position) // _LOOKING_UP)

    def _fitting(self, position: int, later: Ints | None) -> Ints:
        """Those texts that are open and may be similar by size, family and sketch."""
        some: Ints | slice = slice(position + 1, None) if later is None else later
        sizes, own = self.sizes[some], self.sizes[position]
        fits = self.open[some] & (self.families[some] != self.families[position])
        fits &= (sizes >= self.threshold * own - _ROUNDING) & (sizes * self.threshold <= own + _ROUNDING)
        # trigrams that similar texts may hold alone, and so bits that may differ
        most = (1 - self.threshold) / (1 + self.threshold) * (sizes + own) + _ROUNDING
        first = slice(0, self.first_words)
        fits &= self._apart(position, some, first) <= most
        left = fits.nonzero()[0]
        found = left + position + 1 if later is None else later[left]
        rest = slice(self.first_words, None)
        return found[self._apart(position, found, first) + self._apart(position, found, rest) <= most[left]]

    def _overlapping(self, position: int, later: Ints) -> Ints:
        """Those texts with enough trigrams whose cell one of this text's trigrams falls into too."""
        own = self.cells[self.starts[position] : self.starts[position] + self.sizes[position]]
        sizes = self.sizes[later]
        ends = np.cumsum(sizes)
        places = np.repeat(self.starts[later] - ends + sizes, sizes) + np.arange(int(sizes.sum()))
        self.held[own] = True
        common = np.concatenate(([0], np.cumsum(self.held[self.cells[places]])))
        self.held[own] = False
        least = self.threshold / (1 + self.threshold) * (sizes + self.sizes[position]) - _ROUNDING
        return later[common[ends] - common[ends - sizes] >= least]

    def _apart(self, position: int, others: Ints | slice, words: slice) -> NDArray[np.uint16]:
        """Bits of the sketches that differ from one text's."""
        sketches = self.sketches[words]
        bits = np.bitwise_count(sketches[:, others] ^ sketches[:, position, None])
        apart: NDArray[np.uint16] = bits.sum(axis=0, dtype=np.uint16)
        return apart


class _PartTable:
    """Keys of the parts of texts: texts with a key in common hold the same trigrams in some part.

    Sizes fall into classes, such that texts of sizes that may be similar are in the same class or in neighbouring ones.
    Each text is cut into parts twice, as many as its class and the next one up need, and its class and the next one down.
    """

    def __init__(self, threshold: float, largest: int) -> None:
        edges = [1]
        while edges[-1] <= largest or len(edges) < 3:
            edges.append(int(edges[-1] / threshold + _ROUNDING) + 1)
        edges += [int(edges[-1] / threshold + _ROUNDING) + 1]
        self.edges = np.array(edges)
        share = (1 - threshold) / (1 + threshold)
        biggest = self.edges[1:] - 1
        self.parts = (share * (biggest[:-1] + biggest[1:]) + _ROUNDING).astype(np.int64) + 1
        self.owners: list[Ints] = []
        self.keys: list[Words] = []

    def add(self, batch: TrigramBatch) -> None:
        """Take in the parts of some texts."""
        own = np.searchsorted(self.edges, batch.sizes, side="right") - 1
        for pair_of_classes in (own, own - 1):
            counts = np.where(pair_of_classes >= 0, self.parts[pair_of_classes], 0)
            starts = np.cumsum(counts) - counts
            # the high hash decides on the part, the low one tells its trigrams from others
            parts = (batch.high * counts[batch.rows].astype(np.uint64) >> _SHIFT).astype(np.int64)
            owners = np.repeat(np.arange(len(counts)), counts)
            numbers = np.arange(len(owners)) - starts[owners]
            held = (pair_of_classes[batch.rows] >= 0).nonzero()[0]
            sums = np.bincount(starts[batch.rows[held]] + parts[held], batch.low[held], minlength=len(owners))
            names = pair_of_classes[owners].astype(np.uint64) << _SHIFT | numbers.astype(np.uint64)
            self.owners.append(batch.texts[owners])
            self.keys.append(_mixed(sums.astype(np.uint64) * _MIX[0] ^ names * _MIX[2]))

    def shared(self, count: int) -> _SharedParts:
        """Return the parts that several of `count` texts share."""
        if not self.keys:
            return _SharedParts(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), count)
        bits = np.uint64(max(count - 1, 1).bit_length())
        # one number of key and owner, so that a plain sort brings equal keys together, owners ascending
        both = np.concatenate(self.keys) >> bits << bits | np.concatenate(self.owners).astype(np.uint64)
        both.sort()
        keys = both >> bits
        firsts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
        ends = np.repeat(np.append(firsts[1:], len(keys)), np.diff(np.append(firsts, len(keys))))
        return _SharedParts((both & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int64), ends, count)


class _SharedParts:
    """Owners of equal parts, group by group.

    Parameters
    ----------
    members : owners, ascending in each group
    ends : of each member, where its group ends
    count : texts
    """

    def __init__(self, members: Ints, ends: Ints, count: int) -> None:
        self.members = members
        places = np.arange(len(members)) + 1
        # a text's last place in a group has none after it
        open_places = np.flatnonzero(places < ends)
        order = open_places[np.argsort(members[open_places], kind="stable")]
        self.begins, self.ends = places[order], ends[order]
        self.firsts = np.searchsorted(members[order], np.arange(count + 1))

    def later(self, text: int, most: int) -> Ints | None:
        """Return the later texts that share a part with one, ascending; None where comparing `most` texts is cheaper."""
        own = slice(self.firsts[text], self.firsts[text + 1])
        begins, ends = self.begins[own], self.ends[own]
        lengths = ends - begins
        total = int(lengths.sum())
        if total > most:
            return None
        places = np.repeat(begins - np.cumsum(lengths) + lengths, lengths) + np.arange(total)
        return np.unique(self.members[places])


def _mixed(keys: Words) -> Words:
    keys ^= keys >> np.uint64(29)
    keys *= _MIX[1]
    keys ^= keys >> _SHIFT
    return keys


def _blocks(texts: Ints) -> list[Ints]:
    return [texts[start : start + _BLOCK] for start in range(0, max(len(texts), 1), _BLOCK)]


def _numbered(families: Sequence[object]) -> Ints:
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(family, len(numbers)) for family in families], dtype=np.int64)


def _words_that_tell(threshold: float) -> int:
    """How much of a sketch tells most texts apart: the lower the threshold, the more bits may differ."""
    return 16 if threshold >= 0.6 else 24
