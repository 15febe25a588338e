"""Whether an improvement on the questions held back is significant."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from retrivex.evaluation.compare.bootstrap import Difference

MAX_CHANCE = 0.025
"""Share of chance results that may be as good: what a 95 % interval leaves above it."""

_FLIPS = 10_000


def chance_of(differences: NDArray[np.float64], seed: int = 0) -> float:
    """Return the share of random signs of the differences whose mean is as large: a paired randomisation test.

    The bootstrap overstates its confidence where few questions differ: three gains and no loss are no proof.

    Parameters
    ----------
    differences : shape (n,), after - before of each question
    seed : of the signs

    Examples
    --------
    >>> round(chance_of(np.array([1.0] * 5 + [0.0] * 7)), 2)
    0.03
    """
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), (_FLIPS, len(differences)))
    means = (signs * differences).mean(axis=1)
    return float((1 + (means >= differences.mean() - 1e-12).sum()) / (1 + _FLIPS))


def judge(found: Difference, chance: float) -> tuple[bool, str]:
    """Return whether an improvement is accepted, and why, for people.

    Parameters
    ----------
    found : the improvement with its interval of 95 %, which must lie above 0
    chance : from `chance_of`, at most `MAX_CHANCE`
    """
    interval = f"{found.mean:+.3f}, 95 % interval {found.low:+.3f} to {found.high:+.3f}"
    if found.low <= 0:
        return False, f"no significant improvement on the questions held back ({interval})"
    if chance > MAX_CHANCE:
        return (
            False,
            f"too few questions held back differ for a significant improvement ({interval}; chance {chance:.3f})",
        )
    return True, f"better on the questions held back ({interval})"
