"""Processor time that work takes; the clock on the wall would measure what else the machine does."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial


def processor_seconds(work: Callable[[], object]) -> float:
    """Return the processor time of one call, of all threads of this process."""
    began = time.process_time()
    work()
    return time.process_time() - began


def growth(work: Callable[[int], object], size: int) -> float:
    """Return how many times as long 4 `size` takes as `size`, the best of three each: 4 if linear, 16 if quadratic."""
    return _best(partial(work, 4 * size)) / _best(partial(work, size))


def _best(work: Callable[[], object]) -> float:
    return min(processor_seconds(work) for _ in range(3))
