"""Positions of known passages before and after reordering.

A passage that is known to answer the question (from labels, or from the citations of a right answer) should stand where
models read best. The monitor takes down where it stood and where it went, question by question.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from retrivex.errors import RetrivexError
from retrivex.evaluation.compare.bootstrap import Difference, paired_bootstrap
from retrivex.evaluation.metrics.arguments import list_of
from retrivex.evaluation.metrics.positions import edge_weights
from retrivex.model.fields import Field, make_reader


@dataclass(frozen=True, slots=True)
class Move:
    """The position of a known passage before and after.

    Parameters
    ----------
    passage : its name
    before, after : its positions, from 0; None after where it was left out
    count_before, count_after : passages there were
    weight_before, weight_after : of its positions, see `edge_weights`: 1 at both ends, 0 in the middle and where it was
        left out
    """

    passage: Hashable
    before: int
    after: int | None
    count_before: int
    count_after: int
    weight_before: float
    weight_after: float

    @property
    def at_edge(self) -> bool:
        """Whether it is the first or the last now."""
        return self.after in (0, self.count_after - 1)


@dataclass(frozen=True, slots=True)
class MonitorReport:
    """The effect of an order on the known passages.

    Parameters
    ----------
    moves : all that were recorded
    mean_before, mean_after : of the relative positions, 0 first and 1 last; those left out do not count
    at_edge_before, at_edge_after : shares of them that stood first or last
    left_out : how many are not there any more
    weight : of the positions after, less before, with its paired bootstrap interval
    """

    moves: tuple[Move, ...]
    mean_before: float
    mean_after: float | None
    at_edge_before: float
    at_edge_after: float
    left_out: int
    weight: Difference


class ReorderMonitor:
    """Records where known passages stand before and after an order.

    Parameters
    ----------
    name : the field that names a passage, or a function that reads it

    Examples
    --------
    >>> monitor = ReorderMonitor()
    >>> found = [{"id": name} for name in "abcde"]
    >>> monitor.record(found, [found[2], found[0], found[1], found[4], found[3]], known=["c"])
    >>> report = monitor.report()
    >>> report.moves[0].before, report.moves[0].after, report.weight.mean
    (2, 0, 1.0)
    """

    def __init__(self, name: Field = "id") -> None:
        self._read = make_reader(name)
        self._moves: list[Move] = []

    def record(self, before: Sequence[Any], after: Sequence[Any], known: Iterable[Hashable]) -> None:
        """Take down one question.

        Parameters
        ----------
        before : its passages as they came
        after : the same after the order; some may be left out
        known : names of passages that answer the question; those that are not among `before` are no concern of an order

        Raises
        ------
        RetrivexError
            If a passage has no name, or `known` is one text.
        """
        wanted = list_of(known, "known")
        places, now = self._places(before), self._places(after)
        weights, weights_now = edge_weights(len(before)), edge_weights(len(after))
        for name in dict.fromkeys(wanted):
            if name in places:
                place = now.get(name)
                gained = 0.0 if place is None else float(weights_now[place])
                self._moves.append(
                    Move(name, places[name], place, len(before), len(after), float(weights[places[name]]), gained)
                )

    def _places(self, passages: Sequence[Any]) -> dict[Hashable, int]:
        places: dict[Hashable, int] = {}
        for place, passage in enumerate(passages):
            name = passage if isinstance(passage, str) else self._read(passage)
            if name is None:
                raise RetrivexError(f"passage {place} has no name: say which field holds it, ReorderMonitor(name=...)")
            places.setdefault(name, place)
        return places

    def report(self) -> MonitorReport:
        """Return what was taken down so far.

        Raises
        ------
        RetrivexError
            If nothing was.
        """
        moves = tuple(self._moves)
        if not moves:
            raise RetrivexError(
                "no known passage was recorded: call record(before, after, known=[...]) for each question"
            )
        there = [move for move in moves if move.after is not None]
        return MonitorReport(
            moves=moves,
            mean_before=fmean([_compute_relative(move.before, move.count_before) for move in moves]),
            mean_after=fmean([_compute_relative(move.after or 0, move.count_after) for move in there])
            if there
            else None,
            at_edge_before=fmean([float(move.before in (0, move.count_before - 1)) for move in moves]),
            at_edge_after=fmean([float(move.at_edge) for move in moves]),
            left_out=len(moves) - len(there),
            weight=paired_bootstrap([m.weight_after for m in moves], [m.weight_before for m in moves]),
        )


def _compute_relative(place: int, count: int) -> float:
    return place / (count - 1) if count > 1 else 0.0
