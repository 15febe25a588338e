"""BM25 over a fixed collection in plain numpy, for any language that `\\w+` splits into words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_WORDS = re.compile(r"\w+")

# English function words; only the hand-tuned reference leaves them out
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a about above after again against all am an and any are as at be because been before being below
        between both but by can could did do does doing down during each few for from further had has have
        having he her here hers herself him himself his how i if in into is it its itself just me more most my
        myself no nor not now of off on once only or other our ours ourselves out over own same she should so
        some such than that the their theirs them themselves then there these they this those through to too
        under until up very was we were what when where which while who whom why will with would you your
        yours yourself yourselves
        """,
    )
)


def words(text: str) -> list[str]:
    """Return the lower-case words of a text."""
    return _WORDS.findall(text.lower())


class BM25:
    """Scores every text of a collection against a question.

    Robertson's weights (k1 = 1.5, b = 0.75) with an idf that is never negative, ln(1 + (N - n + 0.5) / (n + 0.5)).

    Parameters
    ----------
    texts : the collection
    without : words that do not count
    """

    def __init__(
        self, texts: Sequence[str], *, k1: float = 1.5, b: float = 0.75, without: frozenset[str] = frozenset()
    ) -> None:
        self._size = len(texts)
        counts = [Counter(word for word in words(text) if word not in without) for text in texts]
        lengths = np.array([sum(found.values()) for found in counts], dtype=np.float64)
        norms = k1 * (1 - b + b * lengths / max(float(lengths.mean()), 1e-9))
        postings: dict[str, tuple[list[int], list[int]]] = {}
        for place, found in enumerate(counts):
            for word, times in found.items():
                places, frequencies = postings.setdefault(word, ([], []))
                places.append(place)
                frequencies.append(times)
        self._postings = {
            word: _weights(np.array(places), np.array(times, dtype=np.float64), norms, k1, self._size)
            for word, (places, times) in postings.items()
        }

    def scores(self, question: str) -> NDArray[np.float64]:
        """Return the score of every text, shape (n,)."""
        scores = np.zeros(self._size)
        for word, times in Counter(words(question)).items():
            if word in self._postings:
                places, weights = self._postings[word]
                scores[places] += times * weights
        return scores


def _weights(
    places: NDArray[np.int64], times: NDArray[np.float64], norms: NDArray[np.float64], k1: float, size: int
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    idf = np.log(1 + (size - len(places) + 0.5) / (len(places) + 0.5))
    weights = idf * times * (k1 + 1) / (times + norms[places])
    return places.astype(np.int32), weights.astype(np.float32)
