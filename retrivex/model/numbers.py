"""Conversion of any real number type to float."""

from __future__ import annotations

from typing import Any

import numpy as np

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
