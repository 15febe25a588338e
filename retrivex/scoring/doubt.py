"""Where the scorer has lost its bearings, so that plain nearness is the better guide."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray

from retrivex.scoring.features import NAMES, UnitTable

MIDDLE = 0.15
"""Relation that is half of one: it lies between those of public questions and of facts among foreign matter that are
asked for in other words."""

WIDTH = 0.03

UNSURE = 0.09
"""Doubt that anything is evidence whose root counts whole; half of those questions have twice as much, or more."""

STANDS_OUT = 0.5
"""Probability of the next best unit, as a share of the best one's, below which the best one stands out, the more the
smaller it is: then it is what was asked for."""

_LEVEL = 1e-9  # below this spread a signal says nothing

_WORDS, _SIMILARITY = NAMES.index("words"), NAMES.index("similarity")


def doubt(table: UnitTable, p: NDArray[np.float64], confidence: float) -> float:
    r"""How little the scorer knows where to look, in [0, 1].

    .. math:: \min\left(1, \sqrt{\frac{1 - c}{d}}\;\min\left(1, \frac{p_2}{s\,p_1}\right)
        \frac{1}{1 + e^{(r - m) / w}}\right)

    with the confidence c, the two largest probabilities p1 and p2, the relation r of words and nearness, d = `UNSURE`,
    s = `STANDS_OUT`, m = `MIDDLE` and w = `WIDTH`. It is 0 where everything is equally near, as nearness is no guide
    then. Each factor alone says little: there are unsure answers to questions that are well put, and many a question
    whose words have nothing to do with what is near is answered by one passage that has them all.

    Parameters
    ----------
    table : of the query's units
    p : shape (n,), probabilities of the units
    confidence : that any of them holds evidence
    """
    if len(p) < 2 or float(np.ptp(table.values[:, _SIMILARITY])) <= _LEVEL:
        return 0.0
    second, first = np.partition(p, -2)[-2:].tolist()
    unclear = min(1.0, second / first / STANDS_OUT) if first > 0 else 1.0
    unrelated = 1.0 / (1.0 + exp((relation(table) - MIDDLE) / WIDTH))
    return min(1.0, sqrt((1.0 - confidence) / UNSURE) * unclear * unrelated)


def relation(table: UnitTable) -> float:
    """How much words in common with the question have to do with similarity to it, in [0, 1].

    The largest of three correlations of Pearson's: of the two signals over the units, whatever its sign, as one may
    correct the other; of their exponentials, in which the peaks count, as where both find the same few units; and of
    the signals over the nearer half of the units, as matter of another kind behind them may blur it. Both signals are
    standard scores, so that it does not depend on the scale of what they were made of. Hits that words alone have found
    are nearly the same as the words.

    Parameters
    ----------
    table : of the query's units; 0 where a signal is level

    Examples
    --------
    >>> values = np.zeros((6, len(NAMES)))
    >>> words, similarity = NAMES.index("words"), NAMES.index("similarity")
    >>> values[:, similarity] = [1.5, 0.9, 0.3, -0.3, -0.9, -1.5]
    >>> values[:, words] = [-0.7, -0.7, 1.4, 1.4, -0.7, -0.7]
    >>> relation(UnitTable([], values))
    0.0

    Little as a whole, and much at the peaks:

    >>> values[:, words] = [1.7, -1.5, 1.0, -0.9, -0.3, 0.6]
    >>> round(relation(UnitTable([], values)), 2)
    0.71
    """
    words, alike = table.values[:, _WORDS], table.values[:, _SIMILARITY]
    near = alike >= _median(alike)
    return max(
        abs(_correlation(words, alike)),
        _correlation(np.exp(words), np.exp(alike)),
        _correlation(words[near], alike[near]),
    )


def _median(values: NDArray[np.float64]) -> float:
    # a fraction of what `np.median` takes, which looks for NaN and for axes first
    low, high = (len(values) - 1) // 2, len(values) // 2
    ordered = np.partition(values, (low, high))
    return float((ordered[low] + ordered[high]) / 2)


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    one, other = one - np.add.reduce(one) / len(one), other - np.add.reduce(other) / len(other)
    spread = sqrt(float(one @ one) * float(other @ other))
    return float(one @ other) / spread if spread > _LEVEL else 0.0
