"""Orders by weights of the places: the best item gets the place of the largest weight."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from numbers import Integral
from typing import TypeVar

from retrivex.errors import OrderingError, quoted
from retrivex.model.fields import Field
from retrivex.model.numbers import float_of
from retrivex.ordering.ranking import score_desc

T = TypeVar("T")


def place_weights(
    count: int, *, edge_share: float = 0.1, head: float = 1.0, tail: float = 0.9, middle: float = 0.5
) -> list[float]:
    """Return a weight for each of `count` places: the first share, the last share, and all between.

    Both edges have at least one place.

    Raises
    ------
    OrderingError
        If `count` is no whole number of at least 0, or `edge_share` no share from 0 to 1.

    Examples
    --------
    >>> place_weights(5)
    [1.0, 0.5, 0.5, 0.5, 0.9]
    """
    if isinstance(count, bool) or not isinstance(count, Integral) or not 0 <= count <= sys.maxsize:
        raise OrderingError(f"count is {quoted(count)}: it must be a number of places, a whole one of at least 0")
    if not 0 <= float_of(edge_share) <= 1:
        raise OrderingError(f"edge_share is {quoted(edge_share)}: it must be a share from 0 to 1")
    edge = max(1, math.floor(count * edge_share))
    weights = [head if place < edge else tail if place >= count - edge else middle for place in range(count)]
    return weights[:count]


def position_weighted(
    items: Iterable[T], *, ranked: bool = False, score: Field = "score", weights: Iterable[float] | None = None
) -> list[T]:
    """Give the best item the place of the largest weight, the next best the next, greedily.

    Places with equal weights are filled from the front. As the weights of the places do not depend on what stands
    there, greedy is the best possible (the rearrangement inequality).

    Parameters
    ----------
    items, ranked, score : as in `score_desc`
    weights : one finite number for each place; None takes `place_weights`: 1.0 for the first 10 % of the places,
        0.9 for the last 10 %, 0.5 between

    Raises
    ------
    OrderingError
        If a score is missing, no number, NaN or infinite, or `weights` are not one finite number for each item.

    Examples
    --------
    >>> position_weighted(["a", "b", "c", "d"], ranked=True)
    ['a', 'c', 'd', 'b']
    >>> position_weighted(["a", "b", "c", "d"], ranked=True, weights=[0.1, 0.2, 0.3, 0.4])
    ['d', 'c', 'b', 'a']
    """
    best_first = score_desc(items, ranked=ranked, score=score)
    count = len(best_first)
    try:
        given = place_weights(count) if weights is None else list(weights)
    except TypeError:
        given = []
    if len(given) != count or not all(float_of(weight) == weight for weight in given):
        raise OrderingError(f"weights are {quoted(weights)} for {count} items: give one finite number for each")
    places = sorted(range(count), key=given.__getitem__, reverse=True)  # stable: equal ones from the front
    ordered = dict(zip(places, best_first, strict=True))
    return [ordered[place] for place in range(count)]
