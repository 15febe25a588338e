r"""BM25 over a fixed collection or any part of it, in plain numpy.

.. math:: \sum_{t \in q} \ln\!\left(1 + \frac{N - n_t + 0.5}{n_t + 0.5}\right)
    \frac{f_t (k_1 + 1)}{f_t + k_1 (1 - b + b\, l / \bar l)}

with N texts, of which :math:`n_t` hold the term, a text's count :math:`f_t` of it and its length l in terms. Source:
Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009; the idf is the form that is never
negative.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from retrivex.text.terms import split_words
from retrivex.text.words import read_text

Places: TypeAlias = NDArray[np.int64]

K1 = 1.5
B = 0.75


def index_terms(text: str) -> list[str]:
    """Return the terms of a text: its words as read, and pairs of characters where words have no spaces between them.

    Examples
    --------
    >>> index_terms("GPT-4 在北京")
    ['gpt', '4', '在北', '北京']
    """
    terms: list[str] = []
    for word, unspaced in split_words(read_text(text)):
        if unspaced and len(word) > 1:
            terms += [word[at : at + 2] for at in range(len(word) - 1)]
        else:
            terms.append(word)
    return terms


class BM25:
    """Scores the texts of a collection against a question.

    Parameters
    ----------
    texts : the collection
    k1 : how soon further occurrences stop to count
    b : how much long texts are held back, 0 to 1
    terms : what texts and questions are made of

    Examples
    --------
    >>> BM25(["Bees sleep.", "Ants work."]).scores("Do ants sleep?").round(2).tolist()
    [0.69, 0.69]
    """

    def __init__(
        self, texts: Sequence[str], *, k1: float = K1, b: float = B, terms: Callable[[str], list[str]] = index_terms
    ) -> None:
        self._k1, self._b, self._terms = k1, b, terms
        counts = [Counter(terms(text)) for text in texts]
        self._lengths = np.array([found.total() for found in counts], dtype=np.float64)
        postings: dict[str, tuple[list[int], list[int]]] = {}
        for place, found in enumerate(counts):
            for term, times in found.items():
                places, frequencies = postings.setdefault(term, ([], []))
                places.append(place)
                frequencies.append(times)
        self._postings = {
            term: (np.array(places, dtype=np.int64), np.array(times, dtype=np.float64))
            for term, (places, times) in postings.items()
        }

    def scores(self, question: str, among: Places | None = None) -> NDArray[np.float64]:
        """Return the score of every text.

        Parameters
        ----------
        question : any language
        among : shape (m,), places of the texts that are searched, ascending; they are scored as if the collection held
            no others. None for all

        Returns
        -------
        ndarray
            Shape (m,), or of all texts (n,).
        """
        lengths = self._lengths if among is None else self._lengths[among]
        scores = np.zeros(len(lengths))
        norms = (
            self._k1 * (1 - self._b + self._b * lengths / (float(lengths.mean()) or 1.0)) if len(lengths) else scores
        )
        for term, weight in Counter(self._terms(question)).items():
            places, times = self._find_places(term, among)
            if len(places):
                idf = np.log1p((len(lengths) - len(places) + 0.5) / (len(places) + 0.5))
                scores[places] += weight * idf * times * (self._k1 + 1) / (times + norms[places])
        return scores

    def _find_places(self, term: str, among: Places | None) -> tuple[Places, NDArray[np.float64]]:
        """Places of a term, counted in `among`, and how often it stands there."""
        places, times = self._postings.get(term, (np.empty(0, np.int64), np.empty(0)))
        if among is None or not len(among) or not len(places):
            return (places, times) if among is None else (places[:0], times[:0])
        at = np.searchsorted(among, places)
        inside = among[np.minimum(at, len(among) - 1)] == places
        return at[inside], times[inside]
