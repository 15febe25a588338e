"""Lengths of embeddings, right for numbers whose squares no float holds too."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_SAFE = (1e-200, 1e200)
"""Squared lengths between which no product of two lengths leaves the range of a float64."""


def with_norms(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rows with their lengths, such that a dot product divided by two lengths is a cosine.

    Parameters
    ----------
    rows : shape (n, d)

    Returns
    -------
    rows
        Shape (n, d): the same directions; rows of very small or very large numbers are divided by their largest.
    norms
        Shape (n,): 0 for rows that have no direction, being all zero or not finite.
    """
    squares = np.einsum("ij,ij->i", rows, rows)
    odd = ~((squares > _SAFE[0]) & (squares < _SAFE[1]))
    if odd.any():
        rows = rows.copy()
        largest = np.abs(rows[odd]).max(axis=1, initial=0.0)
        usable = np.isfinite(largest) & (largest > 0)
        rows[odd] = np.where(usable[:, None], rows[odd], 0.0) / np.where(usable, largest, 1.0)[:, None]
        squares[odd] = np.einsum("ij,ij->i", rows[odd], rows[odd])
    return rows, np.sqrt(squares)
