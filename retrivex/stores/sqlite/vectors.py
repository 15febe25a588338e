"""Unit vectors of float32, and the highest of their cosines."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retrivex.errors import StoreError
from retrivex.similarity.vectors import as_array

_LOWEST = 2.0  # no cosine is below -1
_ROUNDING = 2e-6  # more than rounding can lift a score

Floats = NDArray[np.float32]

EXACT_UP_TO = 300_000
"""Vectors of 384 dimensions up to which comparing all of them takes less than 0.1 s."""


def unit_rows(vectors: ArrayLike, *, what: str) -> Floats:
    """Return `vectors` as float32 rows of length one; a row of zeros stays as it is and is similar to nothing.

    Parameters
    ----------
    vectors : shape (n, d)
    what : what they belong to, for the error

    Raises
    ------
    StoreError
        If `vectors` are not a table of finite numbers.
    """
    try:
        rows = as_array(vectors)
    except ValueError as error:
        raise StoreError(
            f"vectors of {what} are not one table of numbers ({error}): give rows of one length"
        ) from error
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise StoreError(f"vectors of {what} have the shape {rows.shape}: give one row a text, shape (n, d)")
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if bad.size:
        raise StoreError(f"vector {bad[0]} of {what} holds NaN or infinity: leave the text out or encode it again")
    peak = np.abs(rows).max(axis=1, keepdims=True)
    # first by the largest entry: the squares of huge ones would overflow
    rows = np.divide(rows, peak, out=np.zeros_like(rows), where=peak > 0)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Floats = np.divide(rows, length, out=rows, where=length > 0).astype(np.float32)
    return unit


def nearest(
    scores: Floats, k: int, cosines: Callable[[NDArray[np.int64]], NDArray[np.float64]] | None = None
) -> tuple[NDArray[np.int64], Floats]:
    """Return places and scores of the `k` highest, plus all that tie with the last of them, in the order of places.

    Scores are rounded to six decimals, what float32 sums are good for: equal texts then tie, wherever they lie.

    Parameters
    ----------
    scores : shape (n,), cosines; -inf for what must not be found
    k : at least 1
    cosines : gives those of places in float64. How a sum of float32 is rounded depends on how many rows are multiplied
        at once; with these, a vector has one score in whatever company it is compared

    Examples
    --------
    >>> places, scores = nearest(np.array([0.1, 0.9, 0.5, 0.5], dtype=np.float32), 2)
    >>> places.tolist(), scores.round(2).tolist()
    ([1, 2, 3], [0.8999999761581421, 0.5, 0.5])
    """
    places = np.flatnonzero(scores >= max(_highest(scores, k), -_LOWEST) - _ROUNDING)
    found: Floats = np.round(scores[places] if cosines is None else cosines(places), 6).astype(np.float32)
    tied = found >= max(_highest(found, k), -_LOWEST)
    return places[tied], found[tied]


def _highest(scores: Floats, k: int) -> float:
    """Return the `k`th highest; the lowest cosine there is where there are fewer."""
    return float(np.partition(scores, len(scores) - k)[len(scores) - k]) if len(scores) > k else -_LOWEST
