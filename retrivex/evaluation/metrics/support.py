"""Whether an answer is supported by the passages, by its words.

Counting words sees what is made up, not what is put together wrongly: "Bees eat wasps" is fully supported by "Wasps eat
bees". For that, a judge has to read.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence

from retrivex.evaluation.metrics.arguments import list_of
from retrivex.text.scripts import CJK

_WORDS = re.compile(r"[^\W_]+")
_CJK_RUNS = re.compile(f"[{CJK}]+")

STOP_WORDS = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "of", "on", "or",
    "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
})  # fmt: skip
"""English words that any text holds: those that Lucene leaves out, but for "no" and "not", which an answer needs."""


def informative_tokens(text: str, *, stop_words: Collection[str] = STOP_WORDS, min_length: int = 2) -> set[str]:
    """Return the informative words of a text: lower case, no stop words; for CJK, pairs of characters.

    Parameters
    ----------
    text : any
    stop_words : are left out
    min_length : characters a word has at least; CJK aside

    Examples
    --------
    >>> sorted(informative_tokens("Bees live in 2 hives."))
    ['bees', 'hives', 'live']
    >>> sorted(informative_tokens("蜜蜂住"))
    ['蜂住', '蜜蜂']
    """
    plain = unicodedata.normalize("NFKC", text).lower()
    pairs = {run[i : i + 2] for run in _CJK_RUNS.findall(plain) for i in range(max(1, len(run) - 1))}
    words = {word for word in _WORDS.findall(_CJK_RUNS.sub(" ", plain)) if len(word) >= min_length}
    return words.difference(stop_words) | pairs


def faithfulness(
    answer: str, contexts: Sequence[str], *, stop_words: Collection[str] = STOP_WORDS, min_length: int = 2
) -> float:
    """Return the share of an answer's informative words that stand in the contexts; 0 for an answer without any.

    Parameters
    ----------
    answer : of the model
    contexts : the passages it was given
    stop_words, min_length : see `informative_tokens`

    Raises
    ------
    RetrivexError
        If the contexts are one text.

    Examples
    --------
    >>> faithfulness("Bees live in trees", ["Bees live in hives."])
    0.6666666666666666
    """
    said = informative_tokens(answer, stop_words=stop_words, min_length=min_length)
    # each by itself, so that no word arises where two passages meet
    known: set[str] = set()
    for context in list_of(contexts, "contexts"):
        known |= informative_tokens(context, stop_words=stop_words, min_length=min_length) | _characters(context)
    return len(said & known) / len(said) if said else 0.0


def _characters(text: str) -> set[str]:
    """Return the single CJK characters of a text: one that an answer has by itself may stand anywhere in it."""
    return set("".join(_CJK_RUNS.findall(unicodedata.normalize("NFKC", text).lower())))


def citation_coverage(answer: str, contexts: Sequence[str]) -> float:
    """Return the share of all of an answer's words that stand in the contexts, stop words and single letters included.

    Examples
    --------
    >>> citation_coverage("Bees live in trees", ["Bees live in hives."])
    0.75
    """
    return faithfulness(answer, contexts, stop_words=frozenset(), min_length=1)
