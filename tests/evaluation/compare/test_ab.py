from __future__ import annotations

import math
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


@pytest.mark.parametrize(
    ("ordered", "relevant", "message"),
    [
        ([{"id": [1]}], [1], r"the id of ordered\[0\] is \[1\]: give a text or a number"),
        ([{"id": "a"}], "a", "relevant is one text, 'a': give a list"),
        ([{"id": "a"}], [["a"]], r"relevant\[0\] is \['a'\]: give a text or a number"),
        (None, ["a"], "ordered is None: give a list"),
    ],
)
def test_what_cannot_be_looked_up(ordered: Any, relevant: Any, message: str) -> None:
    with pytest.raises(RetrivexError, match=message):
        relevant_at_edges(ordered, OrderCase([], relevant))


@pytest.mark.parametrize(
    ("asked", "orders", "message"),
    [
        ("What?", {"edges": "edge_balanced"}, "cases is one text"),
        ([{"passages": []}], {"edges": "edge_balanced"}, r"give OrderCase\("),
        (cases(1), ["edge_balanced"], "give a mapping of names"),
        (cases(1), {"edges": 3}, "an order is 3: give a strategy"),
        (cases(1), {"lost": lambda _given, _query: None}, "ordered is None: give a list"),
    ],
)
def test_cases_and_orders_are_what_they_should_be(asked: Any, orders: Any, message: str) -> None:
    with pytest.raises(RetrivexError, match=message):
        compare_orders(asked, orders)


@pytest.mark.parametrize("figure", [None, "1", [1.0]])
def test_a_measure_gives_a_number(figure: Any) -> None:
    with pytest.raises(RetrivexError, match=r"'as found' measures .* on case 0"):
        compare_orders(cases(1), {"as found": as_found}, measure=lambda _ordered, _case: figure)


def test_bad_input() -> None:
    with pytest.raises(RetrivexError, match="0 cases"):
        compare_orders([], {"edges": "edge_balanced"})
    with pytest.raises(RetrivexError, match="0 orders"):
        compare_orders(cases(1), {})
    with pytest.raises(RetrivexError, match="'as found' measures nan on case 0"):
        compare_orders(cases(1), {"as found": as_found}, measure=lambda _ordered, _case: math.nan)
    with pytest.raises(ValueError, match="sideways"):
        compare_orders(cases(1), {"sideways": "sideways"})


def fails(*given: Any) -> Any:
    raise KeyError("nothing")


@pytest.mark.parametrize("said", [{"orders": {"mine": fails}}, {"orders": {"mine": "score_desc"}, "measure": fails}])
def test_an_order_or_a_measure_that_fails_is_named(said: dict[str, Any]) -> None:
    cases = [OrderCase([{"id": 1, "text": "?", "score": 1.0}], [1])]
    with pytest.raises(RetrivexError, match=r"'mine' or its measure failed on case 0: KeyError\('nothing'\)"):
        compare_orders(cases, **said)


@pytest.mark.parametrize(("wrong", "message"), [
    ({"measure": None}, "measure is None"), ({"resamples": 0}, "resamples is 0"),
    ({"resamples": "9"}, "resamples is '9'"), ({"seed": -1}, "seed is -1"), ({"seed": 1.5}, "seed is 1.5"),
])  # fmt: skip
def test_settings_out_of_range(wrong: dict[str, Any], message: str) -> None:
    cases = [OrderCase([{"id": 1, "text": "?", "score": 1.0}], [1])]
    with pytest.raises(RetrivexError, match=message):
        compare_orders(cases, {"a": "score_desc", "b": "best_last"}, **wrong)


def test_a_case_is_a_case() -> None:
    with pytest.raises(RetrivexError, match="a case is None"):
        relevant_at_edges([], None)  # type: ignore[arg-type]
