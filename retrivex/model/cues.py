"""Times of spoken text: where in a recording a stretch of a transcript is said."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

CUE_TIMES = "cue_times"
"""Key of metadata: `[offset, start, end]` of each cue, its place in the document's text and its times in seconds."""


def read_cues(metadata: Mapping[str, Any]) -> Sequence[Sequence[float]]:
    """Return the cues that metadata names, in the order of the text; none where it holds no such list."""
    cues = metadata.get(CUE_TIMES)
    if not isinstance(cues, list) or not all(map(_is_cue, cues)) or any(b[0] < a[0] for a, b in pairwise(cues)):
        return ()  # somebody's own value of that name
    return cues


def without_cues(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata that all chunks of a document share: all but the times, of which each chunk has its own."""
    return {name: value for name, value in metadata.items() if name != CUE_TIMES or not read_cues(metadata)}


def cues_between(cues: Sequence[Sequence[float]], start: int, end: int) -> Sequence[Sequence[float]]:
    """Return the cues that have text between two offsets of the document.

    Examples
    --------
    >>> cues_between([[0, 1.5, 4.0], [30, 4.0, 6.5], [60, 7.0, 9.0]], 35, 60)
    [[30, 4.0, 6.5]]
    """
    first = bisect_right(cues, float(start), key=_offset)
    last = bisect_left(cues, float(end), key=_offset)
    return cues[max(0, first - 1) : last]


def times_of(cues: Sequence[Sequence[float]], start: int, end: int) -> dict[str, Any]:
    """Return what the metadata of a chunk says of its times; nothing where no cue has text in it.

    Examples
    --------
    >>> times_of([[0, 1.5, 4.0], [30, 4.0, 6.5], [60, 7.0, 9.0]], 35, 70)
    {'start_time': 4.0, 'end_time': 9.0, 'cue_times': [[30, 4.0, 6.5], [60, 7.0, 9.0]]}
    """
    found = cues_between(cues, start, end)
    if not found:
        return {}
    return {"start_time": found[0][1], "end_time": max(cue[2] for cue in found), CUE_TIMES: list(found)}


def _offset(cue: Sequence[float]) -> float:
    return cue[0]


def _is_cue(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(type(number) in (int, float) for number in value)
