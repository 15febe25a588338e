"""Chosen pieces -> picks: one stretch of text for those that touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from retrivex.merging.units import Unit
from retrivex.selection.candidates import CandidateSet
from retrivex.selection.pieces import Piece


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
    picks: list[Pick] = []
    members: list[int] = []
    group: list[Piece | Unit] = []
    reached = -1
    for i, piece in zip(chosen, made.some(chosen), strict=True):
        follows = bool(members) and piece.run == group[-1].run
        if follows and not (members[-1] == i - 1 and made.problem.continues[i]) and piece.start > reached:
            follows = False
        if members and not follows:
            picks.append(_pick(made, members, group))
            members, group = [], []
        reached = max(reached, piece.end) if follows else piece.end
        members.append(i)
        group.append(piece)
    return [*picks, _pick(made, members, group)] if members else []


def _pick(made: CandidateSet, members: Sequence[int], pieces: Sequence[Piece | Unit]) -> Pick:
    """One pick of pieces that touch, overlap or continue each other."""
    reached, last = max([piece.end for piece in pieces]), max([piece.last for piece in pieces])
    probabilities = made.probabilities
    value = float(made.gains[list(members)].sum())
    score = max([probabilities[i] for i in members]) if probabilities else None
    return Pick(pieces[0].run, pieces[0].first, last, pieces[0].start, reached, value, score)
