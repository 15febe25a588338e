"""Whether the words of a question and its meaning point to the same candidates."""

from __future__ import annotations

import numpy as np

from retrivex.scoring.features import NAMES, UnitTable

MIDDLE = 0.12
"""Correlation at which words and similarity agree half: between those of public questions and of facts among foreign
matter that are asked for in other words."""

WIDTH = 0.06

_LEVEL = 1e-9  # below this spread a signal says nothing

_WORDS, _SIMILARITY = NAMES.index("words"), NAMES.index("similarity")


def disagreement(table: UnitTable) -> float:
    r"""How little words in common with the question go with similarity to it, in (0, 1).

    .. math:: \frac{1}{1 + e^{(\rho - m) / w}}

    with Pearson's correlation rho of the two signals over the units, m = `MIDDLE` and w = `WIDTH`. Near 1 the words
    stand anywhere but where the nearest chunks are, as with questions in other words than those of the answer. It does
    not depend on the scale of either signal; with hits that words alone have found both are nearly the same.

    Parameters
    ----------
    table : of the query's units; rho is 0 where a signal is level

    Examples
    --------
    >>> values = np.zeros((3, len(NAMES)))
    >>> values[:, NAMES.index("words")], values[:, NAMES.index("similarity")] = [2.0, 1.0, 0.0], [0.1, 0.3, 0.2]
    >>> round(disagreement(UnitTable([], values)), 3)
    1.0
    >>> values[:, NAMES.index("similarity")] = [0.3, 0.2, 0.1]
    >>> round(disagreement(UnitTable([], values)), 3)
    0.0
    """
    words, alike = (table.values[:, at] - table.values[:, at].mean() for at in (_WORDS, _SIMILARITY))
    spread = float(np.sqrt((words @ words) * (alike @ alike)))
    correlation = float(words @ alike) / spread if spread > _LEVEL else 0.0
    return float(1.0 / (1.0 + np.exp((correlation - MIDDLE) / WIDTH)))
