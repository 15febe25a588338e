r"""The best set by an exact count: what is written can differ from what its parts were priced at.

Gap markers depend on the order, numbers on how many spans there are, and tokens on what stands beside them. So a set
that its prices rule out may fit, and one that they allow may not. Among few candidates, sets are looked at in the order
of their value, best first (A*; Hart, Nilsson and Raphael, 1968), until one fits by its count. With the price
:math:`\lambda` of a token and :math:`\mu` of a span, no set that begins with the choice :math:`x` among the first *i*
candidates is worth more than

.. math:: v(x) + \lambda (B - t(x)) + \mu (R - r(x)) + w_i

where :math:`w_i` is the most that the other candidates bring net of their tokens and spans, a chain program.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from retrivex.selection.exact import price_limits
from retrivex.selection.problem import TOLERANCE, Limits, Problem, capacity_left

MAX_CANDIDATES = 32
"""Most candidates among which sets are looked for; among more, a few tokens matter little."""

MAX_NODES = 4_000
"""Most beginnings of sets that are looked at."""

MAX_COUNTS = 100
"""Most sets that are counted."""


def find_better(
    problem: Problem, limits: Limits, value: float, count: Callable[[tuple[int, ...]], int], saved: int = 0
) -> tuple[int, ...] | None:
    """Return the best set that is worth more than `value` and takes at most `limits.budget` tokens by `count`.

    Parameters
    ----------
    problem : n candidates
    limits : caps of documents are kept by the prices of the problem
    value : of a set that is known to fit
    count : tokens of a set, its positions ascending
    saved : most tokens that a candidate or an opening is taken to need less than its price

    Returns
    -------
    tuple of int or None
        None where no set is better, where none was found in `MAX_NODES` and `MAX_COUNTS`, or where there are more than
        `MAX_CANDIDATES`.

    Examples
    --------
    >>> row = Problem([5, 5, 5], [2, 2, 2], [1.0, 0.4, 0.9], [False, False, False])
    >>> find_better(row, Limits(16), value=1.4, count=lambda chosen: 5 * len(chosen), saved=2)
    (0, 1, 2)
    """
    if not 0 < len(problem) <= MAX_CANDIDATES:
        return None
    least = replace(
        problem,
        costs=[max(0, cost - saved) for cost in problem.costs],
        openings=[max(0, opening - saved) for opening in problem.openings],
    )
    search, counts = _Search(least, limits, value), 0
    while counts < MAX_COUNTS and (chosen := search.next_best()) is not None:
        if limits.caps is not None and min(capacity_left(problem, chosen, limits.caps), default=0) < 0:
            continue
        counts += 1
        if count(chosen) <= limits.budget:
            return chosen
    return None


class _Start(NamedTuple):
    """A choice among the first candidates; the most promising sorts first, and the longest of equal ones.

    Parameters
    ----------
    minus_bound : no set that begins so is worth more than the bound
    undecided : number of the other candidates
    number : of all, in the order in which they were made
    value, tokens, spans : of the chosen
    chosen : positions, ascending
    """

    minus_bound: float
    undecided: int
    number: int
    value: float
    tokens: int
    spans: int
    chosen: tuple[int, ...]


class _Search:
    """Sets in the order of their value, as far as they are worth more than `value`; caps aside."""

    def __init__(self, problem: Problem, limits: Limits, value: float) -> None:
        self.problem, self.limits, self.value = problem, limits, value
        self.penalty, self.price = price_limits(problem, replace(limits, caps=None, keep=()))
        self.after_taken, self.after_skipped = self._sum_behind()
        self.max_spans = len(problem) if limits.max_spans is None else limits.max_spans
        self.nodes = 0
        self.heap: list[_Start] = []
        self._keep(0, 0.0, 0, 0, ())

    def _sum_behind(self) -> tuple[list[float], list[float]]:
        """Most that the candidates from each on bring net, given whether the one before is taken; shape (n + 1,)."""
        problem = self.problem
        taken, skipped = [0.0], [0.0]
        for i in range(len(problem) - 1, -1, -1):
            extended = problem.gains[i] - self.price * problem.costs[i] + taken[-1]
            opened = extended - self.price * problem.openings[i] - problem.run_cost - self.penalty
            rest = float("-inf") if i in self.limits.keep else skipped[-1]
            taken.append(max(rest, extended if problem.joined[i] else opened))
            skipped.append(max(rest, opened))
        return taken[::-1], skipped[::-1]

    def _keep(self, decided: int, value: float, tokens: int, spans: int, chosen: tuple[int, ...]) -> None:
        """Keep a choice among the first `decided` candidates, unless no set that begins so matters."""
        budget, undecided = self.limits.budget, len(self.problem) - decided
        if tokens > budget or spans > self.max_spans:
            return
        bound = value
        if undecided:
            behind = self.after_taken if chosen and chosen[-1] == decided - 1 else self.after_skipped
            bound += self.price * (budget - tokens) + self.penalty * (self.max_spans - spans) + behind[decided]
        if bound > self.value + TOLERANCE:
            self.nodes += 1
            heapq.heappush(self.heap, _Start(-bound, undecided, self.nodes, value, tokens, spans, chosen))

    def next_best(self) -> tuple[int, ...] | None:
        """Return the next set; None where there is none, or `MAX_NODES` were kept."""
        problem = self.problem
        while self.heap and self.nodes < MAX_NODES:
            _, undecided, _, value, tokens, spans, chosen = heapq.heappop(self.heap)
            if not undecided:
                return chosen
            i = len(problem) - undecided
            if i not in self.limits.keep:
                self._keep(i + 1, value, tokens, spans, chosen)
            value, tokens = value + problem.gains[i], tokens + problem.costs[i]
            if not (problem.joined[i] and chosen and chosen[-1] == i - 1):
                value, tokens, spans = value - problem.run_cost, tokens + problem.openings[i], spans + 1
            self._keep(i + 1, value, tokens, spans, (*chosen, i))
        return None
