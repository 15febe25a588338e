from __future__ import annotations

import random
from typing import Any

import pytest

from retrivex.errors import RetrivexError
from retrivex.evaluation.compare.ab import Order, OrderCase, compare_orders, relevant_at_edges


def cases(count: int = 40) -> list[OrderCase]:
    """Questions whose second best passage is the relevant one."""
    draws = random.Random(0)
    made = []
    for _ in range(count):
        scores = sorted((draws.random() for _ in range(7)), reverse=True)
        passages = [{"id": at, "text": f"passage {at}", "score": score} for at, score in enumerate(scores)]
        made.append(OrderCase(passages, relevant=[1], query="What?"))
    return made


def as_found(passages: Any, query: str | None) -> Any:
    assert query == "What?"
    return passages


def test_an_order_that_is_better_is_sure_to_be() -> None:
    found = compare_orders(cases(), {"as found": as_found, "edges": "edge_balanced", "again": "score_desc"})
    assert [result.name for result in found] == ["as found", "edges", "again"]
    assert found[0].difference is None
    assert found[1].mean == 1.0  # the second best stands last
    assert found[1].difference is not None
    assert found[1].difference.significant
    assert found[1].difference.mean == pytest.approx(1 - found[0].mean)
    assert found[2].difference is not None
    assert not found[2].difference.significant
    assert len(found[1].figures) == 40


def test_a_measure_of_ones_own() -> None:
    def first_is_relevant(ordered: Any, case: OrderCase) -> float:
        return float(ordered[0]["id"] in case.relevant)

    found = compare_orders(
        cases(), {"as found": as_found, "reversed": lambda given, _query: given[1::-1]}, measure=first_is_relevant
    )
    assert [result.mean for result in found] == [0.0, 1.0]


def test_the_same_seed_gives_the_same_interval() -> None:
    orders: dict[str, str | Order] = {"as found": as_found, "shuffled": "shuffle"}
    first, second = (compare_orders(cases(), orders, seed=3)[1].difference for _ in range(2))
    assert first == second


def test_relevant_passages_at_the_edges() -> None:
    passages = [{"id": at} for at in range(5)]
    assert relevant_at_edges(passages, OrderCase(passages, [0, 2])) == 0.5
    assert relevant_at_edges(passages[:3], OrderCase(passages, [4])) == 0  # left out
    with pytest.raises(RetrivexError, match="no relevant passages"):
        relevant_at_edges(passages, OrderCase(passages))


def test_bad_input() -> None:
    with pytest.raises(RetrivexError, match="0 cases"):
        compare_orders([], {"edges": "edge_balanced"})
    with pytest.raises(RetrivexError, match="0 orders"):
        compare_orders(cases(1), {})
    with pytest.raises(ValueError, match="sideways"):
        compare_orders(cases(1), {"sideways": "sideways"})


def fails(*given: Any) -> Any:
    raise KeyError("nothing")
