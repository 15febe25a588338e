from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.errors import RetrivexError
from retrivex.evaluation.metrics import (
    citation_coverage,
    edge_weights,
    faithfulness,
    informative_tokens,
    key_point_precision,
    key_point_recall,
    position_effectiveness,
)

QUEEN = "A hive has one queen and many workers."
ANTS = "Ants carry leaves home."


def test_key_points() -> None:
    points, shown = ["one queen", "drones", "Ants"], [QUEEN, ANTS, "ants"]
    assert key_point_recall(points, shown) == pytest.approx(2 / 3)
    assert key_point_precision(points, shown) == pytest.approx(2 / 3)
    assert key_point_precision(points, shown, ignore_case=True) == 1
    assert key_point_recall(["ANTS CARRY"], shown, ignore_case=True) == 1
    assert key_point_recall(points, []) == key_point_precision(points, []) == 0


def test_key_points_cut_no_word() -> None:
    assert key_point_recall(["hen"], ["the queen then"]) == key_point_precision(["hen"], ["henna, when"]) == 0
    assert key_point_recall(["hen", "U.S.", "(hen)", "+ 1"], ["A (hen), then U.S. law + 1."]) == 1
    assert key_point_recall(["2008"], ["12008 20081"]) == 0
    # no word ends where there are no spaces
    assert key_point_recall(["京2008", "2008", "北京", "แมว"], ["在北京2008年", "มีแมวดำ"]) == 1


@pytest.mark.parametrize("points", [[], [" "], "queen"])
def test_key_points_are_texts_that_say_something(points: list[str]) -> None:
    with pytest.raises(RetrivexError, match=r"none blank|give a list"):
        key_point_recall(points, [QUEEN])


def test_texts_are_a_list() -> None:
    with pytest.raises(RetrivexError, match="give a list"):
        key_point_precision(["queen"], QUEEN)


def test_edge_weights_are_those_of_the_u_shape() -> None:
    assert edge_weights(5).tolist() == [1, 0.25, 0, 0.25, 1]
    assert edge_weights(2).tolist() == [1, 1]
    assert edge_weights(1).tolist() == [1]
    assert edge_weights(0).tolist() == []


def test_position_effectiveness_by_hand() -> None:
    assert position_effectiveness([0.9, 0.1, 0.7]) == pytest.approx(0.8)
    assert position_effectiveness([1, 0, 0, 0, 0.5]) == pytest.approx(1.5 / 2.5)
    assert position_effectiveness([0.3]) == 0.3


@given(st.lists(st.floats(0, 1), min_size=3, max_size=8))
def test_the_best_at_the_edges_is_best(scores: list[float]) -> None:
    best = sorted(scores, reverse=True)
    spread = [*best[0::2], *best[1::2][::-1]]
    assert position_effectiveness(spread) >= position_effectiveness(scores) - 1e-9


@pytest.mark.parametrize("scores", [[], [math.nan], [1.0, math.inf], [[1.0]]])
def test_scores_are_finite_numbers(scores: Any) -> None:
    with pytest.raises(RetrivexError, match="one finite number per passage"):
        position_effectiveness(scores)


def test_support() -> None:
    assert faithfulness("The bees are in trees", ["Bees live in hives."]) == 0.5
    assert citation_coverage("Bees live in trees", ["Bees live in hives."]) == 0.75
    assert faithfulness("It is not", ["It is so"]) == 0
    assert faithfulness("the", [QUEEN]) == faithfulness("", [QUEEN]) == faithfulness("Bees", []) == 0


def test_support_of_chinese_is_told_by_pairs_of_characters() -> None:
    assert informative_tokens("蜜蜂住在蜂巢里") == {"蜜蜂", "蜂住", "住在", "在蜂", "蜂巢", "巢里"}
    assert faithfulness("蜜蜂住在树里", ["蜜蜂住在蜂巢里"]) == pytest.approx(3 / 5)
    assert informative_tokens("一") == {"一"}


def test_a_single_chinese_character_may_stand_anywhere() -> None:
    assert faithfulness("王", ["王住在北京"]) == citation_coverage("王", ["王住在北京"]) == 1
    assert faithfulness("蜂", ["蜜蜂住在蜂巢"]) == citation_coverage("蜂", ["蜜蜂"]) == 1
    assert faithfulness("狼", ["蜜蜂住在蜂巢"]) == citation_coverage("狼", ["蜜蜂"]) == 0


def test_no_word_arises_where_two_contexts_meet() -> None:
    assert faithfulness("蜂巢", ["蜜蜂", "巢"]) == 0
    assert citation_coverage("beehive", ["bee", "hive"]) == 0


def test_contexts_are_a_list() -> None:
    with pytest.raises(RetrivexError, match="give a list"):
        faithfulness("Bees", "Bees")


def test_stop_words_may_be_a_list() -> None:
    assert informative_tokens("Bees and wasps", stop_words=["wasps"]) == {"bees", "and"}


def test_a_text_in_place_of_a_list_is_refused() -> None:
    for measure in (lambda: key_point_recall("one queen", ["one queen"]), lambda: faithfulness("Bees", "Bees")):
        with pytest.raises(RetrivexError, match="give a list"):
            measure()
