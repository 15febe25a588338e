"""Whether the best passages stand where models read best: at the edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import RetrivexError
from retrivex.evaluation.metrics.arguments import number_row


def edge_weights(count: int) -> NDArray[np.float64]:
    r"""Return how much each of some positions counts, :math:`((i - m) / m)^2` with m the middle: 1 at both ends.

    Examples
    --------
    >>> edge_weights(5).tolist()
    [1.0, 0.25, 0.0, 0.25, 1.0]
    """
    return np.square(np.linspace(-1.0, 1.0, count)) if count > 1 else np.ones(count)


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
    values = number_row(scores, "scores")
    if not len(values):
        raise RetrivexError("there are no scores: give one finite number per passage")
    return float(np.average(values, weights=edge_weights(len(values))))
