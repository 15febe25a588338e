"""When a context stops: what more tokens are expected to hold, against what they have to earn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.strategies import compose, make_chunk, make_store

from retrivex import Composition, SeedHit
from retrivex.scoring.effort import SPARED, count_needed, expected_shares

P = arrays(np.float64, st.integers(1, 30), elements=st.floats(0, 1))
ANSWER = "Report a lost laptop to the help desk within a day, and block its disk on the device page. "
HANDBOOK = ["Lunch is served at noon in the canteen on the ground floor. ", ANSWER, "Holidays are booked in March. "]
ESSAY = [
    f"Writers of {year} walked by the river and thought of rain, of bread and of old friends. " * 3
    for year in range(1900, 1920)
]


def asked(
    question: str | None = "What do I do when my laptop is lost?", budget: int = 600, **options: Any
) -> Composition:
    store = make_store(
        *[make_chunk("handbook", at, text, at * 200) for at, text in enumerate(HANDBOOK)],
        *[make_chunk("essay", at, text, at * 400) for at, text in enumerate(ESSAY)],
    )
    scores = {key: 9.0 if key == ("handbook", 1) else 2.0 for key in store}
    hits = sorted((SeedHit(store[key], score) for key, score in scores.items()), key=lambda hit: -hit.similarity_score)
    return compose(hits, store, query=question, window=0, token_budget=budget, **options)


def test_the_default_stops_where_the_rest_has_nothing_to_do_with_the_question() -> None:
    full, standard, lean = (asked(effort=effort) for effort in ("full", "standard", "lean"))
    assert ANSWER.strip() in lean.text
    assert ANSWER.strip() in standard.text
    assert asked().text == standard.text
    assert lean.tokens <= standard.tokens < full.tokens / 2
    assert {span.doc_id for span in lean.spans} == {"handbook"}


@pytest.mark.parametrize("options", [{"question": None}, {"scoring": "weighted"}], ids=["no question", "weighted"])
def test_effort_is_for_the_calibrated_scorer(options: dict[str, Any]) -> None:
    texts = {asked(**options, effort=effort).text for effort in SPARED}
    assert len(texts) == 1


def test_what_is_left_out_for_earning_too_little_says_so() -> None:
    reasons = [hit.detail for hit in asked().dropped if hit.doc_id == "essay"]
    assert reasons
    assert any("effort='standard'" in reason for reason in reasons)


def test_a_least_value_above_the_effort_s_is_kept() -> None:
    assert asked(min_value=0.99).tokens <= asked().tokens
    assert asked(min_value=0.99, effort="full").tokens < asked(effort="full").tokens


def test_more_is_expected_to_be_shown_with_more_effort() -> None:
    lean, full = (asked(effort=effort, hedge=0.0) for effort in ("lean", "full"))
    assert lean.expected_recall is not None
    assert full.expected_recall is not None
    assert full.confidence is not None
    assert 0 < lean.expected_recall <= full.expected_recall <= full.confidence
    assert asked(question=None).expected_recall is None


def test_expected_recall_survives_json() -> None:
    made = asked()
    assert Composition.from_dict(made.to_dict()).expected_recall == made.expected_recall


@given(P, st.floats(0.2, 5))
def test_expected_shares_sum_to_one_and_follow_the_probabilities(p: Any, sharpness: float) -> None:
    shares = expected_shares(p, sharpness)
    assert shares.sum() == pytest.approx(1.0)
    order = np.argsort(p, kind="stable")
    assert (np.diff(shares[order]) >= -1e-12).all()


@given(P)
def test_what_is_left_out_is_the_end_and_holds_less_than_the_effort_s_share(p: Any) -> None:
    expected = expected_shares(p, 1.5)
    counts = {effort: count_needed(expected, effort) for effort in SPARED}
    assert counts["full"] == len(expected)
    assert counts["lean"] <= counts["standard"] <= counts["full"]
    for effort, count in counts.items():
        assert expected[count:].sum() < SPARED[effort] or count == len(expected)
        assert not count or expected[count - 1 :].sum() >= SPARED[effort] - 1e-12


def test_a_larger_budget_is_used() -> None:
    """What is left out is what the budget would have been filled with, and not what a fixed size has no room for."""
    tokens = [asked(budget=budget).tokens for budget in (20, 50, 600)]
    assert tokens[0] < tokens[1] <= tokens[2]
