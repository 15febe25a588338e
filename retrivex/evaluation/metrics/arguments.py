"""Checks of the arguments of measures: mistakes that would give a wrong figure instead of an error."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retrivex.errors import RetrivexError, quoted

T = TypeVar("T")


def list_of(values: Iterable[T], name: str) -> list[T]:
    """Return values as a list; a text is no list of its letters.

    Examples
    --------
    >>> list_of(("a", "b"), "names")
    ['a', 'b']
    """
    if isinstance(values, (str, bytes)):
        raise RetrivexError(f"{name} is one text, {quoted(values)}: give a list")
    return list(values)


def number_row(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return finite numbers, shape (n,)."""
    row = np.asarray(values, dtype=np.float64)
    if row.ndim != 1 or not np.isfinite(row).all():
        raise RetrivexError(f"{name} are {quoted(values)}: give one finite number per passage")
    return row
