"""Two ways on the same questions: what is paired, what is averaged, what can be said."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from retrivex.errors import RetrivexError
from retrivex.evaluation.compare.comparison import EVERY_SET, compare, select
from retrivex.evaluation.report.side_by_side import described, standing, verdict
from retrivex.evaluation.run.results import Row, Way


def rows(
    composer: str,
    figures: Sequence[float],
    *,
    measure: str = "evidence_recall",
    set_name: str = "bees",
    budget: int = 1000,
    seed: int = 0,
    order: str = "document",
) -> list[Row]:
    """Make a row for each figure."""
    way = Way("bm25", 6, composer, order, budget, seed)
    return [
        Row(set_name, f"q{at}", way, {measure: figure}, question=f"Question {at}?", context=f"{composer} <{at}>")
        for at, figure in enumerate(figures)
    ]


def test_means_wins_and_verdict() -> None:
    (found,) = compare(rows("balanced", [1, 1, 1, 0.5, 1, 1]), rows("knn", [0, 0.5, 1, 0.5, 0, 0]))

    assert (found.ours, found.theirs) == (pytest.approx(5.5 / 6), pytest.approx(2 / 6))
    assert (found.wins, found.losses, found.ties) == (4, 0, 2)
    assert found.verdict == "ours is better"
    # by hand: differences 1, .5, 0, 0, 1, 1


def test_where_the_interval_holds_zero_no_effect_is_seen() -> None:
    (found,) = compare(rows("a", [1, 0, 1, 0]), rows("b", [0, 1, 1, 0]))

    assert found.verdict == "no effect seen"
    assert [pair.asked for pair in found.best(5)] == [("bees", "q0")]
    assert [pair.asked for pair in found.worst(5)] == [("bees", "q1")]


@pytest.mark.parametrize("number", [1, 2, 5])
def test_a_handful_of_questions_proves_nothing(number: int) -> None:
    (found,) = compare(rows("a", [1.0] * number), rows("b", [0.0] * number))

    assert (found.wins, found.verdict) == (number, "too few questions")


def test_fewer_milliseconds_are_better() -> None:
    (found,) = compare(rows("a", [1, 2, 3, 3, 3, 3], measure="ms"), rows("b", [4] * 6, measure="ms"))

    assert (found.wins, found.losses, found.verdict) == (6, 0, "ours is better")
    assert found.best(1)[0].asked == ("bees", "q0")


def test_seeds_are_averaged_and_a_question_counts_once() -> None:
    ours = rows("a", [1.0, 1.0])
    theirs = [row for seed, figure in enumerate((0.0, 0.5, 1.0)) for row in rows("b", [figure, 1.0], seed=seed)]
    (found,) = compare(ours, theirs)

    assert found.difference.questions == 2
    assert [pair.difference for pair in found.pairs] == [0.5, 0.0]


def test_equal_budgets_are_compared() -> None:
    ours = [*rows("a", [1.0], budget=500), *rows("a", [0.5], budget=1000)]
    theirs = [*rows("b", [0.5], budget=1000), *rows("b", [0.0], budget=500)]
    (found,) = compare(ours, theirs)

    assert [pair.difference for pair in found.pairs] == [0.5]


def test_what_varies_on_one_side_only_has_to_be_selected() -> None:
    ours = [*rows("a", [1.0], budget=500), *rows("a", [0.5], budget=1000)]

    with pytest.raises(RetrivexError, match="budget is 1000, 500 on one side and 500 on the other"):
        compare(ours, rows("b", [0.5], budget=500))
    assert compare(select(ours, {"budget": "500"}), rows("b", [0.5], budget=500))[0].ours == 1.0


def test_every_set_counts_the_same() -> None:
    ours = [*rows("a", [1.0], set_name="bees"), *rows("a", [0.0, 0.0, 0.0], set_name="ants")]
    theirs = [*rows("b", [0.0], set_name="bees"), *rows("b", [0.0, 0.0, 0.0], set_name="ants")]
    found = compare(ours, theirs)

    assert [(one.set_name, one.difference.mean) for one in found] == [("bees", 1.0), ("ants", 0.0), (EVERY_SET, 0.5)]


def test_questions_of_one_side_only_are_left_out() -> None:
    (found,) = compare(rows("a", [1.0, 1.0, 1.0]), rows("b", [0.0]))
    assert found.difference.questions == 1

    with pytest.raises(RetrivexError, match="no question in common"):
        compare(rows("a", [1.0]), rows("b", [1.0], set_name="ants"))


def test_measures_of_other_questions_cannot_be_compared() -> None:
    ours = [*rows("a", [1.0], measure="em"), *rows("a", [1.0], measure="f1")[:1]]
    ours[1] = replace(ours[1], question_id="q1")
    theirs = [replace(row, way=replace(row.way, composer="b")) for row in ours]
    swapped = [replace(row, question_id={"q0": "q1", "q1": "q0"}[row.question_id]) for row in theirs]

    assert [found.measure for found in compare(ours, theirs)] == ["em", "f1"]
    with pytest.raises(RetrivexError, match="no question has em or f1 on both sides"):
        compare(ours, swapped)
    with pytest.raises(RetrivexError, match="no question has f1 on both sides"):
        compare(ours, [theirs[0], swapped[1]], ["em", "f1"])


def test_unknown_names_say_what_there_is() -> None:
    made = rows("a", [1.0])

    with pytest.raises(RetrivexError, match="no result has composer 'b': there are a"):
        select(made, {"composer": "b"})
    with pytest.raises(RetrivexError, match="'colour' is nothing that a run varies"):
        select(made, {"colour": "red"})
    with pytest.raises(RetrivexError, match="f1 is not known of both sides: both have evidence_recall"):
        compare(made, made, ["f1"])
    without = [replace(row, measures={}) for row in made]
    with pytest.raises(RetrivexError, match=r"^the two have no measure in common: compare runs"):
        compare(made, without)
    with pytest.raises(RetrivexError, match="0 and 1 results"):
        compare([], made)


def test_the_setting_is_shown_in_which_the_win_is() -> None:
    ours = [*rows("a", [0.0, 0.0], budget=500), *rows("a", [1.0, 0.0], budget=1000)]
    theirs = [*rows("b", [0.0, 1.0], budget=500), *rows("b", [0.0, 0.5], budget=1000)]
    (found,) = compare(ours, theirs)
    (won,), (lost,) = found.best(1), found.worst(1)

    assert (won.our_row.way.budget, won.their_row.way.budget, won.settings) == (1000, 1000, 2)
    assert lost.our_row.way.budget == 500
    assert "1.000 against 0.000 in the contexts below; 0.500 against 0.000 over 2 settings" in standing(
        won, "evidence_recall"
    )
    assert described(won.our_row.way) == "a, 6 bm25 hits, document, 1,000 tokens"


def test_the_verdict_is_said_in_words() -> None:
    found = compare(rows("a", [1, 1, 1, 0.5, 1, 1]), rows("b", [0, 0.5, 1, 0.5, 0, 0]))

    assert verdict(found, "evidence_recall", "a", "b") == (
        "a (A) is better than b (B): evidence recall 0.917 against 0.333, 6 questions."
    )


def test_more_spans_are_neither_better_nor_worse() -> None:
    more, fewer = rows("a", [9.0] * 8, measure="spans"), rows("b", [2.0] * 8, measure="spans")

    assert compare(more, fewer)[0].verdict == "ours is higher"
    assert compare(fewer, more)[0].verdict == "ours is lower"
