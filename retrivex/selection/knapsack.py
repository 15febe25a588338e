"""The exact knapsack on a chain: a Lagrangian bound, variables fixed by it, and a dynamic programme over the rest.

The Lagrangian relaxation of the budget is a two-state chain programme, linear in the number of candidates; its dual is
found by intersecting lines (Kelley's cutting planes, 1960, in one dimension). Its bound fixes every candidate that
cannot be in (or out of) an optimal set (variable fixing by reduced cost; Kellerer, Pferschy, Pisinger, Knapsack
Problems, 2004, chapter 3), and a dynamic programme over what is left decides the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from retrivex.errors import RetrivexError, quoted
from retrivex.selection.dynamic_programme import Row, best_rows
from retrivex.selection.greedy import fill
from retrivex.selection.lagrangian import Chain
from retrivex.selection.problem import TOLERANCE, Limits, Problem, Selection, count_spans, measure

MAX_CELLS = 40_000_000
"""Largest exact programme, in candidates x tokens x runs: some 0.2 s and 80 MB on one core."""

_STEP = 1.6
"""The best price is first looked for between a guess and this many times more or less: it seldom is further off."""


def solve_knapsack(problem: Problem, limits: Limits) -> Selection:
    """Choose the set worth most within `budget` tokens and `max_spans` spans; other limits are ignored.

    Returns
    -------
    Selection
        With `proven` False where the undecided rest would have been larger than `MAX_CELLS`; `bound` then says how far
        off it can be at most.

    Raises
    ------
    RetrivexError
        If a gain is not finite.
    """
    if not len(problem):
        return Selection((), 0.0, 0, 0.0, proven=True)
    if not np.isfinite(problem.arrays.gains).all():
        raise RetrivexError(f"gains are {quoted(problem.gains)}: each must be a finite number")
    return _Exact(problem, limits.budget, problem.run_cost, limits.max_spans).solve()


class _Priced(NamedTuple):
    """A set that is the best at some price per token: gains less runs, tokens, and the price; None for no set."""

    value: float
    tokens: int
    price: float | None


class _Exact:
    """One exact choice: dual bound, fixing, programme over the rest."""

    def __init__(self, problem: Problem, budget: int, run_cost: float, max_runs: int | None) -> None:
        self.problem = problem
        arrays = problem.arrays
        self.chain = Chain(arrays.gains, arrays.costs, arrays.openings, arrays.joined)
        self.budget = budget
        self.run_cost = run_cost
        self.max_runs = max_runs
        self.best: tuple[int, ...] = ()
        self.best_value, self.best_tokens = 0.0, 0

    def solve(self) -> Selection:
        toll, price, bound = 0.0, *self._dual(self.run_cost)
        if self.max_runs is not None and self.chain.best(price, self.run_cost).runs > self.max_runs:
            toll, price, bound = self._toll(price, bound)
        self._improve(self._filled(self.best, self.best_tokens))
        proven = bound <= self.best_value + TOLERANCE or self._decide(*self._undecided(price, toll, bound))
        if not proven:
            # without a proof, at least no worse than the simple way
            self._improve(self._filled((), 0, by_rank=True))
        value = self.best_value
        return Selection(self.best, value, self.best_tokens, value if proven else bound, proven)

    def _filled(self, chosen: tuple[int, ...], spent: int, *, by_rank: bool = False) -> tuple[int, ...]:
        return fill(self.problem, chosen, Limits(self.budget, self.max_runs), by_rank=by_rank, spent=spent)

    def _improve(self, chosen: tuple[int, ...]) -> None:
        if chosen == self.best:
            return
        value, tokens = measure(self.problem, chosen)
        fits = self.max_runs is None or count_spans(self.problem, chosen) <= self.max_runs
        if value > self.best_value + TOLERANCE and tokens <= self.budget and fits:
            self.best, self.best_value, self.best_tokens = chosen, value, tokens

    def _dual(self, run_cost: float) -> tuple[float, float]:
        """Return the price per token with the lowest bound, and that bound; keeps the best set seen."""
        over, within = self._bracket(run_cost)
        if over is None:
            self._improve(self.chain.solution(0.0, run_cost))
            return 0.0, within.value
        while True:
            # where the two known sets are worth the same, less or more tokens can only be worth more
            price = (over.value - within.value) / (over.tokens - within.tokens)
            line = over.value + price * (self.budget - over.tokens)
            made = self._priced(price, run_cost)
            bound = made.value + price * (self.budget - made.tokens)
            if made.tokens > self.budget:
                over = made
            else:
                within = made
            if bound <= line + TOLERANCE:
                break
        if within.price is not None:
            self._improve(self.chain.solution(within.price, run_cost))
        return price, bound

    def _bracket(self, run_cost: float) -> tuple[_Priced | None, _Priced]:
        """Return a set that takes more than the budget, None where the best of all does not, and one that keeps it."""
        guess = self._guess()
        within = _Priced(0.0, 0, None)
        for price in dict.fromkeys((guess, guess / _STEP, 0.0)):
            made = self._priced(price, run_cost)
            if made.tokens > self.budget:
                break
            within = made
        else:
            return None, within
        if within.price is None:
            dearer = self._priced(guess * _STEP, run_cost)
            return (dearer, within) if dearer.tokens > self.budget else (made, dearer)
        return made, within

    def _priced(self, price: float, run_cost: float) -> _Priced:
        """Return what is best at `price` per token where no budget limits it."""
        worth, tokens, _ = self.chain.best(price, run_cost)
        return _Priced(worth + price * tokens, tokens, price)

    def _guess(self) -> float:
        """Gain per token at which the budget would be used up if opening a run cost nothing."""
        costs, _, gains, _ = self.problem.arrays
        density = gains / np.maximum(costs, 1)
        order = (-density).argsort()
        at = int(costs[order].cumsum().searchsorted(self.budget))
        return max(0.0, float(density[order[min(at, len(order) - 1)]]))

    def _toll(self, price: float, bound: float) -> tuple[float, float, float]:
        """Return toll per run, price per token and bound where only `max_runs` runs may open.

        `price` and `bound` are those without a toll.
        """
        assert self.max_runs is not None
        low, high = 0.0, max(self.problem.gains) * len(self.problem) / self.max_runs + 1.0
        best = (0.0, price, bound)
        for _ in range(16):
            toll = (low + high) / 2
            price, bound = self._dual(self.run_cost + toll)
            bound += toll * self.max_runs
            if bound < best[2]:
                best = (toll, price, bound)
            runs = self.chain.best(price, self.run_cost + toll).runs
            if high - low < 1e-3:
                break
            low, high = (toll, high) if runs > self.max_runs else (low, toll)
        return best

    def _undecided(self, price: float, toll: float, bound: float) -> tuple[list[int], list[bool]]:
        """Return what sets better than the best one known may hold, and which of it all of them hold."""
        return self.chain.undecided(price, self.run_cost + toll, bound - self.best_value + TOLERANCE)

    def _decide(self, keep: list[int], forced: list[bool]) -> bool:
        """Exact programme over `keep`; True if it was run, False where it would be larger than `MAX_CELLS`."""
        problem = self.problem
        costs, openings, gains = problem.costs, problem.openings, problem.gains
        room = self.budget - sum([costs[i] for i, must in zip(keep, forced, strict=True) if must])
        if room < 0:
            return True  # every better set would hold more than fits: there is none
        layers = 1 if self.max_runs is None else self.max_runs + 1
        if len(keep) * (room + 1) * layers > MAX_CELLS:
            return False
        members: list[list[int]] = []
        worth: list[float] = []
        edges: list[tuple[bool, bool]] = []
        last, together = -2, False
        for i, must in zip(keep, forced, strict=True):
            joined = problem.joined[i] and last == i - 1
            if joined and must and together:  # what is taken together anyway is one row
                members[-1].append(i)
                worth[-1] += gains[i]
            else:
                members.append([i])
                worth.append(gains[i])
                edges.append((joined, must))
            last, together = i, must
        rows = [
            Row(gain, 0 if must else costs[part[0]], openings[part[0]], joined, must)
            for gain, part, (joined, must) in zip(worth, members, edges, strict=True)
        ]
        best = best_rows(rows, room, self.run_cost, layers)
        self._improve(tuple([i for at in best for i in members[at]]))
        return True
