"""The exact programme over the few candidates that bounds leave undecided: a knapsack on a chain, in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Row(NamedTuple):
    """A candidate.

    Parameters
    ----------
    gain : what it is worth
    cost : its tokens; 0 where they are paid already
    opening : tokens more where a run opens at it
    joined : whether it continues the row before it
    forced : whether every set has to hold it
    """

    gain: float
    cost: int
    opening: int
    joined: bool
    forced: bool


def best_rows(rows: Sequence[Row], room: int, run_cost: float, layers: int) -> tuple[int, ...]:
    """Return the positions of the best set within `room` tokens, ascending; empty where no set holds what is forced.

    Parameters
    ----------
    rows : in order
    room : tokens
    run_cost : price of a run, in the unit of the gains
    layers : most runs and 1; 1 where runs are not counted

    Notes
    -----
    States are (layer = runs so far, tokens spent at most, whether the last candidate is taken); the arrays have
    shape (layers, pad + room + 1), and with one layer runs are not counted. Only decisions are kept for the way back,
    without the pad.
    """
    width, up = room + 1, int(layers > 1)
    # impossible states stand in front of the others, so that to spend tokens is to look further back
    pad = max([min(row.cost + row.opening, width) for row in rows], default=0)
    values = np.full((4, layers, pad + width), -np.inf)
    live, shut, rest, taken = map(_States, values, values[:, :, pad:], values[:, up:, pad:])
    onwards = np.empty((layers, width))
    shut.possible.fill(0.0)
    rest_live, from_live = (np.empty((len(rows), layers, width), dtype=np.bool_) for _ in range(2))
    # an array of no dimension is added in half the time that a number takes
    gains, fresh = ([np.array(row.gain - price) for row in rows] for price in (0.0, run_cost))
    for (_, cost, opening, joined, must), gain, opened, rests, stays in zip(
        rows, gains, fresh, rest_live, from_live, strict=True
    ):
        np.greater(live.possible, shut.possible, out=rests)
        np.maximum(live.possible, shut.possible, out=rest.possible)
        begin = pad - min(cost + opening, pad)
        before = (shut if joined else rest).all[: layers - up, begin : begin + width]
        np.add(before, opened, out=taken.opened)
        if joined:
            begin = pad - min(cost, pad)
            np.add(live.all[:, begin : begin + width], gain, out=onwards)
            np.greater_equal(onwards, taken.possible, out=stays)
            np.maximum(onwards, taken.possible, out=taken.possible)
        if must:
            rest.possible.fill(-np.inf)
        live, shut, taken, rest = taken, rest, live, shut
    return _trace_back(rows, rest_live, from_live, live.possible, shut.possible)


class _States(NamedTuple):
    """Best values by runs and tokens; the part of them behind the pad; and of that the part where a run was opened."""

    all: NDArray[np.float64]
    possible: NDArray[np.float64]
    opened: NDArray[np.float64]


def _trace_back(
    rows: Sequence[Row],
    rest_live: NDArray[np.bool_],
    from_live: NDArray[np.bool_],
    live: NDArray[np.float64],
    shut: NDArray[np.float64],
) -> tuple[int, ...]:
    layers, width = live.shape
    best = np.maximum(live, shut)[:, -1]
    layer, spent = int(np.argmax(best)), width - 1
    if not np.isfinite(best[layer]):
        return ()
    on = bool(live[layer, spent] > shut[layer, spent])
    chosen: list[int] = []
    for at in range(len(rows) - 1, -1, -1):
        row = rows[at]
        if not on:
            on = bool(rest_live[at, layer, spent])
            continue
        chosen.append(at)
        stays = row.joined and bool(from_live[at, layer, spent])
        spent -= row.cost
        if stays:
            continue
        spent -= row.opening
        layer -= layers > 1
        on = not row.joined and bool(rest_live[at, layer, spent])
    return tuple(reversed(chosen))
