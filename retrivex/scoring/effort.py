r"""When a context stops: where all that the budget could still hold is expected to hold next to none of the evidence.

The calibrated scorer's probabilities give the share of the evidence that is expected in each unit:

.. math:: e_i = p_i^a / \sum_j p_j^a

with the sharpness :math:`a` that fits where evidence really lay (`make calibrate`). Units are taken best first until
the budget is used; of the last ones so many are left out as are expected to hold less than the effort's share together.
So the rule knows the budget: what is left out is what this budget would have been filled with.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from retrivex.config import Effort

Floats = NDArray[np.float64]

OVERLAPPING = 4
"""Most tokens of hits, in budgets, that may fit where they overlap; with full effort, more are not tried."""

SPARED: dict[Effort, float] = {"lean": 0.1, "standard": 0.0005, "full": 0.0}
"""Share of the evidence that what is left out may be expected to hold, all of it together. Chosen over five budgets,
with dense and with BM25 hits: more loses half a point and above at 1,000 and 2,000 tokens."""


def expected_shares(p: Floats, sharpness: float) -> Floats:
    """Return the share of the evidence expected in each unit, shape (n,); they sum to 1.

    Parameters
    ----------
    p : shape (n,), probabilities
    sharpness : a, of the model
    """
    powers = (p / p.max()) ** sharpness if len(p) and p.max() > 0 else np.ones(len(p))
    return np.asarray(powers / max(float(np.add.reduce(powers)), 1.0), dtype=np.float64)


def count_needed(expected: Floats, effort: Effort) -> int:
    """Return how many of the first units are needed: those behind them hold less than the effort's share together.

    Parameters
    ----------
    expected : shape (n,), share of the evidence in each unit, in the order in which they are taken

    Examples
    --------
    >>> expected = np.array([0.6, 0.3, 0.06, 0.03])
    >>> count_needed(expected, "lean"), count_needed(expected, "full")
    (2, 4)
    """
    behind = np.cumsum(expected[::-1])
    return len(expected) - int(behind.searchsorted(SPARED[effort], side="left"))
