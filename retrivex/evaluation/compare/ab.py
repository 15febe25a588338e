"""A/B tests of orders: several orders of the same passages, measured on the same questions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from retrivex.errors import RetrivexError, quoted
from retrivex.evaluation.compare.bootstrap import Difference, paired_bootstrap
from retrivex.evaluation.metrics.arguments import list_of, name_list, number_row, one_name
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
        If no passage of the case is relevant, or an id cannot be looked up (a list).
    """
    passages, (case,) = list_of(ordered, "ordered"), _cases([case])
    wanted = name_list(case.relevant, "relevant")
    names = read_values(passages, "id", "the id")
    places: dict[Hashable, float] = {}
    for at, (name, weight) in enumerate(zip(names, edge_weights(len(passages)).tolist(), strict=True)):
        places.setdefault(one_name(name, f"the id of ordered[{at}]"), weight)
    if not wanted:
        raise RetrivexError("a case has no relevant passages: name them, or give a measure of your own")
    return sum(places.get(name, 0.0) for name in wanted) / len(wanted)


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
        If there are no cases or no orders, something else is among them, an order or a measure fails, or what it
        measures is no finite number.

    Examples
    --------
    >>> passages = [{"id": at, "text": str(at), "score": 1 - at / 10} for at in range(5)]
    >>> found = compare_orders([OrderCase(passages, relevant=[1])], {"as found": lambda given, query: given,
    ...                                                             "edges": "edge_balanced"})
    >>> [(result.name, result.mean) for result in found]
    [('as found', 0.25), ('edges', 1.0)]
    """
    asked = _cases(cases)
    if not isinstance(orders, Mapping):
        raise RetrivexError(f"orders is {quoted(orders)}: give a mapping of names to orders")
    if not callable(measure):
        raise RetrivexError(f"measure is {quoted(measure)}: give measure(ordered, case) -> number")
    if not asked or not orders:
        raise RetrivexError(f"{len(asked)} cases and {len(orders)} orders: give at least one of each")
    figures = {name: _figures(name, asked, _as_order(order), measure) for name, order in orders.items()}
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


def _cases(cases: Sequence[OrderCase]) -> list[OrderCase]:
    asked = list_of(cases, "cases")
    for case in asked:
        if not isinstance(case, OrderCase):
            raise RetrivexError(f"a case is {quoted(case)}: give OrderCase(passages, relevant, query)")
    return asked


def _as_order(order: str | Order) -> Order:
    if callable(order):
        return order
    if not isinstance(order, str):
        raise RetrivexError(f"an order is {quoted(order)}: give a strategy of Reorderer, or order(passages, query)")
    reorderer = Reorderer(strategy=order)
    return lambda passages, query: reorderer.reorder(passages, query)


def _figures(name: str, cases: Sequence[OrderCase], order: Order, measure: Measure) -> list[float]:
    row = [_measure(name, at, case, order, measure) for at, case in enumerate(cases)]
    for at, figure in enumerate(row):
        if number_row([figure]) is None:
            raise RetrivexError(
                f"{quoted(name)} measures {quoted(figure)} on case {at}: leave out what cannot be measured"
            )
    return [float(figure) for figure in row]


def _measure(name: str, at: int, case: OrderCase, order: Order, measure: Measure) -> float:
    try:
        return measure(order(case.passages, case.query), case)
    except RetrivexError:
        raise
    except Exception as error:  # callables of the caller's may raise anything
        raise RetrivexError(f"{quoted(name)} or its measure failed on case {at}: {quoted(error, 200)}") from error
