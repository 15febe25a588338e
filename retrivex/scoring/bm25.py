r"""How well stretches of text match the words of a question, by BM25 over the candidates alone.

No index and no language is needed: the candidates are their own collection (document frequencies, mean length), a
word is a run of letters and digits of any alphabet, and scripts that write without spaces are matched by pairs of
characters. Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, with
:math:`\mathrm{idf} = \ln(1 + (N - n + 0.5) / (n + 0.5))`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrivex.text.terms import TermIndex, is_unspaced, split_words
from retrivex.text.words import read_text

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

K1 = 1.2
B = 0.75

_FEW = 8  # stretches: in fewer, no word is too frequent to tell anything
_OFTEN = 3  # times a stretch
_TINY = 2  # letters

MAX_TERMS = 64
"""Words of a question that are looked for; of a longer one, the longest words."""

_LAST_WITH_ENDINGS = "\u058f"
"""Up to here scripts (Latin, Greek, Cyrillic, Armenian) write small words apart: a short word has to end as well."""


@lru_cache(maxsize=256)
def question_terms(question: str) -> tuple[tuple[str, bool], ...]:
    """Return the words to look for, and whether a word's end matters.

    Long words are looked for by their beginning, so that "treated" finds "treatment": endings carry grammar in most
    languages that have them; digits are no ending. So are short ones in scripts that write particles onto words, such
    as Korean. The question is read as texts are, see `retrivex.text.words`.

    Examples
    --------
    >>> question_terms("How are bees treated?")
    (('how', True), ('are', True), ('bees', True), ('treat', False))
    >>> question_terms("SKU0070")
    (('sku0070', True),)
    >>> question_terms("蜜蜂睡觉")
    (('蜜蜂', False), ('蜂睡', False), ('睡觉', False))
    """
    terms: dict[str, bool] = {}
    for word, unspaced in split_words(read_text(question)):
        if unspaced:
            for at in range(max(1, len(word) - 1)):
                terms[word[at : at + 2]] = False
        elif len(word) > 5:
            # numbers have no endings: `SKU0070` is not `SKU0071`
            size = max(5, len(word) - 3, _end_of_digits(word))
            terms[word[:size]] = size == len(word)
        else:
            terms[word] = max(word) <= _LAST_WITH_ENDINGS
    kept = sorted(terms, key=len, reverse=True)[:MAX_TERMS] if len(terms) > MAX_TERMS else terms
    return tuple((term, terms[term]) for term in terms if term in kept)


def _end_of_digits(word: str) -> int:
    """Return where the last digit of a word ends; 0 where it has none."""
    return 0 if word.isalpha() else max((at for at, letter in enumerate(word, 1) if letter.isdigit()), default=0)


class TermCounts(NamedTuple):
    """How often each word of a question stands in each stretch of the candidates.

    Parameters
    ----------
    all : shape (t, n), of all words of `question_terms`
    kept : shape (t,), which of them tell stretches apart
    coverage : share of the question's words that occur anywhere, see `word_coverage`
    """

    all: Integers
    kept: NDArray[np.bool_]
    coverage: float

    @property
    def counts(self) -> Floats:
        """Those of the words that tell stretches apart, shape (terms, n)."""
        return self.all[self.kept].astype(np.float64)


class FoundTerms(NamedTuple):
    """Where the words of a question stand among the candidates, looked up once.

    Parameters
    ----------
    terms : of `question_terms`
    pool : words of all candidates
    numbers, places : of each place where a term stands, the number of the term and where on the pool's axis
    """

    terms: Sequence[tuple[str, bool]]
    pool: TermIndex
    numbers: Integers
    places: Integers

    @classmethod
    def of(cls, question: str, pool: TermIndex) -> FoundTerms:
        """Look up the words of a question, in any language."""
        terms = question_terms(question)
        return cls(terms, pool, *find_terms(terms, pool))


def term_counts(found: FoundTerms, starts: NDArray[np.int64]) -> TermCounts:
    """Count how often each word of the question stands in each stretch of the candidates.

    Parameters
    ----------
    found : words of the question
    starts : shape (n,), where on the pool's axis each stretch begins, ascending; it ends where the next begins

    Returns
    -------
    TermCounts
        Words that stand nearly everywhere are left out of the counts: they tell nothing apart. So are those of one or
        two letters that, in and outside other words, stand everywhere.
    """
    terms, pool, numbers, places = found
    if not terms:
        return TermCounts(np.zeros((0, len(starts)), dtype=np.int64), np.zeros(0, dtype=np.bool_), 0.0)
    most = _OFTEN * len(starts) + _FEW
    times = np.bincount(numbers, minlength=len(terms))
    informative = (times > 0) & (times < most)
    for number in informative.nonzero()[0].tolist():
        term = terms[number][0]
        if len(term) <= _TINY and not is_unspaced(term[0]):
            informative[number] = pool.count(term) < most
    stretches = starts.searchsorted(places, side="right") - 1
    counts = np.bincount(numbers * len(starts) + stretches, minlength=len(terms) * len(starts))
    rows = counts.reshape(len(terms), -1)
    holding = np.add.reduce(rows > 0, axis=1)
    kept = informative & (holding > 0) & (holding <= 0.7 * len(starts) + _FEW)
    coverage = word_coverage([term for term, _ in terms], times.tolist())
    return TermCounts(rows, kept, coverage)


def word_coverage(words: Sequence[str], times: Sequence[int]) -> float:
    """Return the share of a question's words that occur among the candidates, in [0, 1].

    A word weighs as many as it has bytes (UTF-8): long words are seldom found by chance, short ones are often there for
    grammar, and alphabets of two or three bytes a letter make shorter words. Pairs of characters, in scripts without
    spaces, never count as missing, as those across words are no words.

    Parameters
    ----------
    words : of `question_terms`
    times : how often each is found

    Examples
    --------
    >>> word_coverage(["queen", "hiberna", "does"], [3, 0, 1])
    0.5625
    """
    found = missing = 0
    for word, count in zip(words, times, strict=True):
        size = len(word.encode("utf-8", "surrogatepass"))
        if count:
            found += size
        elif not is_unspaced(word[0]):
            missing += size
    return found / (found + missing) if found else 0.0


def find_terms(terms: Sequence[tuple[str, bool]], pool: TermIndex) -> tuple[Integers, Integers]:
    """Return the numbers of the terms of `question_terms` that stand in a text, once for each time, and where."""
    if not terms:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    spaced = [number for number, (term, _) in enumerate(terms) if not is_unspaced(term[0])]
    numbers, places = pool.find([terms[number] for number in spaced])
    if len(spaced) == len(terms):
        return numbers, places
    alone = [(number, pool.anywhere(term)) for number, (term, _) in enumerate(terms) if is_unspaced(term[0])]
    made = [np.array(spaced, dtype=np.int64)[numbers], *[np.full(len(found), number) for number, found in alone]]
    return np.concatenate(made), np.concatenate([places, *[found for _, found in alone]])


def bm25(counts: NDArray[np.float64], lengths: NDArray[np.float64], idf: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the BM25 score of each stretch, shape (n,).

    Parameters
    ----------
    counts : of each term in each stretch, shape (terms, n)
    lengths : of the stretches, in any unit, shape (n,)
    idf : of each term, shape (terms,)
    """
    mean = np.add.reduce(lengths) / len(lengths) or 1.0
    weight = K1 * (1.0 - B + B * lengths / mean)
    return np.asarray(idf @ (counts * (K1 + 1.0) / (counts + weight)), dtype=np.float64)


def inverse_frequency(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how rare each term is among the stretches, shape (terms,); see the module's formula."""
    holding = np.add.reduce(counts > 0, axis=1)
    return np.asarray(np.log1p((counts.shape[1] - holding + 0.5) / (holding + 0.5)), dtype=np.float64)
