"""Counts what Python does for a call: a busy machine changes a time, and never a count."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any


def lines_run(work: Callable[[], object]) -> int:
    """Return how many lines of Python one call runs, each round of a loop counted, in this thread."""
    count = 0

    def trace(_: FrameType, event: str, __: Any) -> Any:
        nonlocal count
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
    return lines_run(partial(work, 4 * size)) / lines_run(partial(work, size))
