"""The registry of the orders, and what the composer and the Reorderer make of its rows."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from retrivex import OrderingStrategy, Reorderer, RetrievalConfig, ordering
from retrivex.composer.order import order_spans
from retrivex.ordering.strategy import ORDERS, Order
from retrivex.reorder import ReorderOptions
from retrivex.reorder.options import Strategy

NAMES = sorted(ORDERS)


def test_every_name_but_auto_has_a_row() -> None:
    assert set(ORDERS) == set(OrderingStrategy) - {"auto"}
    assert callable(ordering.auto)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_row_names_are_parameters_of_the_function_and_options_of_the_reorderer(name: str) -> None:
    order = ORDERS[name]
    assert order.function.__name__ == name
    parameters = set(inspect.signature(order.function).parameters)
    assert {*order.needs, *order.options} <= parameters
    assert ("ranked" in parameters) == ("score" in order.needs)
    assert set(order.options.values()) <= set(ReorderOptions.model_fields)


def test_the_reorderer_takes_every_name() -> None:
    assert get_args(Strategy) == tuple(strategy.value for strategy in OrderingStrategy)


def test_a_row_is_all_that_a_new_order_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_team(items: Any, *, ranked: bool = False, score: Any = None, team: Any = None) -> list[Any]:
        return sorted(items, key=lambda item: team(item) or "")

    monkeypatch.setitem(ORDERS, "alternating", Order(by_team, ("score", "team")))  # type: ignore[misc]
    passages = [{"id": i, "text": "t", "score": 0.5, "metadata": {"team": team}} for i, team in enumerate("bab")]
    assert [one["id"] for one in Reorderer(strategy="alternating").reorder(passages)] == [1, 0, 2]
    spans: list[Any] = [
        SimpleNamespace(id=i, chunks=[SimpleNamespace(metadata=SimpleNamespace(custom_metadata={"team": team}))])
        for i, team in enumerate("bab")
    ]
    made, note = order_spans(spans, RetrievalConfig(ordering_strategy="alternating"))
    assert ([span.id for span in made], note) == ([1, 0, 2], {"strategy": "alternating"})  # type: ignore[attr-defined]
