r"""The selection where some candidates are set and documents have a cap.

What is set is given so large a gain that no set without it can be worth more; the gain is taken out again.

With a cap per document the relaxation without it comes first: a best set that keeps the caps is the best of all. Where
it does not, a two-state programme gives each document's best value for every number of tokens and runs up to its cap,
:math:`v_d(r, t)`, and these are combined one document after the other,

.. math:: V_d(r, t) = \max_{r', t'} V_{d-1}(r - r', t - t') + v_d(r', t')

where only the :math:`(r', t')` matter that are worth more than any with fewer runs and tokens.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import RetrivexError
from retrivex.selection.problem import (
    MAX_CELLS,
    TOLERANCE,
    Candidates,
    Selection,
    count_runs,
    fill,
    measure,
    room_left,
    select,
)

Floats = NDArray[np.float64]


class _Point(NamedTuple):
    """The best that a document gives for so many runs and tokens."""

    runs: int
    tokens: int
    value: float


class _Task(NamedTuple):
    """What is to be chosen under caps; fields as the arguments of `choose`."""

    candidates: Candidates
    budget: int
    run_cost: float
    max_runs: int | None
    caps: Sequence[int]
    kept: Sequence[int]


def choose(
    candidates: Candidates,
    budget: int,
    *,
    run_cost: float = 0.0,
    max_runs: int | None = None,
    method: Literal["exact", "greedy"] = "exact",
    keep: Collection[int] = (),
    caps: Sequence[int] | None = None,
) -> Selection:
    """Choose the set worth most within `budget` tokens; as `select`, with more to ask for.

    Parameters
    ----------
    candidates : n of them; with `caps` they carry `documents`, and a candidate that is joined to the one before lies
        in the same document
    budget : in tokens, >= 0
    run_cost : gamma, in the unit of the gains
    max_runs : most runs; None for any number
    method : `exact` or `greedy`
    keep : positions that are chosen whatever they are worth; together they keep all limits
    caps : most tokens of each document, by its number; None for no limit

    Raises
    ------
    RetrivexError
        If what is to be kept breaks a limit.

    Examples
    --------
    >>> row = Candidates([5, 5, 5], [1, 1, 1], [1.0, 0.4, 0.9], [False, True, False], documents=[0, 0, 1])
    >>> choose(row, budget=12).chosen, choose(row, budget=12, keep=[1]).chosen
    ((0, 2), (0, 1))
    >>> choose(row, budget=20, caps=[6, 6]).chosen
    (0, 2)
    """
    if not keep and caps is None:
        return select(candidates, budget, run_cost=run_cost, max_runs=max_runs, method=method)
    kept = tuple(sorted(keep))
    if not fits(candidates, kept, budget, max_runs=max_runs, caps=caps):
        raise RetrivexError(
            f"the candidates {kept} that are to be kept do not fit {budget} tokens, {max_runs} runs and the documents' "
            "caps: keep fewer"
        )
    if method == "greedy":
        chosen = fill(candidates, kept, budget, max_runs=max_runs, by_rank=True, caps=caps)
        value, tokens = measure(candidates, chosen, run_cost)
        return Selection(chosen, value, tokens, bound=float("inf"), proven=False)
    lifted, lift = _lifted(candidates, kept, run_cost)
    made = select(lifted, budget, run_cost=run_cost, max_runs=max_runs)
    if caps is not None and min(room_left(candidates, made.chosen, caps), default=0) < 0:
        made = _capped(_Task(lifted, budget, run_cost, max_runs, caps, kept), made.bound)
    chosen, proven = made.chosen, made.proven
    if not set(kept) <= set(chosen):  # only where a row was too large to be proven
        chosen = fill(candidates, kept, budget, run_cost=run_cost, max_runs=max_runs, caps=caps)
    value, tokens = measure(candidates, chosen, run_cost)
    return Selection(chosen, value, tokens, value if proven else made.bound - lift * len(kept), proven)


def fits(
    candidates: Candidates,
    chosen: Sequence[int],
    budget: int,
    *,
    max_runs: int | None = None,
    caps: Sequence[int] | None = None,
) -> bool:
    """Return whether a set, its positions ascending, keeps all limits."""
    tokens = measure(candidates, chosen, 0.0)[1]
    if tokens > budget or (max_runs is not None and count_runs(candidates, chosen) > max_runs):
        return False
    return caps is None or min(room_left(candidates, chosen, caps), default=0) >= 0


def _lifted(candidates: Candidates, kept: Sequence[int], run_cost: float) -> tuple[Candidates, float]:
    """Give what is kept a gain that no other set can make up for; return how much of it is extra."""
    if not kept:
        return candidates, 0.0
    lift = 1.0 + sum(map(abs, candidates.gains)) + run_cost * len(candidates)
    gains = list(candidates.gains)
    for i in kept:
        gains[i] += lift
    return replace(candidates, gains=gains), lift


def _capped(task: _Task, bound: float) -> Selection:
    """Choose exactly under caps; `bound` is that of the relaxation without them."""
    candidates, budget, run_cost, max_runs, caps, _ = task
    parts = _parts(candidates)
    layers = 1 if max_runs is None else 1 + min(max_runs, len(candidates))
    room = [min(caps[number], budget) for number in parts]
    cells = sum(len(part) * (width + 1) * layers for part, width in zip(parts.values(), room, strict=True))
    if max(cells, len(parts) * (budget + 1) * layers) > MAX_CELLS:
        return _simply(task, bound)
    rows = [_part_of(candidates, part) for part in parts.values()]
    points = [_points(_values(row, width, run_cost, layers)) for row, width in zip(rows, room, strict=True)]
    best, taken = _combined(points, budget, layers)
    chosen: list[int] = []
    runs, tokens = layers - 1, budget
    for part, row, some, took in reversed(list(zip(parts.values(), rows, points, taken, strict=True))):
        number = int(took[runs, tokens])
        if not number:
            continue
        point = some[number - 1]
        limit = None if max_runs is None else point.runs
        chosen += [part[i] for i in select(row, point.tokens, run_cost=run_cost, max_runs=limit).chosen]
        runs, tokens = runs - point.runs, tokens - point.tokens
    value, spent = measure(candidates, sorted(chosen), run_cost)
    # a document's own selection may have been too large to prove
    proven = value >= best - TOLERANCE * max(1.0, abs(best))
    return Selection(tuple(sorted(chosen)), value, spent, best, proven)


def _simply(task: _Task, bound: float) -> Selection:
    """Choose the better of two simple ways, where the exact one would be too large."""
    candidates, budget, run_cost, max_runs, caps, kept = task
    ways = [
        fill(candidates, kept, budget, run_cost=price, max_runs=max_runs, by_rank=by_rank, caps=caps)
        for price, by_rank in ((run_cost, False), (0.0, True))
    ]
    worth = [measure(candidates, chosen, run_cost) for chosen in ways]
    at = int(worth[1] > worth[0])
    return Selection(ways[at], *worth[at], bound=bound, proven=False)


def _parts(candidates: Candidates) -> dict[int, list[int]]:
    """Positions of each document's candidates, by its number."""
    parts: dict[int, list[int]] = {}
    for i, number in enumerate(candidates.documents or ()):
        parts.setdefault(number, []).append(i)
    return parts


def _part_of(candidates: Candidates, part: Sequence[int]) -> Candidates:
    """One document's candidates as a row of their own."""
    return Candidates(
        costs=[candidates.costs[i] for i in part],
        openings=[candidates.openings[i] for i in part],
        gains=[candidates.gains[i] for i in part],
        joined=[candidates.joined[i] and at > 0 and part[at - 1] == i - 1 for at, i in enumerate(part)],
    )


def _values(row: Candidates, room: int, run_cost: float, layers: int) -> Floats:
    """Best value with at most so many runs and tokens, shape (layers, room + 1); with one layer runs are free."""
    up = int(layers > 1)
    shut = np.zeros((layers, room + 1))
    live = np.full((layers, room + 1), -np.inf)
    for gain, cost, opening, joined in zip(row.gains, row.costs, row.openings, row.joined, strict=True):
        rest = np.maximum(shut, live)
        taken = _spent(shut if joined else rest, up, cost + opening) + (gain - run_cost)
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
