r"""How well stretches of text match the words of a question, by BM25 over the candidates alone.

No index and no language is needed: the candidates are their own collection (document frequencies, mean length), a
word is a run of letters and digits of any alphabet, and scripts that write without spaces are matched by pairs of
characters. Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, with
:math:`\mathrm{idf} = \ln(1 + (N - n + 0.5) / (n + 0.5))`.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

K1 = 1.2
B = 0.75

_FEW = 8  # stretches: in fewer, no word is too frequent to tell anything

MAX_TERMS = 64
"""Words of a question that are looked for; of a longer one, the longest words."""

_UNSPACED = "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")

_LAST_WITH_ENDINGS = "\u058f"
"""Up to here scripts (Latin, Greek, Cyrillic, Armenian) write small words apart: a short word has to end as well."""


def lowered(text: str) -> str:
    """Return the text in lower case, every character in its place.

    Examples
    --------
    >>> lowered("İstanbul") == "i̇stanbul", len(lowered("İstanbul"))
    (False, 8)
    """
    low = text.lower()
    if len(low) != len(text):  # a few capitals have small forms of two characters
        low = "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)
    return low


def question_terms(question: str) -> list[tuple[str, bool]]:
    """Return the words to look for, and whether a word's end matters.

    Long words are looked for by their beginning, so that "treated" finds "treatment": endings carry grammar in most
    languages that have them. So are short ones in scripts that write particles onto words, such as Korean. Text is
    compared as it is written, in lower case: composed and decomposed accents, for one, are not the same.

    Examples
    --------
    >>> question_terms("How are bees treated?")
    [('how', True), ('are', True), ('bees', True), ('treat', False)]
    >>> question_terms("蜜蜂睡觉")
    [('蜜蜂', False), ('蜂睡', False), ('睡觉', False)]
    """
    terms: dict[str, bool] = {}
    for word in _words(lowered(question)):
        if _IS_UNSPACED.match(word):
            for at in range(max(1, len(word) - 1)):
                terms[word[at : at + 2]] = False
        elif len(word) > 5:
            terms[word[: max(5, len(word) - 3)]] = False
        else:
            terms[word] = max(word) <= _LAST_WITH_ENDINGS
    kept = sorted(terms, key=len, reverse=True)[:MAX_TERMS] if len(terms) > MAX_TERMS else terms
    return [(term, terms[term]) for term in terms if term in kept]


def term_counts(question: str, pool: str, starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Count how often each word of the question stands in each stretch of a text.

    Parameters
    ----------
    question : any language
    pool : all candidates as one text, in lower case
    starts : shape (n,), where each stretch begins, ascending; it ends where the next begins

    Returns
    -------
    ndarray
        Shape (terms, n). Words that stand nearly everywhere are left out: they tell nothing apart.
    """
    rows = []
    for term, whole in question_terms(question):
        # splitting finds all places at once, at the speed of a search
        parts = pool.split(term)
        if not 1 < len(parts) <= 3 * len(starts) + _FEW:
            continue
        # the parts before a place, with a term after each of them
        places = list(accumulate([len(parts[0]), *[len(term) + len(part) for part in parts[1:-1]]]))
        if _IS_UNSPACED.match(term) is None:
            places = [at for at in places if _is_word(pool, at, at + len(term), whole=whole)]
        stretches = np.searchsorted(starts, places, side="right") - 1
        counts = np.bincount(stretches, minlength=len(starts)).astype(np.float64)
        if 0 < np.count_nonzero(counts) <= 0.7 * len(starts) + _FEW:
            rows.append(counts)
    return np.asarray(rows) if rows else np.zeros((0, len(starts)))


def _is_letter(character: str) -> bool:
    """Whether a character belongs to a word: letters, digits, and the marks that some scripts write vowels with."""
    return character.isalnum() or (character > "\u02ff" and unicodedata.category(character)[0] == "M")


def _words(text: str) -> list[str]:
    """Return the words of a text; stretches of a script without spaces count as words of their own."""
    words: list[str] = []
    last = None
    for character in text:
        kind = _IS_UNSPACED.match(character) is not None if _is_letter(character) else None
        if kind is not None:
            if kind == last:
                words[-1] += character
            else:
                words.append(character)
        last = kind
    return words


def _is_word(pool: str, start: int, end: int, *, whole: bool) -> bool:
    """Whether a stretch begins a word, and with `whole` ends it as well."""
    if start and _is_letter(pool[start - 1]):
        return False
    return not (whole and end < len(pool) and _is_letter(pool[end]))


def bm25(counts: NDArray[np.float64], lengths: NDArray[np.float64], idf: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the BM25 score of each stretch, shape (n,).

    Parameters
    ----------
    counts : of each term in each stretch, shape (terms, n)
    lengths : of the stretches, in any unit, shape (n,)
    idf : of each term, shape (terms,)
    """
    mean = lengths.mean() or 1.0
    weight = K1 * (1.0 - B + B * lengths / mean)
    return np.asarray(idf @ (counts * (K1 + 1.0) / (counts + weight)), dtype=np.float64)


def inverse_frequency(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how rare each term is among the stretches, shape (terms,); see the module's formula."""
    holding = (counts > 0).sum(axis=1)
    return np.asarray(np.log1p((counts.shape[1] - holding + 0.5) / (holding + 0.5)), dtype=np.float64)
