"""Embeddings of any type as arrays, their lengths and unit vectors, exact even where a square would overflow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SAFE = (1e-200, 1e200)
"""Squared lengths between which no product of two lengths leaves the range of a float64."""


def as_array(values: Any) -> Floats:
    """Return numbers as an array of any shape: a vector, or the rows of a matrix.

    Raises
    ------
    ValueError
        If they are no numbers, too large for a float64, or rows of several lengths.
    """
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, OverflowError) as error:
        raise ValueError(str(error)) from error


def as_vector(embedding: Any, size: int | None = None) -> Floats | None:
    """Return an embedding as an array, shape (d,); None where it is no row of numbers, or not of `size` numbers.

    Examples
    --------
    >>> as_vector((1, 2)), as_vector("no numbers"), as_vector([1.0, 2.0], size=3)
    (array([1., 2.]), None, None)
    """
    if embedding is None:
        return None
    try:
        vector = as_array(embedding)
    except ValueError:
        return None
    return vector if vector.ndim == 1 and size in (None, len(vector)) else None


def finite_vector(embedding: Any) -> Floats | None:
    """Return an embedding as an array, shape (d,); None where it is no row of finite numbers.

    Examples
    --------
    >>> finite_vector([1, 2]), finite_vector([1, float("nan")])
    (array([1., 2.]), None)
    """
    vector = as_vector(embedding)
    return vector if vector is not None and np.isfinite(vector).all() else None


def as_matrix(embeddings: Any) -> Floats | None:
    """Return embeddings of one size as the rows of an array, shape (n, d); None where one is no row of numbers."""
    try:
        matrix = as_array(embeddings)
    except ValueError:
        return None
    return matrix if matrix.ndim == 2 else None


def unit_vector(vector: Floats) -> Floats | None:
    """Return a vector at unit length, shape (d,); None where it has no direction, being all zero or not finite."""
    rows, norms = with_norms(vector[None, :])
    unit: Floats | None = rows[0] / norms[0] if norms[0] else None
    return unit


def unit_rows(rows: Floats) -> Floats:
    """Return rows at unit length, shape (n, d); all zero where a row has no direction."""
    rows, norms = with_norms(rows)
    units: Floats = rows / np.where(norms > 0, norms, 1.0)[:, None] * (norms > 0)[:, None]
    return units


def with_norms(rows: Floats) -> tuple[Floats, Floats]:
    """Return rows with their lengths, such that a dot product divided by two lengths is a cosine.

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
