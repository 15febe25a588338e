"""Selects which of the ordered passages stay within the budget and the limits of a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from retrivex.ordering.strategy import ORDERS, Packing
from retrivex.reorder.budget import Budget
from retrivex.reorder.options import ReorderOptions
from retrivex.reorder.passage import Placed


@dataclass(frozen=True, slots=True)
class Packed:
    """Positions of the passages that stay, and of those that each limit leaves out."""

    kept: list[int]
    over_budget: list[int]
    over_top_k: list[int]


def visit_from_edges(positions: Sequence[int]) -> list[int]:
    """Return positions from the edges inwards: first, last, second, last but one, ...

    Examples
    --------
    >>> visit_from_edges(range(5))
    [0, 4, 1, 3, 2]
    """
    half = (len(positions) + 1) // 2
    pairs = zip(positions[:half], reversed(positions), strict=False)
    return [position for pair in pairs for position in pair][: len(positions)]


def pack(
    ranks: Sequence[int],
    packing: Packing,
    *,
    cost: Callable[[int], float] | None = None,
    budget: float | None = None,
    min_top_k: int | None = None,
    top_k: int | None = None,
) -> Packed:
    """Return which positions of an order stay.

    First the budget: `prefix` takes passages from the front and ends at the first that does not fit, `edge_aware` takes
    them from both edges inwards and steps over what does not fit, `best` does so by relevance. Where fewer than
    `min_top_k` are left, the budget gives way and that many are taken by the same rule. Then `top_k`, again so.

    Parameters
    ----------
    ranks : shape (n,), rank of the passage at each position, 0 the most relevant
    cost : tokens or characters of the passage at a position
    budget : most of them in all; None for no limit

    Examples
    --------
    >>> pack([0, 2, 3, 1], "edge_aware", cost=[3, 1, 1, 3].__getitem__, budget=4).kept
    [0, 1]
    >>> pack([0, 2, 3, 1], "prefix", top_k=2).kept
    [0, 1]
    """
    everything = list(range(len(ranks)))
    if budget is None and min_top_k is None and (top_k is None or top_k >= len(everything)):
        return Packed(everything, [], [])
    fitting = everything
    if cost is not None and budget is not None:
        fitting = sorted(_fit(_order_visits(everything, packing, ranks), cost, budget, stop=packing == "prefix"))
    if min_top_k is not None and len(fitting) < min_top_k:
        fitting = sorted(_order_visits(everything, packing, ranks)[:min_top_k])
    kept = fitting
    if top_k is not None and len(fitting) > top_k:
        kept = sorted(_order_visits(fitting, packing, ranks)[:top_k])
    return Packed(kept, _without(everything, fitting), _without(fitting, kept))


def _order_visits(positions: Sequence[int], packing: Packing, ranks: Sequence[int]) -> list[int]:
    if packing == "best":
        return sorted(positions, key=ranks.__getitem__)
    return visit_from_edges(positions) if packing == "edge_aware" else list(positions)


def _fit(visits: Sequence[int], cost: Callable[[int], float], budget: float, *, stop: bool) -> list[int]:
    taken, total = [], 0.0
    for position in visits:
        size = cost(position)
        if total + size <= budget:
            total += size
            taken.append(position)
        elif stop:
            break
    return taken


def _without(positions: Sequence[int], others: Sequence[int]) -> list[int]:
    taken = set(others)
    return [position for position in positions if position not in taken]


def resolve_packing(options: ReorderOptions, strategy: str) -> Packing:
    """Return how an order is packed."""
    return ORDERS[strategy].packing if options.packing == "auto" else options.packing


def fit(placed: Sequence[Placed[Any]], strategy: str, options: ReorderOptions, budget: Budget) -> Packed:
    """Return which of the passages stay, and what the limits leave out."""
    return pack(
        [one.ranked.rank for one in placed],
        resolve_packing(options, strategy),
        cost=lambda at: budget.cost(placed[at].ranked.candidate),
        budget=budget.limit,
        min_top_k=options.min_top_k,
        top_k=options.top_k,
    )
