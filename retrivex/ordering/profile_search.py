r"""Searches for the order of the largest value under a position profile.

With an item's density :math:`d_i = s_i / l_i` and the attention summed up to a token, :math:`A(t)`, an order has the
value :math:`\sum_i d_i (A(t_i + l_i) - A(t_i))`, where :math:`t_i` is the sum of the lengths before item i.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from retrivex.ordering.edges import edge_balanced
from retrivex.ordering.profile import Floats, PositionProfile

Order: TypeAlias = NDArray[np.intp]
"""Numbers of items, that of the first place first."""

MAX_EXACT_ITEMS = 8
"""Up to so many items every order is tried."""

MAX_CELLS = 2048
"""Number of positions at which the attention summed up is looked up."""

ROUNDS = 8
"""How often items are placed anew on a profile of several peaks; measured, the gap hardly shrinks after that."""

REINSERTED_ITEMS = 256
PASSES = 4
"""So many of the longest are taken out one by one and put back where they gain most, so often."""

TOLERANCE = 1e-12
"""Share of the value by which an order must be better to count as better."""


class Problem:
    """Items to be placed, best first, and the profile that they are placed on.

    Parameters
    ----------
    scores : shape (n,), n >= 1, descending
    lengths : shape (n,), in tokens, positive
    profile : attention by position
    """

    def __init__(self, scores: Floats, lengths: Floats, profile: PositionProfile) -> None:
        self.scores = scores
        self.lengths = lengths
        self.profile = profile
        self.total = float(lengths.sum())
        self.density = scores / lengths

    def __len__(self) -> int:
        return len(self.scores)

    def areas(self, tokens: Floats, profile: PositionProfile | None = None) -> Floats:
        """Attention summed up to each token, any shape."""
        shares = np.minimum(tokens / self.total, 1.0)
        return (profile or self.profile).area(shares) * self.total

    def values(self, orders: Order) -> Floats:
        """Return the value of each order; shape (..., n) -> (...)."""
        covered = np.diff(self.areas(np.cumsum(self.lengths[orders], axis=-1)), axis=-1, prepend=0.0)
        return np.asarray((self.density[orders] * covered).sum(axis=-1))


def best_order(problem: Problem) -> tuple[Order, bool]:
    """Return the best order found, and whether it is proven to be the best; edge balanced unless another is better."""
    edges = np.array(edge_balanced(range(len(problem)), ranked=True), dtype=np.intp)
    equal = bool((problem.lengths == problem.lengths[0]).all())
    if equal:
        return _choose_best(problem, edges, [_fill_slots(problem)]), True
    if len(problem) <= MAX_EXACT_ITEMS:
        return _choose_best(problem, edges, [_try_all(problem)]), True
    if problem.profile.is_valley:
        return _choose_best(problem, edges, [_fill_from_ends(problem)]), False
    return _reinsert_longest(problem, _choose_best(problem, edges, _refill_slots(problem))), False


def upper_bound(problem: Problem) -> float:
    """Return what no order can exceed.

    It is reached where the tokens of an item may stand anywhere, apart from each other: then the densest token gets
    the most attention (the rearrangement inequality, Hardy, Littlewood and Pólya, Inequalities, 10.2).
    """
    densest = np.argsort(-problem.density, kind="stable")
    ends = np.cumsum(problem.lengths[densest])
    covered = np.diff(problem.areas(ends, problem.profile.descending), prepend=0.0)
    return float((problem.density[densest] * covered).sum())


def _choose_best(problem: Problem, first: Order, others: list[Order]) -> Order:
    """Return the best of several orders, the earlier one of equal value."""
    best, best_value = first, float(problem.values(first))
    for order in others:
        value = float(problem.values(order))
        if value > best_value + TOLERANCE * abs(best_value):
            best, best_value = order, value
    return best


def _fill_slots(problem: Problem, ends: Floats | None = None) -> Order:
    """Give the densest item the slot of the most attention, and so on; exact for items of equal lengths.

    Parameters
    ----------
    problem : the items
    ends : where the slots end, as shares of the context, shape (n,); None: n equal ones
    """
    n = len(problem)
    ends = np.arange(1, n + 1) / n if ends is None else ends
    widths = np.diff(ends, prepend=0.0)
    attention = np.diff(problem.profile.area(ends), prepend=0.0) / widths
    made = np.empty(n, dtype=np.intp)
    # differences by rounding must not tell slots of the same attention apart
    made[np.argsort(-attention.round(12), kind="stable")] = np.argsort(-problem.density, kind="stable")
    return made


def _refill_slots(problem: Problem) -> list[Order]:
    """Take the slots from the lengths of the items that stand there, and place the items anew, some times over."""
    orders = [_fill_slots(problem)]
    for _ in range(ROUNDS):
        ends = np.minimum(np.cumsum(problem.lengths[orders[-1]]) / problem.total, 1.0)
        orders.append(_fill_slots(problem, ends))
    return orders


def _try_all(problem: Problem) -> Order:
    """Return the best of all orders, of equally good ones that with the densest items in front."""
    orders = _list_orders(len(problem))
    values = problem.values(orders)
    most = values.max()
    best: Order = orders[(values >= most - TOLERANCE * abs(most)).argmax()]
    return best


@lru_cache(maxsize=MAX_EXACT_ITEMS)
def _list_orders(n: int) -> Order:
    """Every order of n items; shape (n!, n)."""
    return np.array(list(itertools.permutations(range(n))), dtype=np.intp)


def _fill_from_ends(problem: Problem) -> Order:
    """Put the densest item at the end with more attention, the next beside it or at the other end, and so on."""
    area = _make_area_table(problem)
    head, tail, front, back = [], [], 0.0, problem.total
    for item in np.argsort(-problem.density, kind="stable").tolist():
        length = float(problem.lengths[item])
        if area(front + length) - area(front) >= area(back) - area(back - length):
            head.append(item)
            front += length
        else:
            tail.append(item)
            back -= length
    return np.array(head + tail[::-1], dtype=np.intp)


def _make_area_table(problem: Problem) -> Callable[[float], float]:
    """Return what looks the attention summed up to a token up, for many calls with one token each."""
    areas = np.append(problem.areas(np.linspace(0, problem.total, MAX_CELLS + 1)), 0.0).tolist()
    step = problem.total / MAX_CELLS

    def area(token: float) -> float:
        cell = min(int(token / step), MAX_CELLS - 1)
        return float(areas[cell] + (areas[cell + 1] - areas[cell]) * (token / step - cell))

    return area


def _reinsert_longest(problem: Problem, order: Order) -> Order:
    """Move long items, one at a time, to the place with the largest value: they decide the places of all others."""
    longest = np.argsort(-problem.lengths, kind="stable")[:REINSERTED_ITEMS].tolist()
    best, reached = order, float(problem.values(order))
    for _ in range(PASSES):
        before = reached
        for item in longest:
            moved, value = _find_best_place(problem, best, item)
            if value > reached + TOLERANCE * abs(reached):
                best, reached = moved, value
        if reached == before:
            break
    return _choose_best(problem, order, [best])


def _find_best_place(problem: Problem, order: Order, item: int) -> tuple[Order, float]:
    """Return the order with one item moved to its best place, and its value: all places in one pass."""
    others = order[order != item]
    starts = np.append(0.0, np.cumsum(problem.lengths[others]))
    area, shifted = problem.areas(starts), problem.areas(starts + problem.lengths[item])
    in_front = np.append(0.0, np.cumsum(problem.density[others] * np.diff(area)))
    behind = np.append(0.0, np.cumsum(problem.density[others] * np.diff(shifted)))
    values = in_front + behind[-1] - behind + problem.density[item] * (shifted - area)
    place = int(values.argmax())
    return np.insert(others, place, item), float(values[place])
