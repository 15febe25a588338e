"""The choice: what is worth most per token, again and again, while it fits."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from retrivex.selection.problem import Limits, Problem, opens, tokens_of


def choose(problem: Problem, limits: Limits, kept: Sequence[int] = (), given_up: Sequence[int] = ()) -> list[int]:
    r"""Choose what is kept and then, one by one, what is worth most per token and still fits.

    A candidate with value :math:`v` and cost :math:`c` ranks by :math:`v c / (c + o)`, where :math:`o` is what opening
    a span at it costs; that is nothing where it continues what is chosen. Equal ones are taken in their order.

    Parameters
    ----------
    problem : n candidates
    limits : what a choice has to keep
    kept : positions that are chosen whatever they are worth, ascending; they may break the limits
    given_up : positions that are not chosen

    Returns
    -------
    list of int
        Positions in the order in which they were taken, those kept first.

    Examples
    --------
    >>> row = Problem(*map(np.array, ([5, 5, 5], [1, 1, 1], [0.9, 0.5, 1.0], [False, True, True], [0, 0, 0])))
    >>> choose(row, Limits(12)), choose(row, Limits(16)), choose(row, Limits(12), kept=[1])
    ([2, 0], [2, 0, 1], [1, 2])
    """
    return _Choice(problem, limits, kept, given_up).grow()


class _Choice:
    """A set that grows by the best candidate that fits."""

    def __init__(self, problem: Problem, limits: Limits, kept: Sequence[int], given_up: Sequence[int]) -> None:
        self.problem = problem
        self.continues = problem.continues
        # lists, which loops read several times as fast
        self.costs: list[int] = problem.costs.tolist()
        self.openings: list[int] = problem.openings.tolist()
        self.gains: list[float] = (problem.values * np.maximum(problem.costs, 1)).tolist()
        self.documents: list[int] = problem.documents.tolist()
        self.most_refunded = max(self.openings, default=0)
        self.limits = limits
        self.span_price = problem.span_price
        self.order = list(kept)
        self.taken = bytearray(len(problem) + 1)
        may_be_taken = problem.values > 0
        may_be_taken[[*given_up, *kept]] = False
        self.may_be_taken: list[bool] = may_be_taken.tolist()
        for i in kept:
            self.taken[i] = True
        self.left = limits.budget - tokens_of(problem, kept)
        self.spans = sum(opens(problem, kept))
        self.of_document: dict[int, int] = {}
        for i, opened in zip(kept, opens(problem, kept), strict=True):
            self._charge(i, self.costs[i] + self.openings[i] * opened)

    def grow(self) -> list[int]:
        """Take what fits, best first; what a taken neighbour makes cheaper is looked at again."""
        problem = self.problem
        costs = np.maximum(problem.costs, 1)
        ranks = (problem.values * costs - problem.span_price) / (costs + problem.openings)
        waiting = np.flatnonzero(np.array(self.may_be_taken, dtype=np.bool_) & (problem.costs <= self._most()))
        waiting = waiting[np.argsort(-ranks[waiting], kind="stable")]
        cheaper: list[tuple[float, int]] = []  # a heap of those that a taken neighbour saves the opening
        if len(waiting):
            for i in self.order.copy():
                self._push_neighbours(cheaper, i)
        row, ranked = waiting.tolist(), (-ranks[waiting]).tolist()
        at = 0
        while at < len(row) or cheaper:
            if cheaper and (at == len(row) or cheaper[0] <= (ranked[at], row[at])):
                i = heapq.heappop(cheaper)[1]
            else:
                i, at = row[at], at + 1
                if self.costs[i] > self._most() and not self.taken[i]:  # nor will others fit that are as long
                    rest = waiting[len(waiting) - len(row) + at :]
                    waiting = rest[problem.costs[rest] <= self._most()]
                    row, ranked, at = waiting.tolist(), (-ranks[waiting]).tolist(), 0
                    continue
            if not self.taken[i] and self._take(i):
                self._push_neighbours(cheaper, i)
        return self.order

    def _most(self) -> int:
        """Most tokens that a candidate may have to fit, with the opening that it may refund."""
        return self.left + self.most_refunded

    def _push_neighbours(self, heap: list[tuple[float, int]], i: int) -> None:
        """Rank those beside a taken candidate again that no longer open a span."""
        costs, most = self.costs, self._most()
        for j, joined in ((i - 1, self.continues[i]), (i + 1, self.continues[i + 1])):
            if joined and self.may_be_taken[j] and not self.taken[j] and costs[j] <= most:
                tokens, opened = self._added(j)
                gain = self.gains[j] - self.span_price * opened
                heapq.heappush(heap, (-gain / max(tokens, 1), j))

    def _added(self, i: int) -> tuple[int, int]:
        """Tokens and spans that taking a candidate adds; joining two spans refunds one opening."""
        tokens, opened = self.costs[i], 0
        if not (i and self.continues[i] and self.taken[i - 1]):
            tokens, opened = tokens + self.openings[i], 1
        if self.continues[i + 1] and self.taken[i + 1]:
            tokens, opened = tokens - self.openings[i + 1], opened - 1
        return tokens, opened

    def _take(self, i: int) -> bool:
        """Take a candidate; False where it would break a limit."""
        tokens, opened = self._added(i)
        if tokens > self.left:
            return False
        limits, document = self.limits, self.documents[i]
        if limits.max_spans is not None and opened > 0 and self.spans + opened > limits.max_spans:
            return False
        if limits.per_document is not None and self.of_document.get(document, 0) + tokens > limits.per_document:
            return False
        self.taken[i] = True
        self.order.append(i)
        self.left -= tokens
        self.spans += opened
        self._charge(i, tokens)
        return True

    def _charge(self, i: int, tokens: int) -> None:
        if self.limits.per_document is None:
            return
        document = self.documents[i]
        self.of_document[document] = self.of_document.get(document, 0) + tokens
