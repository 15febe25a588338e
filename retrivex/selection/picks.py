"""Chosen pieces -> picks: one stretch of text for those that touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from retrivex.selection.candidates import CandidateSet

_FAR = 1 << 40  # characters; no run has as many


class Pick(NamedTuple):
    """Chosen pieces that make one span; fields as in `Piece`.

    Parameters
    ----------
    value : what the selection counted for them
    score : of the best piece; None where spans are scored by formula
    """

    run: int
    first: int
    last: int
    start: int
    end: int
    value: float
    score: float | None = None


def join_picks(made: CandidateSet, chosen: Sequence[int]) -> list[Pick]:
    """Merge chosen pieces that touch or overlap into one stretch of text each, so that nothing is shown twice."""
    if not chosen:
        return []
    numbers = np.array(chosen, dtype=np.int64)
    run, first, last, start, end = made.places(chosen)
    reached = np.maximum.accumulate(run * _FAR + end)[:-1]
    touches = (numbers[1:] == numbers[:-1] + 1) & made.problem.joined[numbers[1:]]
    touches |= run[1:] * _FAR + start[1:] <= reached
    begins = np.flatnonzero(np.append(True, ~touches | (run[1:] != run[:-1])))
    rows = [run[begins], first[begins], np.maximum.reduceat(last, begins), start[begins]]
    rows += [np.maximum.reduceat(end, begins), np.add.reduceat(made.gains[numbers], begins)]
    scores: list[float | None] = [None] * len(begins)
    if made.probabilities:
        scores = np.maximum.reduceat(np.array([made.probabilities[i] for i in chosen]), begins).tolist()
    return list(map(Pick, *[row.tolist() for row in rows], scores))
