"""The spend cap, and the file of answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.errors import StoreError
from retrivex.model.asking import Usage
from retrivex.stores.answer_cache import AnswerCache, KeptAnswer, cache_key
from retrivex.tokens.spend_cap import SpendCap


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
