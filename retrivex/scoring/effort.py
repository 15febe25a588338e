r"""How far a context is filled: where more tokens are expected to hold too little of the evidence to be worth them.

The calibrated scorer's probabilities give the share of the evidence that is expected in each unit:

.. math:: e_i = p_i^a / \sum_j p_j^a

with the sharpness :math:`a` that fits where evidence really lay (`make calibrate`). A unit of mean length earns its
tokens where :math:`e_i` is at least the effort's share for each 100 tokens.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from retrivex.config import Effort

Floats = NDArray[np.float64]

EARNED_SHARE: dict[Effort, float] = {"lean": 0.065, "standard": 0.021, "full": 0.0}
"""Share of the evidence that each 100 tokens are expected to hold at least."""

FALLBACK_SHARE: dict[Effort, float] = {"lean": 0.25, "standard": 0.5, "full": 1.0}
"""Share of the budget that the nearest hits may fill where the scorer is not to be trusted, see `knn_fallback`."""

MAX_FLOOR = 0.999
"""Highest floor: the best unit always earns its tokens."""


def expected_shares(p: Floats, sharpness: float) -> Floats:
    """Return the share of the evidence expected in each unit, shape (n,); they sum to 1.

    Parameters
    ----------
    p : shape (n,), probabilities
    sharpness : a, of the model
    """
    powers = (p / p.max()) ** sharpness if len(p) and p.max() > 0 else np.ones(len(p))
    return np.asarray(powers / max(float(np.add.reduce(powers)), 1.0), dtype=np.float64)


def find_floor(expected: Floats, tokens: NDArray[np.int64], sharpness: float, effort: Effort) -> float:
    """Return the least value at which a unit of mean length earns its tokens, in [0, 1); 0 with full effort.

    Parameters
    ----------
    expected : of `expected_shares`
    tokens : shape (n,), of each unit
    sharpness : a, of the model
    effort : how much has to be earned

    Examples
    --------
    >>> expected = expected_shares(np.array([1.0, 0.5, 0.1]), 1.0)
    >>> round(find_floor(expected, np.array([50, 50, 50]), 1.0, "lean"), 3)
    0.052
    """
    earned = EARNED_SHARE[effort]
    if not earned or not len(expected):
        return 0.0
    needed = earned * float(tokens.mean()) / 100
    return min(float((needed / expected.max()) ** (1 / sharpness)), MAX_FLOOR)
