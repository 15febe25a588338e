from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.errors import RetrivexError
from retrivex.evaluation.metrics import (
    citation_coverage,
    context_precision,
    context_recall,
    edge_weights,
    faithfulness,
    informative_tokens,
    key_point_precision,
    key_point_recall,
    position_effectiveness,
    relevance_of,
    span_recall,
)

QUEEN = "A hive has one queen and many workers."
ANTS = "Ants carry leaves home."


def test_context_precision_by_hand() -> None:
    assert context_precision([False, False, True, True, False]) == pytest.approx((1 / 3 + 2 / 4) / 2)
    assert context_precision([True, True, False]) == 1
    assert context_precision([False]) == context_precision([]) == 0


@given(st.lists(st.booleans(), max_size=8))
def test_relevant_passages_first_are_best(relevant: list[bool]) -> None:
    assert context_precision(sorted(relevant, reverse=True)) == float(any(relevant))
    assert context_precision(relevant) <= 1


def test_a_reference_is_recalled_where_one_context_holds_it() -> None:
    assert context_recall([QUEEN, ANTS], [f"Bees. {QUEEN.upper()} Wasps."]) == 0.5
    assert context_recall([QUEEN], []) == 0
    # a word of seven in other letters still is the passage, half of it is not
    assert context_recall([QUEEN], ["A hive has one queen and many worker."]) == 1
    assert context_recall([QUEEN], ["A hive has one queen."]) == 0
    assert context_recall([QUEEN], ["A hive has one queen."], held=0.4) == 1


def test_a_context_is_relevant_that_holds_a_reference_or_is_part_of_one() -> None:
    assert relevance_of([ANTS, f"{QUEEN} {ANTS}", "one queen and many"], [QUEEN]) == [False, True, True]
    assert relevance_of([""], [QUEEN]) == [False]


def test_references_of_one_or_two_characters() -> None:
    assert context_recall(["北京", "42", "蜂"], ["北京是中国的首都", "It is 42.", "蜜蜂"]) == 1
    assert context_recall(["42", "Ox"], ["1942 oxen"]) == 0
    assert relevance_of(["北京", "南京", "北京是中国的首都"], ["北京"]) == [True, False, True]


def test_bad_arguments_of_context_recall() -> None:
    with pytest.raises(RetrivexError, match="references are empty"):
        context_recall([], [QUEEN])
    for held in (0, 1.1, math.nan, "0.9"):
        with pytest.raises(RetrivexError, match=f"held is {held!r}"):
            context_recall([QUEEN], [QUEEN], held=held)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", ["Bees sleep.", None, 3, [None], [b"Bees"]])
@pytest.mark.parametrize(
    "measure",
    [
        lambda bad: context_recall(bad, [QUEEN]),
        lambda bad: context_recall([QUEEN], bad),
        lambda bad: relevance_of(bad, [QUEEN]),
        lambda bad: relevance_of([QUEEN], bad),
        lambda bad: key_point_recall(bad, [QUEEN]),
        lambda bad: key_point_recall([QUEEN], bad),
        lambda bad: key_point_precision([QUEEN], bad, ignore_case=True),
        lambda bad: faithfulness("Bees", bad),
        lambda bad: citation_coverage("Bees", bad),
    ],
)
def test_a_list_of_texts_is_one(measure: Callable[[Any], Any], bad: Any) -> None:
    with pytest.raises(RetrivexError, match=r"give a (list|text)"):
        measure(bad)


@pytest.mark.parametrize("references", [[], [""], [QUEEN, " "]])
def test_there_is_something_to_be_held(references: list[str]) -> None:
    with pytest.raises(RetrivexError, match="references are"):
        context_recall(references, [QUEEN])
    with pytest.raises(RetrivexError, match="references are"):
        relevance_of([QUEEN], references)


@pytest.mark.parametrize("bad", ["no", None, [math.nan, False], ["no"], [0.5], [2], [None]])
def test_a_passage_is_relevant_or_not(bad: Any) -> None:
    with pytest.raises(RetrivexError, match=r"give (a list|True or False)"):
        context_precision(bad)


def test_relevance_may_be_0_and_1() -> None:
    assert context_precision([0, 1]) == context_precision(np.array([False, True])) == 0.5


@pytest.mark.parametrize("bad", [None, 3, ["Bees"]])
def test_an_answer_is_one_text(bad: Any) -> None:
    with pytest.raises(RetrivexError, match="give a text"):
        faithfulness(bad, [QUEEN])
    with pytest.raises(RetrivexError, match="give a text"):
        informative_tokens(bad)


def test_key_points() -> None:
    points, shown = ["one queen", "drones", "Ants"], [QUEEN, ANTS, "ants"]
    assert key_point_recall(points, shown) == pytest.approx(2 / 3)
    assert key_point_precision(points, shown) == pytest.approx(2 / 3)
    assert key_point_precision(points, shown, ignore_case=True) == 1
    assert key_point_recall(["ANTS CARRY"], shown, ignore_case=True) == span_recall(["carry leaves"], shown) == 1
    assert key_point_recall(points, []) == key_point_precision(points, []) == 0


def test_key_points_cut_no_word() -> None:
    assert key_point_recall(["hen"], ["the queen then"]) == key_point_precision(["hen"], ["henna, when"]) == 0
    assert key_point_recall(["hen", "U.S.", "(hen)", "+ 1"], ["A (hen), then U.S. law + 1."]) == 1
    assert span_recall(["2008"], ["12008 20081"]) == 0
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


@pytest.mark.parametrize("count", ["a", -1, 2.5, None, True])
def test_positions_are_counted(count: Any) -> None:
    with pytest.raises(RetrivexError, match="count is"):
        edge_weights(count)


def test_large_scores() -> None:
    assert position_effectiveness([1e308] * 5) == pytest.approx(1e308)
    assert position_effectiveness([1e-320] * 3) == pytest.approx(1e-320)


def test_position_effectiveness_by_hand() -> None:
    assert position_effectiveness([0.9, 0.1, 0.7]) == pytest.approx(0.8)
    assert position_effectiveness([1, 0, 0, 0, 0.5]) == pytest.approx(1.5 / 2.5)
    assert position_effectiveness([0.3]) == 0.3


@given(st.lists(st.floats(0, 1), min_size=3, max_size=8))
def test_the_best_at_the_edges_is_best(scores: list[float]) -> None:
    best = sorted(scores, reverse=True)
    spread = [*best[0::2], *best[1::2][::-1]]
    assert position_effectiveness(spread) >= position_effectiveness(scores) - 1e-9


@pytest.mark.parametrize("scores", [[], [math.nan], np.ones((2, 2)), ["a"], ["1"], "a", None, [1, [2]], [1j]])
def test_scores_are_finite_numbers(scores: list[float]) -> None:
    with pytest.raises(RetrivexError, match="at least one"):
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


@pytest.mark.parametrize("held", [None, "0.5", True, [0.5], 0, 1.1, math.nan, [10**5000]])
def test_held_is_a_share(held: Any) -> None:
    for call in (context_recall, relevance_of):
        for contexts in (["Bees sleep."], []):
            with pytest.raises(RetrivexError, match=r"held is .*: it must be a share above 0"):
                call(["Bees sleep."], contexts, held=held)


@pytest.mark.parametrize(("wrong", "message"), [
    ({"min_length": "2"}, "min_length is '2'"), ({"min_length": None}, "min_length is None"),
    ({"min_length": math.nan}, "min_length is nan"), ({"min_length": -1}, "min_length is -1"),
    ({"min_length": True}, "min_length is True"), ({"stop_words": None}, "stop_words is None"),
    ({"stop_words": "the"}, "stop_words is one text"), ({"stop_words": [5]}, r"stop_words\[0\] is 5"),
])  # fmt: skip
def test_words_that_count_are_told_by_rules(wrong: dict[str, Any], message: str) -> None:
    for call in (lambda: faithfulness("a", ["a"], **wrong), lambda: informative_tokens("a", **wrong)):
        with pytest.raises(RetrivexError, match=message):
            call()


def test_stop_words_may_be_a_list() -> None:
    assert informative_tokens("Bees and wasps", stop_words=["wasps"]) == {"bees", "and"}


def test_an_array_of_no_dimensions_is_no_list() -> None:
    with pytest.raises(RetrivexError, match=r"contexts is .*: give a list"):
        faithfulness("a", np.array("a"))  # type: ignore[arg-type]
    with pytest.raises(RetrivexError, match="no room for so many positions"):
        edge_weights(10**400)
