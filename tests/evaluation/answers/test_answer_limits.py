"""How fast and how much: rate limit and spend cap under any clock, and the file of answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.errors import StoreError
from retrivex.evaluation.answers.answer_cache import AnswerCache, KeptAnswer, cache_key
from retrivex.evaluation.answers.limits import RateLimit, SpendCap
from retrivex.evaluation.answers.model import Usage


@given(
    st.lists(st.tuples(st.integers(1, 500), st.integers(0, 30)), max_size=40),
    st.none() | st.integers(1, 5),
    st.none() | st.integers(500, 900),
)
def test_no_minute_begins_more_than_its_limits(
    asked: list[tuple[int, int]], requests: int | None, tokens: int | None
) -> None:
    now = 0.0
    limit = RateLimit(requests, tokens, clock=lambda: now)
    gone: list[tuple[float, int]] = []
    for cost, later in asked:
        now += later
        gone.append((now + limit.enter(cost), cost))
    for at, last in gone:
        inside = [cost for when, cost in gone if at - 60 + 1e-6 < when <= at]
        assert requests is None or len(inside) <= requests
        # the last one's tokens count for the minute that begins with it
        assert tokens is None or sum(inside) - last <= tokens


def test_no_limits_let_everything_pass() -> None:
    limit = RateLimit()
    assert {limit.enter(10**9) for _ in range(1000)} == {0.0}


@given(st.lists(st.tuples(st.integers(0, 100), st.floats(0, 1)), max_size=30), st.integers(0, 500))
def test_the_cap_is_never_passed_by_what_was_reserved(costs: list[tuple[int, float]], most: int) -> None:
    cap = SpendCap(most)
    for expected, share in costs:
        if cap.reserve(expected):
            cap.settle(expected, int(expected * share))
        else:
            assert not cap.reserve(0)  # nothing goes any more, however small
            break
    assert cap.spent <= most


def test_answers_are_kept_as_they_were(tmp_path: Path) -> None:
    answers = {"a": KeptAnswer("Bienen \ud800 蜜蜂", True, 5, 2), "b": KeptAnswer("")}
    with AnswerCache(tmp_path / "answers.db") as cache:
        for key, answer in answers.items():
            assert cache.write(key, answer) == answer
    with AnswerCache(tmp_path / "answers.db") as cache:
        assert {key: cache.read(key) for key in answers} == answers
        assert cache.read("c") is None
        assert len(cache) == 2


def test_the_first_answer_stays(tmp_path: Path) -> None:
    with AnswerCache(tmp_path / "answers.db") as one, AnswerCache(tmp_path / "answers.db") as other:
        one.write("a", KeptAnswer("first"))
        assert other.write("a", KeptAnswer("second")).text == "first"


def test_a_folder_that_is_not_there_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        AnswerCache(tmp_path / "none" / "answers.db")


def test_every_part_of_a_request_counts_in_its_key() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "a"}], "seed": 0}
    others = [{**body, "model": "n"}, {**body, "messages": []}, {**body, "seed": 1}, {**body, "top_p": 1}]
    assert len({cache_key(one) for one in (body, *others)}) == 5
    assert cache_key(dict(reversed(body.items()))) == cache_key(body)


def test_usage_in_words() -> None:
    usage = Usage(sent=3, answered=2, cached=1, unanswered=1, prompt_tokens=1000, answer_tokens=50, estimated_tokens=7)
    assert str(usage) == (
        "2 answers for 1,050 tokens (1,000 of prompts, 7 of them estimated), 1 more out of the cache, "
        "1 without an answer"
    )
