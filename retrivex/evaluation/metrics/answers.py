"""Exact match and token F1 of answers, as SQuAD measures them, and for Chinese, Japanese and Korean.

A text in ASCII is normalised as in SQuAD: lower case, without punctuation and the articles a, an and the, white space
single (Rajpurkar et al., "SQuAD: 100,000+ Questions for Machine Comprehension of Text", 2016). Any other is first
brought to Unicode's form NFKC, in which full-width letters and digits are plain ones, and loses Chinese and Japanese
punctuation too; one with CJK characters all punctuation. Each CJK character is a token, as there are no spaces between
words (Cui et al., "A Span-Extraction Dataset for Chinese Machine Reading Comprehension", 2019).
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence

from retrivex.text.scripts import CJK

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)
_CJK = re.compile(f"[{CJK}]")
_CJK_PUNCTUATION = re.compile("[\u3001-\u3003\u3008-\u3011\u3014-\u301f\u3030\u303d\u30a0\u30fb]")


def normalise_answer(text: str) -> str:
    """Return an answer without what does not make a difference: case, punctuation, articles, spaces.

    Examples
    --------
    >>> normalise_answer("The U.S. Congress!")
    'us congress'
    >>> normalise_answer("《红楼梦》，２０１０年。")
    '红楼梦2010年'
    """
    return " ".join(_normalize(text).split())


def answer_tokens(text: str) -> list[str]:
    """Return the tokens of an answer after `normalise_answer`: words, and single CJK characters.

    Examples
    --------
    >>> answer_tokens("The Three-Body Problem 三体")
    ['threebody', 'problem', '三', '体']
    """
    return _CJK.sub(lambda character: f" {character[0]} ", _normalize(text)).split()


def exact_match(prediction: str, references: str | Sequence[str]) -> float:
    """Return 1.0 if an answer is one of the references after normalisation, else 0.0.

    Parameters
    ----------
    prediction : the answer
    references : one right answer or several; an empty text, or none at all, says that there is none

    Examples
    --------
    >>> exact_match("the Eiffel Tower", ["Tour Eiffel", "Eiffel Tower."])
    1.0
    """
    given = normalise_answer(prediction)
    return float(any(given == normalise_answer(reference) for reference in _list_references(references)))


def token_f1(prediction: str, references: str | Sequence[str]) -> float:
    """Return the harmonic mean of token precision and recall, that of the best reference; arguments as `exact_match`.

    Where the answer or the reference is empty, 1.0 if both are, else 0.0 (SQuAD 2.0).

    Examples
    --------
    >>> token_f1("in the year 1887", ["1887", "Paris"])
    0.5
    """
    given = answer_tokens(prediction)
    return max(_f1(given, answer_tokens(reference)) for reference in _list_references(references))


def is_answerable(text: str, *, no_answer: Collection[str] = ()) -> bool:
    """Return whether a text answers at all: it is not blank, nor, after normalisation, one of `no_answer`.

    Examples
    --------
    >>> is_answerable("I don't know.", no_answer=["I don't know"]), is_answerable("Paris")
    (False, True)
    """
    given = normalise_answer(text)
    return bool(given) and given not in {normalise_answer(phrase) for phrase in no_answer}


def answerability_match(prediction: str, references: str | Sequence[str], *, no_answer: Collection[str] = ()) -> float:
    """Return 1.0 if prediction and references agree on whether there is an answer, else 0.0.

    Examples
    --------
    >>> answerability_match("Lyon", ["Paris"]), answerability_match("Lyon", [])
    (1.0, 0.0)
    """
    there_is = any(is_answerable(reference, no_answer=no_answer) for reference in _list_references(references))
    return float(is_answerable(prediction, no_answer=no_answer) == there_is)


def _normalize(text: str) -> str:
    if text.isascii():
        return _ARTICLES.sub(" ", text.lower().translate(_ASCII_PUNCTUATION))
    plain = unicodedata.normalize("NFKC", text).lower().translate(_ASCII_PUNCTUATION)
    kept = _CJK_PUNCTUATION.sub("", plain)
    if _CJK.search(kept):
        kept = "".join(c for c in kept if not unicodedata.category(c).startswith("P"))
    return _ARTICLES.sub(" ", kept)


def _list_references(references: str | Sequence[str]) -> Sequence[str]:
    """Return the references; no answer is the right answer where there are none."""
    return (references,) if isinstance(references, str) else list(references) or ("",)


def _f1(given: Sequence[str], wanted: Sequence[str]) -> float:
    if not given or not wanted:
        return float(given == wanted)
    common = sum((Counter(given) & Counter(wanted)).values())
    return 2 * common / (len(given) + len(wanted))
