"""The selection as one would write it first: the whole knapsack on a chain in numpy, two states, every candidate.

What composing costs is held against it in `latency.py`: a whole `compose` beside this one step done plainly, for 440
units and 2,000 tokens, in the same run, so that the speed of the machine does not matter.
"""

from __future__ import annotations

import random
from math import isclose

import numpy as np

from retrivex.selection import Candidates, measure, select

UNITS = 440
BUDGET = 2_000
RUN_COST = 0.25
_NONE = -1e18  # of states that cannot be


def plain_selection(row: Candidates, budget: int, run_cost: float) -> tuple[int, ...]:
    """Return the positions worth most within `budget` tokens; openings have no tokens of their own.

    Buffers are written in place, as anybody would do who cares for time; what makes it slow is that every candidate is
    decided for every number of tokens.
    """
    width = budget + 1
    shut, live, taken, opened = np.zeros(width), np.full(width, _NONE), np.empty(width), np.empty(width)
    from_live, from_opened = (np.empty((len(row), width), dtype=np.bool_) for _ in range(2))
    for at, (cost, gain) in enumerate(zip(row.costs, row.gains, strict=True)):
        np.subtract(shut[:-cost], run_cost, out=opened[cost:])
        np.greater(live[:-cost], opened[cost:], out=from_live[at, cost:])
        np.maximum(live[:-cost], opened[cost:], out=taken[cost:])
        taken[cost:] += gain
        taken[:cost] = _NONE
        np.greater(live, shut, out=from_opened[at])
        np.maximum(shut, live, out=shut)
        live, taken = taken, live
    spent, inside, chosen = budget, bool(live[-1] > shut[-1]), []
    for at in range(len(row) - 1, -1, -1):
        if inside:
            chosen.append(at)
            inside = bool(from_live[at, spent])
            spent -= row.costs[at]
        else:
            inside = bool(from_opened[at, spent])
    return tuple(reversed(chosen))


def a_row(seed: int) -> Candidates:
    """Return units of 30 to 60 tokens in one long run, few of them worth much.

    Raises
    ------
    SystemExit
        If the plain programme and `select` do not find equally good sets in it.
    """
    rng = random.Random(seed)
    costs = [rng.randint(30, 60) for _ in range(UNITS)]
    gains = [rng.random() ** 3 * cost / 45 for cost in costs]
    row = Candidates(costs, [0] * UNITS, gains, [False, *[True] * (UNITS - 1)])
    plain = measure(row, plain_selection(row, BUDGET, RUN_COST), RUN_COST)[0]
    exact = select(row, BUDGET, run_cost=RUN_COST).value
    if not isclose(plain, exact, rel_tol=1e-9):
        raise SystemExit(f"the plain programme finds {plain}, select {exact}: one of them is wrong")
    return row
