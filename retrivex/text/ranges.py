"""Union and difference of character ranges, half-open `(start, end)`."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import itemgetter

_START, _END = itemgetter(0), itemgetter(1)


def merge_ranges(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join ranges that touch or overlap.

    Examples
    --------
    >>> merge_ranges([(5, 9), (0, 3), (2, 5)])
    [(0, 9)]
    """
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def add_range(merged: list[tuple[int, int]], start: int, end: int) -> None:
    """Join one more range to merged ones, in place.

    Examples
    --------
    >>> merged = [(0, 3), (5, 9), (12, 15)]
    >>> add_range(merged, 2, 6)
    >>> merged
    [(0, 9), (12, 15)]
    """
    low, high = bisect_left(merged, start, key=_END), bisect_right(merged, end, key=_START)
    if low < high:
        start, end = min(start, merged[low][0]), max(end, merged[high - 1][1])
    merged[low:high] = [(start, end)]


def overlapping(merged: Sequence[tuple[int, int]], start: int, end: int) -> Sequence[tuple[int, int]]:
    """Return those of merged ranges that have something of `start..end`.

    Examples
    --------
    >>> overlapping([(0, 3), (5, 9), (12, 15)], 3, 13)
    [(5, 9), (12, 15)]
    """
    return merged[bisect_right(merged, start, key=_END) : bisect_left(merged, end, key=_START)]


def remaining(start: int, end: int, cuts: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return what `cuts`, merged, leave of `start..end`.

    Examples
    --------
    >>> remaining(0, 10, [(2, 4), (9, 12)])
    [(0, 2), (4, 9)]
    """
    left: list[tuple[int, int]] = []
    for low, high in overlapping(cuts, start, end):
        if low > start:
            left.append((start, low))
        start = max(start, high)
    if start < end:
        left.append((start, end))
    return left
