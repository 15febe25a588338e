"""Do the best passages stand where models read best: at the edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import RetrivexError, quoted
from retrivex.evaluation.metrics.arguments import is_whole, number_row


def edge_weights(count: int) -> NDArray[np.float64]:
    r"""Return how much each of some positions counts, :math:`((i - m) / m)^2` with m the middle: 1 at both ends.

    Raises
    ------
    RetrivexError
        If the count is no whole number of at least 0.

    Examples
    --------
    >>> edge_weights(5).tolist()
    [1.0, 0.25, 0.0, 0.25, 1.0]
    """
    if not is_whole(count) or count < 0:
        raise RetrivexError(f"count is {quoted(count)}: it must be a whole number of at least 0")
    if count < 2:
        return np.ones(count)
    try:
        steps = np.linspace(-1.0, 1.0, count)
    except (OverflowError, ValueError, MemoryError) as error:
        raise RetrivexError(f"count is {quoted(count)}: there is no room for so many positions") from error
    return np.square(steps)


def position_effectiveness(scores: Sequence[float]) -> float:
    r"""Return the mean of the scores, weighted by `edge_weights`: large where high scores stand at the edges.

    It compares orders of the same passages. How much a place is really worth to a model is a `PositionProfile`.

    Parameters
    ----------
    scores : shape (n,), n >= 1, of the passages in the order shown

    Raises
    ------
    RetrivexError
        If there are no scores, or one is not finite.

    Examples
    --------
    >>> position_effectiveness([0.9, 0.1, 0.7]), position_effectiveness([0.9, 0.7, 0.1])
    (0.8, 0.5)
    """
    values = number_row(scores)
    if values is None or not len(values):
        raise RetrivexError(f"scores are {quoted(scores)}: give one finite number per passage, at least one")
    weights = edge_weights(len(values))
    _, power = np.frexp(np.abs(values).max())  # divided by it, which is exact, no sum is too large for a float
    return float(np.ldexp(np.ldexp(values, -power) @ weights / weights.sum(), power))
