"""Where the scorer has lost its bearings, so that plain nearness is the better guide."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray

from retrivex.scoring.features import NAMES, UnitTable

LOST = 1.25
"""Bearings at which doubt is a half: between those of public questions and of facts among foreign matter that are asked
for in other words."""

WIDTH = 0.08

RELATION = 1.4
"""What the relation of words and nearness counts, beside the wording that is known."""

_LEAST = 0.01
"""Less doubt is none: it would move nothing, and most questions are spared the search for what is near."""

_LEVEL = 1e-9  # below this spread a signal says nothing

_WORDS, _SIMILARITY = NAMES.index("words"), NAMES.index("similarity")


def doubt(table: UnitTable) -> float:
    r"""How little the question's words say where to look, in [0, 1].

    .. math:: \frac{1}{1 + e^{(k + c r - m) / w}}

    with k for how much of the question's wording stands among the candidates at all (`known_wording`), the relation r
    of words and nearness, c = `RELATION`, m = `LOST` and w = `WIDTH`. Words that are missing tell of a question in
    other words than those of its answer; that special words are there, or that such as are there have to do with
    nearness, tells of the opposite.

    It is 0 where everything is equally near, as nearness is no guide then, and where it would be below a hundredth.

    Parameters
    ----------
    table : of the query's units

    Examples
    --------
    >>> values = np.zeros((3, len(NAMES)))
    >>> values[:, NAMES.index("similarity")] = [1.2, 0.0, -1.2]
    >>> [round(doubt(UnitTable([], values, known)), 2) for known in (0.6, 1.25, 1.45)]
    [1.0, 0.5, 0.08]
    """
    if len(table.values) < 2 or float(np.ptp(table.values[:, _SIMILARITY])) <= _LEVEL:
        return 0.0
    made = 1.0 / (1.0 + exp((table.known + RELATION * relation(table) - LOST) / WIDTH))
    return made if made >= _LEAST else 0.0


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
