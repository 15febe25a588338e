r"""The selection where some candidates are set and documents have a cap.

What is set is given so large a gain that no set without it can be worth more; the gain is taken out again.

With a cap per document the relaxation without it comes first: a best set that keeps the caps is the best of all. Where
it does not, a two-state programme gives each document's best value for every number of tokens and runs up to its cap,
:math:`v_d(r, t)`, and these are combined one document after the other,

.. math:: V_d(r, t) = \max_{r', t'} V_{d-1}(r - r', t - t') + v_d(r', t')

where only the :math:`(r', t')` matter that are worth more than any with fewer runs and tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrivex.selection.greedy import fill
from retrivex.selection.knapsack import MAX_CELLS, solve_knapsack
from retrivex.selection.problem import TOLERANCE, Limits, Problem, Selection, capacity_left, measure

Floats = NDArray[np.float64]


class _Point(NamedTuple):
    """The best that a document gives for so many runs and tokens."""

    runs: int
    tokens: int
    value: float


def solve_exactly(problem: Problem, limits: Limits) -> Selection:
    """Choose the set worth most within all limits; not proven where it was too large to prove."""
    kept, caps = tuple(sorted(limits.keep)), limits.caps
    if not kept and caps is None:
        return solve_knapsack(problem, limits)
    lifted, lift = _lifted(problem, kept)
    made = solve_knapsack(lifted, limits)
    if caps is not None and min(capacity_left(problem, made.chosen, caps), default=0) < 0:
        made = _capped(lifted, limits, caps, made.bound)
    chosen, proven = made.chosen, made.proven
    if not set(kept) <= set(chosen):  # only where a row was too large to be proven
        chosen = fill(problem, kept, limits)
    value, tokens = measure(problem, chosen)
    return Selection(chosen, value, tokens, value if proven else made.bound - lift * len(kept), proven)


def _lifted(problem: Problem, kept: Sequence[int]) -> tuple[Problem, float]:
    """Give what is kept a gain that no other set can make up for; return how much of it is extra."""
    if not kept:
        return problem, 0.0
    lift = 1.0 + sum(map(abs, problem.gains)) + problem.run_cost * len(problem)
    gains = list(problem.gains)
    for i in kept:
        gains[i] += lift
    return replace(problem, gains=gains), lift


def _capped(problem: Problem, limits: Limits, caps: Sequence[int], bound: float) -> Selection:
    """Choose exactly under caps; `bound` is that of the relaxation without them."""
    budget, max_runs = limits.budget, limits.max_spans
    parts = _parts(problem)
    layers = 1 if max_runs is None else 1 + min(max_runs, len(problem))
    room = [min(caps[number], budget) for number in parts]
    cells = sum(len(part) * (width + 1) * layers for part, width in zip(parts.values(), room, strict=True))
    if max(cells, len(parts) * (budget + 1) * layers) > MAX_CELLS:
        return _simply(problem, limits, bound)
    rows = [_part_of(problem, part) for part in parts.values()]
    points = [_points(_values(row, width, layers)) for row, width in zip(rows, room, strict=True)]
    best, taken = _combined(points, budget, layers)
    chosen: list[int] = []
    runs, tokens = layers - 1, budget
    for part, row, some, took in reversed(list(zip(parts.values(), rows, points, taken, strict=True))):
        number = int(took[runs, tokens])
        if not number:
            continue
        point = some[number - 1]
        limit = None if max_runs is None else point.runs
        chosen += [part[i] for i in solve_knapsack(row, Limits(point.tokens, limit)).chosen]
        runs, tokens = runs - point.runs, tokens - point.tokens
    value, spent = measure(problem, sorted(chosen))
    # a document's own selection may have been too large to prove
    proven = value >= best - TOLERANCE * max(1.0, abs(best))
    return Selection(tuple(sorted(chosen)), value, spent, best, proven)


def _simply(problem: Problem, limits: Limits, bound: float) -> Selection:
    """Choose the better of two simple ways, where the exact one would be too large."""
    kept = tuple(sorted(limits.keep))
    ways = [fill(problem, kept, limits, by_rank=by_rank) for by_rank in (False, True)]
    worth = [measure(problem, chosen) for chosen in ways]
    at = int(worth[1] > worth[0])
    return Selection(ways[at], *worth[at], bound=bound, proven=False)


def _parts(problem: Problem) -> dict[int, list[int]]:
    """Positions of each document's candidates, by its number."""
    parts: dict[int, list[int]] = {}
    for i, number in enumerate(problem.documents or ()):
        parts.setdefault(number, []).append(i)
    return parts


def _part_of(problem: Problem, part: Sequence[int]) -> Problem:
    """One document's candidates as a row of their own."""
    return Problem(
        costs=[problem.costs[i] for i in part],
        openings=[problem.openings[i] for i in part],
        gains=[problem.gains[i] for i in part],
        joined=[problem.joined[i] and at > 0 and part[at - 1] == i - 1 for at, i in enumerate(part)],
        run_cost=problem.run_cost,
    )


def _values(row: Problem, room: int, layers: int) -> Floats:
    """Best value with at most so many runs and tokens, shape (layers, room + 1); with one layer runs are free."""
    up = int(layers > 1)
    shut = np.zeros((layers, room + 1))
    live = np.full((layers, room + 1), -np.inf)
    for gain, cost, opening, joined in zip(row.gains, row.costs, row.openings, row.joined, strict=True):
        rest = np.maximum(shut, live)
        taken = _spent(shut if joined else rest, up, cost + opening) + (gain - row.run_cost)
        if joined:
            np.maximum(taken, _spent(live, 0, cost) + gain, out=taken)
        live, shut = taken, rest
    return np.asarray(np.maximum(shut, live), dtype=np.float64)


def _spent(values: Floats, runs: int, tokens: int) -> Floats:
    """Return the values where every state has opened so many runs and spent so many tokens more."""
    moved = np.full_like(values, -np.inf)
    layers, width = values.shape
    if tokens < width and runs < layers:
        moved[runs:, tokens:] = values[: layers - runs, : width - tokens]
    return moved


def _points(values: Floats) -> list[_Point]:
    """Keep the numbers of runs and tokens that are worth more than any with fewer of either."""
    fewer = np.zeros_like(values)
    fewer[:, 1:] = values[:, :-1]
    np.maximum(fewer[1:], values[:-1], out=fewer[1:])
    runs, tokens = np.nonzero(values > fewer + TOLERANCE)
    return [_Point(r, t, float(values[r, t])) for r, t in zip(runs.tolist(), tokens.tolist(), strict=True)]


def _combined(points: Sequence[Sequence[_Point]], budget: int, layers: int) -> tuple[float, list[NDArray[np.int32]]]:
    """Return the best value of all documents together, and which point of each was taken in every state; 0 for none."""
    best = np.zeros((layers, budget + 1))
    taken: list[NDArray[np.int32]] = []
    for some in points:
        made = best.copy()
        took = np.zeros(best.shape, dtype=np.int32)
        for number, (runs, tokens, value) in enumerate(some, start=1):
            offered = best[: layers - runs, : budget + 1 - tokens] + value
            better = offered > made[runs:, tokens:]
            made[runs:, tokens:][better] = offered[better]
            took[runs:, tokens:][better] = number
        best = made
        taken.append(took)
    return float(best[-1, -1]), taken
