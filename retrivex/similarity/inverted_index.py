"""An inverted index of trigrams: it counts what one text has in common with all others, without reading them.

Pays for its memory where unrelated texts are nearly similar enough, so that no bound separates them: counting what two
have in common then costs as much as is in common, and not as much as there is in both. Source: ScanCount in Li, Lu and
Lu, "Efficient merging and filtering algorithms for approximate string searches", ICDE 2008.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from retrivex.similarity.trigrams import Ints, trigram_batches


class Postings:
    """The texts that hold each trigram.

    Parameters
    ----------
    texts : n of them

    Examples
    --------
    >>> Postings(["banana", "ana ana", "cherry"]).common(0).tolist()
    [3, 1, 0]
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._count = len(texts)
        self._sizes = np.zeros(len(texts), dtype=np.int64)
        self._starts = np.zeros(len(texts), dtype=np.int64)
        keys = [np.empty(0, dtype=np.uint64)]
        owners = [np.empty(0, dtype=np.int32)]
        read = 0
        for batch in trigram_batches(texts):
            self._sizes[batch.texts] = batch.sizes
            self._starts[batch.texts] = read + np.cumsum(batch.sizes) - batch.sizes
            keys.append(batch.keys())
            owners.append(batch.texts[batch.rows].astype(np.int32))
            read += len(batch.rows)
        every = np.concatenate(keys)
        keys.clear()
        order = np.argsort(every)
        every = every[order]
        first = np.flatnonzero(np.append(True, every[1:] != every[:-1])[:read])
        self._bounds = np.append(first, read)
        self._texts = np.concatenate(owners)[order]
        self._trigrams = np.empty(read, dtype=np.int32)
        self._trigrams[order] = np.repeat(np.arange(len(first), dtype=np.int32), np.diff(self._bounds))

    def common(self, text: int) -> Ints:
        """Return how many distinct trigrams each text has in common with one, shape (n,)."""
        start = self._starts[text]
        own = self._trigrams[start : start + self._sizes[text]]
        begins, ends = self._bounds[own].tolist(), self._bounds[own + 1].tolist()
        found = [self._texts[begin:end] for begin, end in zip(begins, ends, strict=True)]
        return np.bincount(np.concatenate(found), minlength=self._count) if found else np.zeros(self._count, np.int64)
