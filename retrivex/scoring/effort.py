r"""When a context stops: where all that the budget could still hold is next to worthless.

Units are taken best first until the budget is used; of the last ones so many are left out as have less than the effort's
share of the worth of all candidates together. So the rule knows the budget: what is left out is what this budget would
have been filled with.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from retrivex.config import Effort

Floats = NDArray[np.float64]

SPARED: dict[Effort, float] = {"lean": 0.2, "standard": 0.01, "full": 0.0}
"""Share of the worth of all candidates that what is left out may have, all of it together."""


def expected_shares(p: Floats, sharpness: float) -> Floats:
    r"""Return the share of the evidence expected in each unit, shape (n,); they sum to 1.

    .. math:: e_i = p_i^a / \sum_j p_j^a

    with the sharpness :math:`a` that fits where evidence really lay (`make calibrate`).

    Parameters
    ----------
    p : shape (n,), probabilities
    sharpness : a, of the model
    """
    powers = (p / p.max()) ** sharpness if len(p) and p.max() > 0 else np.ones(len(p))
    return np.asarray(powers / max(float(np.add.reduce(powers)), 1.0), dtype=np.float64)


def count_needed(worth: Floats, total: float, effort: Effort) -> int:
    """Return how many of the first candidates are needed: those behind them have less than the effort's share together.

    Parameters
    ----------
    worth : shape (n,), of candidates in the order in which they are taken
    total : worth of all candidates, those not taken among them

    Examples
    --------
    >>> worth = np.array([0.6, 0.3, 0.06, 0.04])
    >>> count_needed(worth, 1.2, "lean"), count_needed(worth, 1.2, "full")
    (2, 4)
    """
    behind = np.cumsum(worth[::-1])
    return len(worth) - int(behind.searchsorted(SPARED[effort] * total, side="left"))
