r"""PartEnum signatures: texts that share a part of their trigrams are candidates for near-duplicates.

With texts cut into k + 1 parts by a hash of their trigrams, two that differ in at most k trigrams have a part that is
the same in both. Source: Arasu, Ganti and Kaushik, "Efficient exact set-similarity joins", VLDB 2006.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from retrivex.similarity.trigrams import Ints, TrigramBatch, Words, distinct

Bools = NDArray[np.bool_]

ROUNDING = 1e-9
"""By which bounds give way, so that no pair of texts is missed by rounding."""

_SHIFT = np.uint64(32)
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class PartTable:
    """Keys of the parts of texts, to be sorted.

    Sizes fall into classes, such that similar texts are of one class or of neighbouring ones. Each text is cut twice:
    into as many parts as its class needs together with the next one, and together with the one before.

    Parameters
    ----------
    threshold : least Jaccard similarity, above 0
    largest : most trigrams of a text
    count : texts there are
    """

    def __init__(self, threshold: float, largest: int, count: int) -> None:
        self.count = count
        edges = [1]
        while edges[-1] <= largest:
            edges.append(int(edges[-1] / threshold + ROUNDING) + 1)
        edges.append(int(edges[-1] / threshold + ROUNDING) + 1)
        self.edges = np.array(edges)
        biggest = self.edges[1:] - 1
        share = (1 - threshold) / (1 + threshold)
        self.parts: Ints = (share * (biggest[:-1] + biggest[1:]) + ROUNDING).astype(np.int64) + 1
        self._owner_bits = np.uint64(max(count - 1, 1).bit_length())
        self._keys: list[Words] = []

    def add(self, batch: TrigramBatch) -> None:
        """Take in the parts of some texts."""
        own = np.searchsorted(self.edges, batch.sizes, side="right") - 1
        self._cut(batch, own)
        self._cut(batch, own - 1)

    def _cut(self, batch: TrigramBatch, classes: Ints) -> None:
        """Cut texts into the parts that a class of sizes and the next one need; -1 for none."""
        counts = np.where(classes >= 0, self.parts[classes], 0)
        starts = np.cumsum(counts) - counts
        owners = np.repeat(np.arange(len(counts)), counts)
        inside = np.flatnonzero(classes[batch.rows] >= 0)
        rows, high, low = batch.rows[inside], batch.high[inside], batch.low[inside]
        # one hash decides on the part, the other hashes its content
        parts = starts[rows] + (high * counts[rows].astype(np.uint64) >> _SHIFT).astype(np.int64)
        sums = np.bincount(parts, low.astype(np.float64), minlength=len(owners)).astype(np.uint64)
        numbers = (np.arange(len(owners)) - starts[owners]).astype(np.uint64)
        keys = _mix(sums * _MIX[0] ^ (classes[owners].astype(np.uint64) << _SHIFT | numbers) * _MIX[2])
        # key and owner in one number, so that a plain sort brings equal keys together, owners ascending
        bits = self._owner_bits
        self._keys.append(keys >> bits << bits | batch.texts[owners].astype(np.uint64))

    def shared(self) -> SharedParts:
        """Return the parts that several texts share; the table is empty then."""
        both = np.concatenate([np.empty(0, dtype=np.uint64), *self._keys])
        self._keys.clear()
        both.sort()
        first = self._opens_group(both)
        both = both[~first | ~np.append(first[1:], True)[: len(both)]]
        starts = np.flatnonzero(self._opens_group(both))
        sizes = np.diff(np.append(starts, len(both)))
        owners = both & ((np.uint64(1) << self._owner_bits) - np.uint64(1))
        return SharedParts(owners.astype(np.int64), np.repeat(starts + sizes, sizes), self.count)

    def _opens_group(self, both: Words) -> Bools:
        """Whether the key of each is another than that of the one before."""
        keys = both >> self._owner_bits
        return np.append(True, keys[1:] != keys[:-1])[: len(both)]


class SharedParts:
    """Texts grouped by the parts that they share.

    Parameters
    ----------
    members : texts, group by group of equal parts, ascending in each
    ends : of each member, where its group ends
    count : of all texts
    """

    def __init__(self, members: Ints, ends: Ints, count: int) -> None:
        self.members = members
        followed = np.flatnonzero(np.arange(len(members)) + 1 < ends)
        followed = followed[np.argsort(members[followed], kind="stable")]
        self.begins, self.ends = followed + 1, ends[followed]
        self.firsts = np.searchsorted(members[followed], np.arange(count + 1))

    def later(self, text: int, most: int) -> Ints | None:
        """Return the later texts that share a part with one, ascending; None where there are more than `most`."""
        own = slice(self.firsts[text], self.firsts[text + 1])
        begins, ends = self.begins[own], self.ends[own]
        if not len(begins):
            return begins
        lengths = ends - begins
        total = int(lengths.sum())
        if total > most:
            return None
        places = np.repeat(begins - np.cumsum(lengths) + lengths, lengths) + np.arange(total)
        return distinct(self.members[places])


def _mix(keys: Words) -> Words:
    keys ^= keys >> np.uint64(29)
    keys *= _MIX[1]
    keys ^= keys >> _SHIFT
    return keys
