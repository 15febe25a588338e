"""Whether the words of a question have anything to do with what is near to it."""

from __future__ import annotations

import numpy as np

from retrivex.scoring.features import NAMES, UnitTable

MIDDLE = 0.08
"""Correlation, of either sign, that is half a relation: it lies between those of public questions and of facts among
foreign matter that are asked for in other words."""

WIDTH = 0.03

_LEVEL = 1e-9  # below this spread a signal says nothing

_WORDS, _SIMILARITY = NAMES.index("words"), NAMES.index("similarity")


def unrelatedness(table: UnitTable) -> float:
    r"""How little words in common with the question have to do with similarity to it, in (0, 1).

    .. math:: \frac{1}{1 + e^{(|\rho| - m) / w}}

    with Pearson's correlation rho of the two signals over the units, m = `MIDDLE` and w = `WIDTH`. Near 1 the words
    stand just anywhere, as with questions in other words than those of the answer. Where one signal corrects the other
    (rho below 0), they are related. It does not depend on the scale of either; with hits that words alone have found
    both are nearly the same.

    Parameters
    ----------
    table : of the query's units; rho is 0 where a signal is level

    Examples
    --------
    >>> values = np.zeros((4, len(NAMES)))
    >>> words, similarity = NAMES.index("words"), NAMES.index("similarity")
    >>> values[:, words], values[:, similarity] = [2.0, 0.0, 2.0, 0.0], [1.0, 1.0, 0.0, 0.0]
    >>> round(unrelatedness(UnitTable([], values)), 2)
    0.94
    >>> values[:, similarity] = [0.4, 0.1, 0.3, 0.2]
    >>> round(unrelatedness(UnitTable([], values)), 2)
    0.0
    """
    words, alike = (table.values[:, at] - table.values[:, at].mean() for at in (_WORDS, _SIMILARITY))
    spread = float(np.sqrt((words @ words) * (alike @ alike)))
    correlation = float(words @ alike) / spread if spread > _LEVEL else 0.0
    return float(1.0 / (1.0 + np.exp((abs(correlation) - MIDDLE) / WIDTH)))
