r"""Searches for the order of the largest value under a position profile.

With an item's density :math:`d_i = s_i / l_i` and the attention summed up to a token, :math:`A(t)`, an order has the
value :math:`\sum_i d_i (A(t_i + l_i) - A(t_i))`, where :math:`t_i` is the sum of the lengths before item i.
"""

from __future__ import annotations

import itertools
import math
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
"""Up to so many items every order counts; with each one more the work more than doubles."""

MAX_VALLEY_ITEMS = 256
"""Up to so many items all valleys are searched; beyond, one pass over the items is as good as that."""

MAX_CELLS = 2048
"""Number of positions in the search for a valley; longer contexts are rounded to them during the search."""

ROUNDS = 8
"""How often items are placed anew on a profile of several peaks; measured, the gap hardly shrinks after that."""

MAX_MOVED_ITEMS = 24
MAX_MOVES = 50
"""Up to so many items, and so often, two are swapped or one moved on a profile of several peaks."""

REINSERTED_ITEMS = 64
PASSES = 4
"""With more items, so many of the longest are taken out one by one and put back where they gain most, so often."""

UNIT_TOLERANCE = 1e-9
"""Share of the context below which a remainder of two lengths is rounding."""

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
        return _choose_best(problem, edges, [_search_subsets(problem)]), True
    if problem.profile.is_valley:
        search = _search_valley if len(problem) <= MAX_VALLEY_ITEMS else _fill_from_ends
        return _choose_best(problem, edges, [search(problem)]), False
    best = _choose_best(problem, edges, [*_refill_slots(problem), _fill_from_peaks(problem)])
    improved = _improve_by_moves if len(problem) <= MAX_MOVED_ITEMS else _reinsert_longest
    return improved(problem, best), False


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


def _search_subsets(problem: Problem) -> Order:
    """Return the best of all orders: the value of a set of items in front does not depend on what follows."""
    n = len(problem)
    sums = np.zeros(1 << n)
    for item, length in enumerate(problem.lengths.tolist()):
        sums[1 << item : 2 << item] = sums[: 1 << item] + length
    areas, density = problem.areas(sums).tolist(), problem.density.tolist()
    values, last = [0.0] * (1 << n), [0] * (1 << n)
    members = _list_subsets(n)
    for subset in range(1, 1 << n):
        area = areas[subset]
        values[subset], last[subset] = max(
            (values[subset ^ (1 << i)] + density[i] * (area - areas[subset ^ (1 << i)]), -i) for i in members[subset]
        )
    order, subset = [], (1 << n) - 1
    while subset:
        order.append(-last[subset])
        subset ^= 1 << order[-1]
    return np.array(order[::-1], dtype=np.intp)


@lru_cache(maxsize=MAX_EXACT_ITEMS + 1)
def _list_subsets(n: int) -> list[tuple[int, ...]]:
    """Items of each subset of n."""
    return [tuple(i for i in range(n) if subset >> i & 1) for subset in range(1 << n)]


def _search_valley(problem: Problem) -> Order:
    """Return the best order in which the density falls from both ends inwards.

    The densest item goes to the front or to the back, then the next beside what stands there already: how long the
    front is says all about the places left, so that one pass over the items tries all of these orders.
    """
    densest = np.argsort(-problem.density, kind="stable")
    cells = _count_cells(problem.lengths.tolist(), problem.total)
    lengths = np.maximum(1, np.rint(problem.lengths[densest] * cells / problem.total)).astype(int).tolist()
    total = sum(lengths)
    areas = problem.profile.area(np.arange(total + 1) / total)
    values, placed, in_front = np.zeros(1), 0, []
    for length, density in zip(lengths, problem.density[densest].tolist(), strict=True):
        end = total - placed
        front = values + density * (areas[length : length + placed + 1] - areas[: placed + 1])
        back = values + density * (areas[end : total + 1] - areas[end - length : total + 1 - length])
        placed += length
        values = np.full(placed + 1, -np.inf)
        values[: len(back)] = back
        values[length:] = np.maximum(values[length:], front)
        in_front.append(values[length:] == front)
    return densest[_walk_back(int(np.argmax(values)), lengths, in_front)]


def _count_cells(lengths: list[float], total: float) -> int:
    """Into how many equal cells a context falls so that each length is a whole number of them, `MAX_CELLS` at most.

    The greatest common divisor, by Euclid: it does not depend on the unit of the lengths.
    """
    unit = 0.0
    for length in lengths:
        while length > UNIT_TOLERANCE * total:
            unit, length = length, abs(math.remainder(unit, length))
        if unit * MAX_CELLS < total * (1 - UNIT_TOLERANCE):
            return MAX_CELLS
    return round(total / unit)


def _walk_back(front: int, lengths: list[int], in_front: list[NDArray[np.bool_]]) -> list[int]:
    """From the length of the whole front to which items stand in it."""
    head, tail = [], []
    for number in range(len(lengths) - 1, -1, -1):
        before = front - lengths[number]
        if before >= 0 and in_front[number][before]:
            head.append(number)
            front = before
        else:
            tail.append(number)
    return head[::-1] + tail


def _fill_from_ends(problem: Problem) -> Order:
    """Put the densest item at the end with more attention, the next beside it or at the other end, and so on."""
    densest = np.argsort(-problem.density, kind="stable").tolist()
    area = _make_area_table(problem)
    head, tail, front, back = [], [], 0.0, problem.total
    for item in densest:
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


def _fill_from_peaks(problem: Problem) -> Order:
    """Put the densest item at a peak, the next beside what stands at some peak already, wherever attention is most.

    `_fill_from_ends` for several peaks. Items that fit nowhere between two peaks fill the valleys, longest first.
    """
    area, slack = _make_area_table(problem), UNIT_TOLERANCE * problem.total
    tops = [share * problem.total for share in problem.profile.peaks]
    # what stands left of peak p begins at ends[2p + 1], what stands right of it ends at ends[2p + 2]
    ends = [0.0, *(top for top in tops for _ in range(2)), problem.total]
    sides: list[list[int]] = [[] for _ in ends]
    rest = []
    for item in np.argsort(-problem.density, kind="stable").tolist():
        length, best, side = float(problem.lengths[item]), -math.inf, 0
        for at in range(1, len(ends) - 1):
            start, end = (ends[at] - length, ends[at]) if at % 2 else (ends[at], ends[at] + length)
            fits = start >= ends[at - 1] - slack if at % 2 else end <= ends[at + 1] + slack
            gain = area(min(end, problem.total)) - area(max(start, 0.0)) if fits else -math.inf
            if gain > best:
                best, side = gain, at
        if not side:
            rest.append(item)
            continue
        sides[side].append(item)
        ends[side] += -length if side % 2 else length
    room = [end - start for start, end in zip(ends[::2], ends[1::2], strict=True)]
    valleys: list[list[int]] = [[] for _ in room]
    for item in sorted(rest, key=lambda item: -problem.lengths[item]):
        widest = room.index(max(room))
        valleys[widest].append(item)
        room[widest] -= float(problem.lengths[item])
    made = [part for at, valley in enumerate(valleys) for part in (sides[2 * at], valley, sides[2 * at + 1][::-1])]
    return np.array([item for part in made for item in part], dtype=np.intp)


def _improve_by_moves(problem: Problem, order: Order) -> Order:
    """Swap two items or move one, whatever gains most, as long as something does."""
    reached = float(problem.values(order))
    for _ in range(MAX_MOVES):
        neighbours = order[_list_moves(len(order))]
        values = problem.values(neighbours)
        best = int(np.argmax(values))
        if values[best] <= reached + TOLERANCE * abs(reached):
            break
        order, reached = neighbours[best], float(values[best])
    return order


@lru_cache(maxsize=MAX_MOVED_ITEMS + 1)
def _list_moves(n: int) -> Order:
    """Every order that one swap or one move makes of n items; shape (moves, n)."""
    made: dict[tuple[int, ...], None] = {}
    for i, j in itertools.permutations(range(n), 2):
        swapped, moved = list(range(n)), list(range(n))
        swapped[i], swapped[j] = j, i
        moved.insert(j, moved.pop(i))
        made[tuple(swapped)] = made[tuple(moved)] = None
    return np.array(list(made), dtype=np.intp)


def _reinsert_longest(problem: Problem, order: Order) -> Order:
    """Move long items, one at a time, to the place with the largest value: they decide the places of all others."""
    longest = np.argsort(-problem.lengths, kind="stable")[:REINSERTED_ITEMS].tolist()
    made, reached = order, float(problem.values(order))
    for _ in range(PASSES):
        before = reached
        for item in longest:
            moved, value = _find_best_place(problem, made, item)
            if value > reached + TOLERANCE * abs(reached):
                made, reached = moved, value
        if reached == before:
            break
    return _choose_best(problem, order, [made])


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
