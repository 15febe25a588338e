"""Measures of rankings from information retrieval: recall and nDCG.

Definitions are those of trec_eval, and so of ir-measures: gains are linear, a passage counts once.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retrivex.errors import RetrivexError, quoted
from retrivex.evaluation.metrics.arguments import list_of, number_row


def recall_at_k(retrieved: Iterable[Hashable], relevant: Collection[Hashable], k: int | None = None) -> float:
    """Return the share of the relevant passages that are among the first k.

    Parameters
    ----------
    retrieved : names of passages, best first
    relevant : names of all relevant passages, not empty
    k : how many count; None for all

    Raises
    ------
    RetrivexError
        If nothing is relevant, or an argument is one text.

    Examples
    --------
    >>> recall_at_k(["a", "b", "c"], {"a", "c"}, k=2)
    0.5
    """
    wanted = _name_relevant(relevant)
    return len(wanted.intersection(_first(retrieved, k))) / len(wanted)


def ndcg(gains: ArrayLike, k: int | None = None, *, ideal: ArrayLike | None = None) -> float:
    r"""Return how near a ranking is to the best one, nDCG@k.

    .. math:: \sum_{i=1}^{k} \frac{g_i}{\log_2(i + 1)}, \text{ divided by the same of the best order}

    Source: Järvelin & Kekäläinen, "Cumulated gain-based evaluation of IR techniques", 2002.

    Parameters
    ----------
    gains : shape (n,), relevance of the passages in the order shown, none negative
    k : how many count; None for all
    ideal : shape (m,), relevance of all passages there are, in any order; None where `gains` are all

    Raises
    ------
    RetrivexError
        If a gain is negative or not finite, or `ideal` lacks gains that are shown.

    Examples
    --------
    >>> round(ndcg([1, 0, 2]), 3)
    0.76
    >>> ndcg([0, 0])
    0.0
    """
    shown = _gains(gains)
    best = np.sort(shown if ideal is None else _gains(ideal))[::-1]
    if not _has_all(best, shown):
        raise RetrivexError(
            f"ideal is {quoted(ideal)}, worse than the ranking {quoted(gains)}: give the gains of all passages there "
            "are, and each passage of the ranking once"
        )
    most = _discount(best[:k])
    return _discount(shown[:k]) / most if most else 0.0


def _has_all(best: NDArray[np.float64], shown: NDArray[np.float64]) -> bool:
    """Return whether the i-th largest gain that is shown is nowhere above the i-th largest there is, `best[i]`."""
    relevant = np.sort(shown[shown > 0])[::-1]
    return len(relevant) <= len(best) and bool((relevant <= best[: len(relevant)]).all())


def _discount(gains: NDArray[np.float64]) -> float:
    return float((gains / np.log2(np.arange(len(gains)) + 2)).sum())


def _gains(values: ArrayLike) -> NDArray[np.float64]:
    gains = number_row(values, "gains")
    if (gains < 0).any():
        raise RetrivexError(f"gains are {quoted(values)}: none may be below 0")
    return gains


def _name_relevant(relevant: Collection[Hashable]) -> set[Hashable]:
    names = set(list_of(relevant, "relevant"))
    if not names:
        raise RetrivexError("nothing is relevant: give the names of the relevant passages, at least one")
    return names


def _first(retrieved: Iterable[Hashable], k: int | None) -> list[Hashable]:
    """Return the first k passages; one that comes again counts where it comes first."""
    return list(dict.fromkeys(list_of(retrieved, "retrieved")))[:k]
