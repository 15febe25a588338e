"""Checks of the arguments of measures: lists of texts, names or numbers, or one clear error."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from numbers import Integral
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retrivex.errors import RetrivexError, quoted

T = TypeVar("T")


def list_of(values: Iterable[T], name: str) -> list[T]:
    """Return values as a list; a text is no list of its letters, nor is something that cannot be gone through.

    Examples
    --------
    >>> list_of(("a", "b"), "names")
    ['a', 'b']
    """
    if isinstance(values, (str, bytes)):
        raise RetrivexError(f"{name} is one text, {quoted(values)}: give a list")
    try:
        given = iter(values)
    except TypeError as error:  # an array of no dimensions too, which has an `__iter__`
        raise RetrivexError(f"{name} is {quoted(values)}: give a list") from error
    return list(given)


def text_list(values: Iterable[str], name: str) -> list[str]:
    """Return values as a list of which each is a text."""
    return [one_text(value, f"{name}[{at}]") for at, value in enumerate(list_of(values, name))]


def one_text(value: str, name: str) -> str:
    """Return the value if it is a text."""
    if not isinstance(value, str):
        raise RetrivexError(f"{name} is {quoted(value)}: give a text")
    return value


def name_list(values: Iterable[Hashable], name: str) -> list[Hashable]:
    """Return values as a list of which each can be a name: it has a hash."""
    return [one_name(value, f"{name}[{at}]") for at, value in enumerate(list_of(values, name))]


def one_name(value: Hashable, name: str) -> Hashable:
    """Return the value if it has a hash; a tuple that holds a list has none."""
    try:
        hash(value)
    except TypeError:
        raise RetrivexError(
            f"{name} is {quoted(value)}: give a text or a number, so that it can be looked up"
        ) from None
    return value


def number_row(values: ArrayLike) -> NDArray[np.float64] | None:
    """Return finite numbers, shape (n,); None for anything else, texts of digits included."""
    try:
        given = np.asarray(values)
        row = given.astype(np.float64) if given.dtype.kind in "biufO" else None
    except (TypeError, ValueError, OverflowError):
        return None
    return row if row is not None and row.ndim == 1 and np.isfinite(row).all() else None


def is_whole(value: object) -> bool:
    """Whether a value is a whole number; True and False are none."""
    return type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))
