"""Union and difference of character ranges, half-open `(start, end)`."""

from __future__ import annotations

from collections.abc import Sequence


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


def remaining(start: int, end: int, cuts: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return what `cuts` leave of `start..end`.

    Examples
    --------
    >>> remaining(0, 10, [(2, 4), (9, 12)])
    [(0, 2), (4, 9)]
    """
    left: list[tuple[int, int]] = []
    for low, high in cuts:
        if high <= start or low >= end:
            continue
        if low > start:
            left.append((start, low))
        start = max(start, high)
    if start < end:
        left.append((start, end))
    return left
