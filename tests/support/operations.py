"""Counts what Python does for a call: a busy machine changes a time, and never a count."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType, ModuleType
from typing import Any


def count_lines(work: Callable[[], object], module: ModuleType | None = None) -> int:
    """Return how many lines of Python one call runs in this thread, each round of a loop counted.

    Parameters
    ----------
    work : the call
    module : whose lines count; None: those of all
    """
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if module is not None and frame.f_code.co_filename != module.__file__:
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def growth(work: Callable[[int], object], size: int) -> float:
    """Return how many times as many lines 4 `size` runs as `size`: 4 if linear, 16 if quadratic.

    What numpy, regular expressions and other compiled code do inside one line is not counted: `make bench-growth`
    measures the time of all of it.
    """
    work(size // 2)  # what is made once, and kept
    return count_lines(partial(work, 4 * size)) / count_lines(partial(work, size))
