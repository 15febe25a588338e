"""Context precision and recall: whether the passages shown are relevant, and whether the relevant ones come first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from retrivex.errors import RetrivexError, quoted
from retrivex.evaluation.metrics.arguments import list_of
from retrivex.evaluation.metrics.words import finder
from retrivex.similarity.trigrams import Ints, trigrams

HELD = 0.9
"""Share of a passage's character trigrams from which on a context counts as holding it."""


def context_precision(relevant: Sequence[bool]) -> float:
    r"""Return whether the relevant passages come first.

    .. math:: \frac{\sum_{k} v_k \cdot \text{precision@}k}{\sum_k v_k}

    with :math:`v_k` 1 for a relevant passage at rank k: average precision over the passages that are shown (the
    definition of Ragas). 0 where none is relevant.

    Parameters
    ----------
    relevant : of each passage in the order shown, whether it is: booleans, or 0 and 1; see `relevance_of`

    Examples
    --------
    >>> round(context_precision([False, False, True, True, False]), 3)
    0.417
    """
    ranks = [rank for rank, flag in enumerate(list_of(relevant, "relevant"), 1) if flag]
    return sum(found / rank for found, rank in enumerate(ranks, 1)) / len(ranks) if ranks else 0.0


def context_recall(references: Sequence[str], contexts: Sequence[str], *, held: float = HELD) -> float:
    """Return the share of the reference passages that some context holds.

    Parameters
    ----------
    references : passages that have to be there, not empty: gold evidence, or sentences of a reference answer taken
        from the documents. Other words for the same are not found
    contexts : the texts shown
    held : share of a reference's character trigrams that has to be in one context, in (0, 1]; 1 for all of them. A
        reference of one or two characters, which has no trigrams, has to stand there, cutting no word

    Raises
    ------
    RetrivexError
        If there are no references, one is blank, or an argument is one text.

    Examples
    --------
    >>> context_recall(["Bees sleep.", "Ants fight."], ["At night, bees sleep. Wasps sting."])
    0.5
    """
    wanted, shown = _read_references(references), _read_contexts(contexts)
    return sum(any(_holds(one, part, held) for one in shown) for part in wanted) / len(wanted)


def relevance_of(contexts: Sequence[str], references: Sequence[str], *, held: float = HELD) -> list[bool]:
    """Return of each context whether it holds a reference passage, or stands in one; arguments as `context_recall`.

    Examples
    --------
    >>> relevance_of(["Wasps sting.", "At night, bees sleep."], ["Bees sleep."])
    [False, True]
    """
    wanted, shown = _read_references(references), _read_contexts(contexts)
    return [any(_holds(one, part, held) or _holds(part, one, held) for part in wanted) for one in shown]


@dataclass(frozen=True, slots=True)
class _Passage:
    """A passage and the n-grams of its text."""

    text: str
    grams: Ints


def _read_references(references: Sequence[str]) -> list[_Passage]:
    texts = list_of(references, "references")
    if not texts or not all(map(str.strip, texts)):
        found = "empty" if not texts else f"{quoted(texts)}, and one is blank"
        raise RetrivexError(f"references are {found}: leave out questions without reference passages")
    return [_read(text) for text in texts]


def _read_contexts(contexts: Sequence[str]) -> list[_Passage]:
    return [_read(text) for text in list_of(contexts, "contexts")]


def _read(text: str) -> _Passage:
    plain = " ".join(text.casefold().split())
    return _Passage(plain, trigrams(plain))


def _holds(whole: _Passage, part: _Passage, held: float) -> bool:
    if not len(part.grams):
        return bool(part.text) and finder(part.text)(whole.text)
    return len(np.intersect1d(whole.grams, part.grams, assume_unique=True)) >= held * len(part.grams)
