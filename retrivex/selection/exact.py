r"""The exact selection: a Lagrangian bound, variables fixed by it, and a dynamic program over the rest.

The Lagrangian relaxation of the budget is a two-state chain program, linear in the number of candidates; its dual is
found by intersecting lines (Kelley's cutting planes, 1960, in one dimension). Its bound fixes every candidate that
cannot be in (or out of) an optimal set (variable fixing by reduced cost; Kellerer, Pferschy, Pisinger, Knapsack
Problems, 2004, chapter 3), and a dynamic program over what is left decides the rest.

What has to be kept is given so large a gain that no set without it can be worth more. Caps on documents only narrow
the choice, so that the bound holds for them too; the dynamic program knows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from retrivex.errors import RetrivexError, quoted
from retrivex.selection.dynamic_program import Part, Row, best_rows, count_cells
from retrivex.selection.greedy import fill
from retrivex.selection.lagrangian import Chain
from retrivex.selection.problem import TOLERANCE, Limits, Problem, Selection, fits, measure

MAX_CELLS = 40_000_000
"""Largest dynamic program, in candidates x tokens x spans: some 0.5 s and 80 MB on one core."""

_STEP = 1.6
"""The best price is first looked for between a guess and this many times more or less: it seldom is further off."""


def solve_exactly(problem: Problem, limits: Limits) -> Selection:
    """Choose the set worth most within all limits.

    Returns
    -------
    Selection
        With `proven` False where the undecided rest would have been larger than `MAX_CELLS`; `bound` then says how far
        off it can be at most.

    Raises
    ------
    RetrivexError
        If a gain is not finite, or there are caps and the problem does not say which document each lies in.
    """
    if not len(problem):
        return Selection((), 0.0, 0, 0.0, proven=True)
    if not np.isfinite(problem.arrays.gains).all():
        raise RetrivexError(f"gains are {quoted(problem.gains)}: each must be a finite number")
    lifted, lift = _lift_kept(problem, limits)
    made = _Exact(lifted, limits).solve()
    if not lift:
        return made
    value, tokens = measure(problem, made.chosen)
    return Selection(made.chosen, value, tokens, value if made.proven else made.bound - lift, made.proven)


def price_limits(problem: Problem, limits: Limits) -> tuple[float, float]:
    """Return the penalty per span and the price per token at which the bound on all sets is lowest."""
    penalty, price, _ = _Exact(problem, limits).relax()
    return penalty, price


def _lift_kept(problem: Problem, limits: Limits) -> tuple[Problem, float]:
    """Give what is kept a gain that no other set can make up for; return how much of it all is extra."""
    if not limits.keep:
        return problem, 0.0
    lift = 1.0 + sum(map(abs, problem.gains)) + problem.run_cost * len(problem)
    gains = list(problem.gains)
    for i in limits.keep:
        gains[i] += lift
    return replace(problem, gains=gains), lift * len(limits.keep)


class _Priced(NamedTuple):
    """A set that is the best at some price per token: gains less runs, tokens, and the price; None for no set."""

    value: float
    tokens: int
    price: float | None


class _Exact:
    """One exact choice: dual bound, fixing, dynamic program over the rest."""

    def __init__(self, problem: Problem, limits: Limits) -> None:
        self.problem = problem
        self.limits = limits
        costs, openings, gains, joined = problem.arrays
        self.chain = Chain(gains, costs, openings, joined)
        self.best: tuple[int, ...] = tuple(sorted(limits.keep))
        self.best_value, self.best_tokens = measure(problem, self.best)

    def solve(self) -> Selection:
        kept = self.best
        penalty, price, bound = self.relax()
        self._improve(fill(self.problem, self.best, self.limits, spent=self.best_tokens))
        proven = bound <= self.best_value + TOLERANCE or self._decide(*self._find_undecided(price, penalty, bound))
        if not proven:
            # without a proof, at least no worse than the simple way
            self._improve(fill(self.problem, kept, self.limits, by_rank=True))
        value = self.best_value
        return Selection(self.best, value, self.best_tokens, value if proven else bound, proven)

    def relax(self) -> tuple[float, float, float]:
        """Return penalty per span, price per token and bound of the relaxation; keeps the best set seen."""
        run_cost, max_spans = self.problem.run_cost, self.limits.max_spans
        price, bound = self._dual(run_cost)
        if max_spans is not None and self.chain.best(price, run_cost).runs > max_spans:
            return self._penalise_spans(price, bound, max_spans)
        return 0.0, price, bound

    def _improve(self, chosen: tuple[int, ...]) -> None:
        if chosen == self.best:
            return
        value, tokens = measure(self.problem, chosen)
        if value > self.best_value + TOLERANCE and fits(self.problem, chosen, self.limits):
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
            line = over.value + price * (self.limits.budget - over.tokens)
            made = self._solve_priced(price, run_cost)
            bound = made.value + price * (self.limits.budget - made.tokens)
            if made.tokens > self.limits.budget:
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
            made = self._solve_priced(price, run_cost)
            if made.tokens > self.limits.budget:
                break
            within = made
        else:
            return None, within
        if within.price is None:
            dearer = self._solve_priced(guess * _STEP, run_cost)
            return (dearer, within) if dearer.tokens > self.limits.budget else (made, dearer)
        return made, within

    def _solve_priced(self, price: float, run_cost: float) -> _Priced:
        """Return what is best at `price` per token where no budget limits it."""
        value, tokens, _ = self.chain.best(price, run_cost)
        return _Priced(value + price * tokens, tokens, price)

    def _guess(self) -> float:
        """Gain per token at which the budget would be used up if opening a run cost nothing."""
        costs, _, gains, _ = self.problem.arrays
        density = gains / np.maximum(costs, 1)
        order = (-density).argsort()
        at = int(costs[order].cumsum().searchsorted(self.limits.budget))
        return max(0.0, float(density[order[min(at, len(order) - 1)]]))

    def _penalise_spans(self, price: float, bound: float, most: int) -> tuple[float, float, float]:
        """Return penalty per span, price per token and bound where only `most` spans may open.

        `price` and `bound` are those without a penalty.
        """
        problem = self.problem
        low, high = 0.0, max(problem.gains) * len(problem) / most + 1.0
        best = (0.0, price, bound)
        for _ in range(16):
            penalty = (low + high) / 2
            price, bound = self._dual(problem.run_cost + penalty)
            bound += penalty * most
            if bound < best[2]:
                best = (penalty, price, bound)
            runs = self.chain.best(price, problem.run_cost + penalty).runs
            if high - low < 1e-3:
                break
            low, high = (penalty, high) if runs > most else (low, penalty)
        return best

    def _find_undecided(self, price: float, penalty: float, bound: float) -> tuple[list[int], list[bool]]:
        """Return what sets better than the best one known may hold, and which of it all of them hold."""
        return self.chain.undecided(price, self.problem.run_cost + penalty, bound - self.best_value + TOLERANCE)

    def _decide(self, keep: list[int], forced: list[bool]) -> bool:
        """Run the dynamic program over `keep`; True if it was run, False where it would be larger than `MAX_CELLS`."""
        costs, max_spans = self.problem.costs, self.limits.max_spans
        room = self.limits.budget - sum([costs[i] for i, must in zip(keep, forced, strict=True) if must])
        members, rows = _make_rows(self.problem, keep, forced)
        parts = _make_parts(self.problem, self.limits, members, rows, room)
        if min([room, *[part.tokens for part in parts]]) < 0:
            return True  # every better set would hold more than fits: there is none
        layers = 1 if max_spans is None else 1 + min(max_spans, len(rows))
        if count_cells(parts, room, layers) > MAX_CELLS:
            return False
        best = best_rows(rows, parts, room, self.problem.run_cost, layers)
        if best is not None:
            self._improve(tuple([i for at in best for i in members[at]]))
        return True


def _make_rows(problem: Problem, keep: Sequence[int], forced: Sequence[bool]) -> tuple[list[list[int]], list[Row]]:
    """Return the candidates to decide about as rows, and which each is made of; what is forced is paid already."""
    members: list[list[int]] = []
    rows: list[Row] = []
    last, together = -2, False
    for i, must in zip(keep, forced, strict=True):
        joined = problem.joined[i] and last == i - 1
        if joined and must and together:  # what is taken together anyway is one row
            members[-1].append(i)
            rows[-1] = rows[-1]._replace(gain=rows[-1].gain + problem.gains[i])
        else:
            members.append([i])
            rows.append(Row(problem.gains[i], 0 if must else problem.costs[i], problem.openings[i], joined, must))
        last, together = i, must
    return members, rows


def _make_parts(
    problem: Problem, limits: Limits, members: Sequence[Sequence[int]], rows: Sequence[Row], room: int
) -> list[Part]:
    """Return which rows share a cap, and what it leaves them beside what is paid; one part where there are no caps."""
    if limits.caps is None:
        return [Part(range(len(rows)), min(room, sum(row.cost + row.opening for row in rows)))]
    if problem.documents is None:
        raise RetrivexError("caps without documents: say in Problem(documents=...) which document each lies in")
    numbers: dict[int, list[int]] = {}
    left = {problem.documents[some[0]]: limits.caps[problem.documents[some[0]]] for some in members}
    for number, (some, row) in enumerate(zip(members, rows, strict=True)):
        document = problem.documents[some[0]]
        numbers.setdefault(document, []).append(number)
        left[document] -= sum(problem.costs[i] for i in some) if row.forced else 0
    return [Part(some, min(left[document], room)) for document, some in numbers.items()]
