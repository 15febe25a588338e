"""Similarity of one passage to all others, by embeddings or by character trigrams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from retrivex.similarity.trigrams import trigrams
from retrivex.similarity.vectors import Floats, unit_rows


class Similarity(Protocol):
    """Similarity of one of n passages to all of them."""

    def of(self, passage: int) -> Floats:
        """Return the similarity of all to one, shape (n,), in [0, 1]."""
        ...


class TextSimilarity:
    """Jaccard similarity of character trigrams; texts of less than three characters are like equal ones alone.

    Parameters
    ----------
    texts : n of them

    Examples
    --------
    >>> TextSimilarity(["banana", "banana split", "cherry"]).of(0).round(2).tolist()
    [1.0, 0.33, 0.0]
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        found = [trigrams(text) for text in texts]
        self._sizes = np.array([len(one) for one in found], dtype=np.int64)
        self._ends = np.cumsum(self._sizes)
        known, self._ids = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *found]), return_inverse=True)
        self._held = np.zeros(len(known), dtype=bool)

    def of(self, passage: int) -> Floats:
        """Return the similarity of all to one, shape (n,), in [0, 1]."""
        if not self._sizes[passage]:
            return np.array([float(text == self._texts[passage]) for text in self._texts])
        own = self._ids[self._ends[passage] - self._sizes[passage] : self._ends[passage]]
        self._held[own] = True
        counted = np.append(0, np.cumsum(self._held[self._ids]))
        self._held[own] = False
        common = counted[self._ends] - counted[self._ends - self._sizes]
        similarity: Floats = common / (self._sizes + self._sizes[passage] - common)
        return similarity


class EmbeddingSimilarity:
    """Cosine of embeddings, 0 where it is negative or an embedding is all zero.

    Parameters
    ----------
    embeddings : shape (n, d)

    Examples
    --------
    >>> EmbeddingSimilarity(np.array([[1.0, 0.0], [1.0, 1.0], [-1.0, 0.0]])).of(0).round(2).tolist()
    [1.0, 0.71, 0.0]
    """

    def __init__(self, embeddings: Floats) -> None:
        self._units = unit_rows(embeddings)

    def of(self, passage: int) -> Floats:
        """Return the similarity of all to one, shape (n,), in [0, 1]."""
        similarity: Floats = np.clip(self._units @ self._units[passage], 0.0, 1.0)
        similarity[passage] = 1.0
        return similarity
