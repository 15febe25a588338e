"""Context precision and recall: do the passages shown hold what they should, and do those that do come first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from retrivex.errors import RetrivexError
from retrivex.trigrams import Ints, trigrams

HELD = 0.9
"""Share of a passage's character trigrams from which on a context counts as holding it."""


def context_precision(relevant: Sequence[bool]) -> float:
    r"""Return whether the relevant passages come first.

    .. math:: \frac{\sum_{k} v_k \cdot \text{precision@}k}{\sum_k v_k}

    with :math:`v_k` 1 for a relevant passage at rank k: average precision over the passages that are shown (the
    definition of Ragas). 0 where none is relevant.

    Parameters
    ----------
    relevant : of each passage in the order shown, whether it is; see `relevance_of`

    Examples
    --------
    >>> round(context_precision([False, False, True, True, False]), 3)
    0.417
    """
    ranks = [rank for rank, is_relevant in enumerate(relevant, 1) if is_relevant]
    return sum(found / rank for found, rank in enumerate(ranks, 1)) / len(ranks) if ranks else 0.0


def context_recall(references: Sequence[str], contexts: Sequence[str], *, held: float = HELD) -> float:
    """Return the share of the reference passages that some context holds.

    Parameters
    ----------
    references : passages that have to be there, not empty: gold evidence, or sentences of a reference answer taken
        from the documents. Other words for the same are not found
    contexts : the texts shown
    held : share of a reference's character trigrams that has to be in one context, in (0, 1]; 1 for all of them

    Raises
    ------
    RetrivexError
        If there are no references, or `held` is out of range.

    Examples
    --------
    >>> context_recall(["Bees sleep.", "Ants fight."], ["At night, bees sleep. Wasps sting."])
    0.5
    """
    if not references:
        raise RetrivexError("references are empty: leave out questions without reference passages")
    shown = [trigrams(_plain(context)) for context in contexts]
    wanted = [trigrams(_plain(reference)) for reference in references]
    return sum(any(_holds(one, part, held) for one in shown) for part in wanted) / len(references)


def relevance_of(contexts: Sequence[str], references: Sequence[str], *, held: float = HELD) -> list[bool]:
    """Return of each context whether it holds a reference passage, or stands in one; arguments as `context_recall`.

    Examples
    --------
    >>> relevance_of(["Wasps sting.", "At night, bees sleep."], ["Bees sleep."])
    [False, True]
    """
    wanted = [trigrams(_plain(reference)) for reference in references]
    shown = [trigrams(_plain(context)) for context in contexts]
    return [any(_holds(one, part, held) or _holds(part, one, held) for part in wanted) for one in shown]


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _holds(text: Ints, part: Ints, held: float) -> bool:
    if not 0 < held <= 1:
        raise RetrivexError(f"held is {held!r}: it must be a share above 0 and up to 1")
    return bool(len(part)) and len(np.intersect1d(text, part, assume_unique=True)) >= held * len(part)
