"""A/B tests of orders: several orders of the same passages, measured on the same questions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from retrivex.errors import RetrivexError
from retrivex.evaluation.compare.bootstrap import Difference, paired_bootstrap
from retrivex.evaluation.metrics.positions import edge_weights
from retrivex.model.fields import read_values
from retrivex.reorder import Reorderer


@dataclass(frozen=True, slots=True)
class OrderCase:
    """A question with the passages to be ordered.

    Parameters
    ----------
    passages : dictionaries or objects with id, text and score
    relevant : ids of those that answer the question
    query : the question, for orders that depend on it
    """

    passages: Sequence[Any]
    relevant: Sequence[Hashable] = ()
    query: str | None = None


Order: TypeAlias = Callable[[Sequence[Any], str | None], Sequence[Any]]
"""`order(passages, query)`: the passages, ordered."""

Measure: TypeAlias = Callable[[Sequence[Any], OrderCase], float]
"""`measure(ordered, case)`: a figure, larger is better, e.g. whether a model's answer to that context is right."""


@dataclass(frozen=True, slots=True)
class OrderResult:
    """The measurements of one order.

    Parameters
    ----------
    name : of the order
    mean : of the measure over the questions
    figures : of every question, in their order
    difference : to the first order, with its paired bootstrap interval; None for the first itself
    """

    name: str
    mean: float
    figures: tuple[float, ...]
    difference: Difference | None


def relevant_at_edges(ordered: Sequence[Any], case: OrderCase) -> float:
    """Return the mean of the `edge_weights` of the relevant passages' positions; 0 for those that are left out.

    It needs no model, and believes in the u-shape: where a model can be asked, measure its answers.

    Raises
    ------
    RetrivexError
        If no passage of the case is relevant.
    """
    if not case.relevant:
        raise RetrivexError("a case has no relevant passages: name them, or give a measure of your own")
    names = read_values(ordered, "id", "the id")
    places: dict[Hashable, float] = {}
    for name, weight in zip(names, edge_weights(len(ordered)).tolist(), strict=True):
        places.setdefault(name, weight)
    return sum(places.get(name, 0.0) for name in case.relevant) / len(case.relevant)


def compare_orders(
    cases: Sequence[OrderCase],
    orders: Mapping[str, str | Order],
    *,
    measure: Measure = relevant_at_edges,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[OrderResult, ...]:
    """Measure orders on the same questions, each against the first.

    Parameters
    ----------
    cases : at least one question
    orders : by name, a strategy of `Reorderer` or a function; the first is what the others are compared with
    measure : what an order is worth to a question
    resamples, seed : of the bootstrap

    Raises
    ------
    RetrivexError
        If there are no cases or no orders, or what is measured is no finite number.

    Examples
    --------
    >>> passages = [{"id": at, "text": str(at), "score": 1 - at / 10} for at in range(5)]
    >>> found = compare_orders([OrderCase(passages, relevant=[1])], {"as found": lambda given, query: given,
    ...                                                             "edges": "edge_balanced"})
    >>> [(result.name, result.mean) for result in found]
    [('as found', 0.25), ('edges', 1.0)]
    """
    if not cases or not orders:
        raise RetrivexError(f"{len(cases)} cases and {len(orders)} orders: give at least one of each")
    figures = {
        name: [measure(ordered(case.passages, case.query), case) for case in cases]
        for name, ordered in ((name, _as_order(order)) for name, order in orders.items())
    }
    first, *_ = figures.values()
    return tuple(
        OrderResult(
            name,
            float(np.mean(row)),
            tuple(row),
            None if row is first else paired_bootstrap(row, first, resamples=resamples, seed=seed),
        )
        for name, row in figures.items()
    )


def _as_order(order: str | Order) -> Order:
    if callable(order):
        return order
    reorderer = Reorderer(strategy=order)
    return lambda passages, query: reorderer.reorder(passages, query)
