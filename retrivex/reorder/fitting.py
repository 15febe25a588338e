"""What of an order stays within the limits of a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrivex.ordering.strategy import ORDERS, Packing
from retrivex.reorder.arrangement import Placed
from retrivex.reorder.budget import Budget
from retrivex.reorder.options import ReorderOptions
from retrivex.reorder.packing import Packed, pack


def packing_of(options: ReorderOptions, strategy: str) -> Packing:
    """Return how an order is packed."""
    return ORDERS[strategy].packing if options.packing == "auto" else options.packing


def fitted(placed: Sequence[Placed[Any]], strategy: str, options: ReorderOptions, budget: Budget) -> Packed:
    """Return which of the passages stay, and what the limits leave out."""
    return pack(
        [one.ranked.rank for one in placed],
        packing_of(options, strategy),
        cost=lambda at: budget.cost(placed[at].ranked.candidate),
        budget=budget.limit,
        min_top_k=options.min_top_k,
        top_k=options.top_k,
    )
