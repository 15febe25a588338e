"""Parses numbers of any type: real, finite, or written in a text."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite, nan
from numbers import Real
from typing import Any

import numpy as np

_MAX_DIGITS = 18  # a number of chunks never has more, and Python refuses to read thousands
_COMPLEX = (complex, np.complexfloating)


def real(value: Any) -> float:
    """Return what `float` does, and take no complex number: of numpy's, it drops a part with no more than a warning.

    Raises
    ------
    TypeError
        If it is no number, or a complex one.
    ValueError, OverflowError
        As `float` does.

    Examples
    --------
    >>> real(np.float32(0.5))
    0.5
    >>> real(np.complex64(0.5))
    Traceback (most recent call last):
    ...
    TypeError: complex64 is no real number
    """
    if isinstance(value, _COMPLEX) or (isinstance(value, np.ndarray) and np.iscomplexobj(value)):
        raise TypeError(f"{type(value).__name__} is no real number")
    return float(value)


def finite(value: Any) -> float | None:
    """Return a finite number as a float, and None for anything else; True and False are no numbers.

    Examples
    --------
    >>> [finite(value) for value in (3, float("nan"), "0.5", True)]
    [3.0, None, None, None]
    """
    number = nan if isinstance(value, bool) else float_of(value)
    return number if isfinite(number) else None


def float_of(value: Any) -> float:
    """Return the finite number that a value is, as a float; NaN for everything else, texts among it.

    Examples
    --------
    >>> [float_of(value) for value in (3, True, "0.5", 10**400)]
    [3.0, 1.0, nan, nan]
    """
    try:
        # asking for the type is ten times as fast as asking for the protocol
        is_number = type(value) is float or type(value) is int or isinstance(value, Real)
        return float(value) if is_number and isfinite(value) else nan
    except OverflowError:
        return nan


def number_of(value: Any) -> Any:
    """Return the finite number that a value is, or that a text holds; None where there is none.

    Examples
    --------
    >>> [number_of(value) for value in (3, "10", "ten", None)]
    [3, 10.0, None, None]
    """
    if type(value) is int:
        return value
    if not isinstance(value, (Real, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    if not isfinite(number):
        return None
    return number if isinstance(value, str) else value


def all_finite(values: Iterable[Any]) -> bool:
    """Whether values are known to be finite numbers: False leaves it to a look at each of them.

    One sum in C in place of a test for each: it is finite wherever there is neither NaN nor infinity, unless it
    overflows. It starts as a float, so that whole numbers that no float can hold do not cancel each other.
    """
    try:
        total = sum(values, 0.0)
        return isfinite(total if isinstance(total, float) else real(total))
    except Exception:  # noqa: BLE001 - a reader of the caller's, or an odd value, may raise anything
        return False


def parse_whole_number(value: Any) -> Any:
    """Return the number of a text that is written exactly as a whole number is; anything else as it is.

    Examples
    --------
    >>> [parse_whole_number(value) for value in ("17", 17, "017", "c-17")]
    [17, 17, '017', 'c-17']
    """
    digits = isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= _MAX_DIGITS
    return int(value) if digits and (value == "0" or value[0] != "0") else value
