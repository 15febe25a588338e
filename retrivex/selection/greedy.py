"""Greedy choice: the best candidate that still fits, again and again."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from retrivex.selection.problem import Limits, Problem, Selection, capacity_left, count_spans, measure

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MIN_VECTORISED = 40
"""Candidates from which on arrays are faster than a loop."""

UNSORTED = -1
"""Stands in a heap in place of a candidate, before all that is not in it yet."""


def choose_greedily(problem: Problem, limits: Limits) -> Selection:
    """Choose what is kept and then the best by rank while it fits, whatever a span costs."""
    chosen = fill(problem, tuple(sorted(limits.keep)), limits, by_rank=True)
    return Selection(chosen, *measure(problem, chosen), bound=float("inf"), proven=False)


def fill(
    problem: Problem,
    chosen: Sequence[int],
    limits: Limits,
    *,
    by_rank: bool = False,
    spent: int | None = None,
    earning: bool = False,
) -> tuple[int, ...]:
    """Add the best remaining candidates that still fit, so that what a budget has left is not wasted.

    Best is what a token brings net of opening a span, (gain - `run_cost` if it opens one) / tokens, or the rank
    itself with `by_rank`. Only candidates with a positive gain are added.

    Parameters
    ----------
    problem : n candidates
    chosen : positions that are chosen already, ascending
    limits : what every choice has to keep
    by_rank : whether ranks decide
    spent : tokens of `chosen`, where they are known
    earning : whether only what brings more than opening its span costs is added, whatever is left

    Returns
    -------
    tuple of int
        `chosen` and what was added, ascending.
    """
    return _Filling(problem, chosen, limits, by_rank, spent, earning).fill()


class _Filling:
    """A set that grows by the best candidate that fits.

    A heap holds the candidates by what they bring per token. Taking one changes what its two neighbours bring, which
    are pushed again; entries that no longer hold are skipped.
    """

    def __init__(
        self, problem: Problem, chosen: Sequence[int], limits: Limits, by_rank: bool, spent: int | None, earning: bool
    ) -> None:
        self.problem = problem
        self.costs, self.openings, self.gains = problem.costs, problem.openings, problem.gains
        self.joined, self.by_rank = problem.joined, by_rank
        self.earning = earning
        self.chosen = chosen
        self.taken = bytearray(len(problem))
        for i in chosen:
            self.taken[i] = True
        self.max_spans = limits.max_spans
        self.spans = 0 if limits.max_spans is None else count_spans(problem, chosen)
        self.left = limits.budget - (measure(problem, chosen)[1] if spent is None else spent)
        self.documents = problem.documents if limits.caps is not None else None
        self.capacity = [] if limits.caps is None else capacity_left(problem, chosen, limits.caps)
        self.unsorted: list[tuple[Floats, Integers]] = []

    def fill(self) -> tuple[int, ...]:
        """Return the chosen and what was added, ascending."""
        (heap, shortest), more_room = self._affordable(), False
        added: list[int] = []
        max_opening, costs, taken, gains = self.problem.max_opening, self.costs, self.taken, self.gains
        while heap or more_room:
            if not heap or self.left < shortest:
                self.unsorted.clear()
                heap, shortest = self._affordable() if more_room else ([], 0)
                more_room = False
                continue
            entry = heapq.heappop(heap)
            i = entry[1]
            if i == UNSORTED:
                heap += _entries(*self.unsorted.pop())
                heapq.heapify(heap)
                continue
            # the first test spares the others: what is longer than this cannot fit, whatever stands beside it
            if costs[i] > self.left + max_opening or taken[i]:
                continue
            tokens, opened = self._change(i)
            if self.earning and gains[i] <= self.problem.run_cost * opened:
                continue
            if tokens > self.left or entry != self._entry(i, tokens, opened) or not self._take(i, tokens, opened):
                continue
            added.append(i)
            more_room = more_room or tokens < 0 or opened < 0
            for j in (i - 1, i + 1):
                # its opening became free, so it may fit and rank higher now
                if 0 <= j < len(taken) and not taken[j] and gains[j] > 0:
                    tokens, opened = self._change(j)
                    heapq.heappush(heap, self._entry(j, tokens, opened))
                    shortest = min(shortest, tokens)
        return tuple(sorted([*self.chosen, *added]))

    def _take(self, i: int, tokens: int, opened: int) -> bool:
        """Take a candidate; False where it would break the limit of spans or of its document."""
        if self.max_spans is not None and opened > 0 and self.spans + opened > self.max_spans:
            return False
        if self.documents is not None:
            if tokens > self.capacity[self.documents[i]]:
                return False
            self.capacity[self.documents[i]] -= tokens
        self.taken[i] = True
        self.left -= tokens
        self.spans += opened
        return True

    def _change(self, i: int) -> tuple[int, int]:
        """Tokens and spans that taking `i` adds; joining two spans refunds one opening."""
        taken, joined = self.taken, self.joined
        tokens, opened = self.costs[i], 0
        if not (joined[i] and i > 0 and taken[i - 1]):
            tokens, opened = tokens + self.openings[i], 1
        if i + 1 < len(taken) and taken[i + 1] and joined[i + 1]:
            tokens, opened = tokens - self.openings[i + 1], opened - 1
        return tokens, opened

    def _entry(self, i: int, tokens: int, opened: int) -> tuple[float, int]:
        if self.by_rank:
            return (-self.problem.rank(i), i)
        return (-((self.gains[i] - self.problem.run_cost * opened) / max(tokens, 1)), i)

    def _affordable(self) -> tuple[list[tuple[float, int]], int]:
        """Heap of all that fits by now, and the fewest tokens that any of it takes."""
        on = np.frombuffer(self.taken, dtype=np.bool_)
        may_fit = ((self.problem.min_tokens <= self.left) & ~on).nonzero()[0]
        if len(may_fit) < MIN_VECTORISED:
            changes = [(i, *self._change(i)) for i in may_fit.tolist()]
            fitting = [change for change in changes if change[1] <= self.left]
            few = [self._entry(*change) for change in fitting]
            heapq.heapify(few)
            return few, min([tokens for _, tokens, _ in fitting], default=0)
        return self._all_affordable(on)

    def _all_affordable(self, on: NDArray[np.bool_]) -> tuple[list[tuple[float, int]], int]:
        """`_change` and `_entry` for all candidates at once."""
        arrays = self.problem.arrays
        opened = np.ones(len(on), dtype=np.int64)
        opened[1:] -= arrays.joined[1:] & on[:-1]
        tokens = arrays.costs + arrays.openings * opened
        joins = arrays.joined[1:] & on[1:]
        opened[:-1] -= joins
        tokens[:-1] -= arrays.openings[1:] * joins
        fitting = ((tokens <= self.left) & (arrays.gains > 0) & ~on).nonzero()[0]
        if self.by_rank:
            keys = np.array([-self.problem.rank(i) for i in fitting.tolist()])
        else:
            net = arrays.gains - self.problem.run_cost * opened
            keys = -(net[fitting] / np.maximum(tokens[fitting], 1))
        return _some_first(keys, fitting, self.unsorted), int(tokens[fitting].min()) if len(fitting) else 0


def _some_first(keys: Floats, numbers: Integers, unsorted: list[tuple[Floats, Integers]]) -> list[tuple[float, int]]:
    """Return a heap of the least keys with their numbers, and at its end a sign for the others, which are put aside.

    Few are ever taken from it, so that most need not be sorted.
    """
    if len(keys) > 2 * MIN_VECTORISED:
        later = keys > np.partition(keys, MIN_VECTORISED)[MIN_VECTORISED]
        if later.any():
            unsorted.append((keys[later], numbers[later]))
            return [*sorted(_entries(keys[~later], numbers[~later])), (float(keys[later].min()), UNSORTED)]
    return sorted(_entries(keys, numbers))


def _entries(keys: Floats, numbers: Integers) -> list[tuple[float, int]]:
    return list(zip(keys.tolist(), numbers.tolist(), strict=True))
