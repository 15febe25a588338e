"""A sentence scorer is asked text by text and in time, and its answer is checked."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import try_examples

from retrivex.errors import RerankError, RerankUnavailableError
from retrivex.rerank import SentenceReply, SentenceScoring
from retrivex.text.sentences import sentence_ranges

TEXTS = ["Ants work. Bees sleep.", "Wasps sting.", "Moths fly. Bees hum. Flies eat."]


def shared(question: str, text: str) -> list[tuple[int, int, float]]:
    """The share of the question's words in each sentence."""
    wanted = set(question.lower().split())
    return [
        (start, end, len(wanted & set(text[start:end].lower().rstrip(".").split())) / len(wanted))
        for start, end in sentence_ranges(text)
    ]


async def awaited(question: str, text: str) -> list[tuple[int, int, float]]:
    await asyncio.sleep(0)
    return shared(question, text)


class Plain:
    def score_sentences(self, question: str, text: str) -> list[tuple[int, int, float]]:
        return shared(question, text)


class Awaited:
    async def ascore_sentences(self, question: str, text: str) -> list[tuple[int, int, float]]:
        return await awaited(question, text)


def both(scorer: Any, **said: Any) -> SentenceReply:
    """The reply, once it is sure that both ways, and a way inside a loop, give the same."""
    scoring = SentenceScoring(scorer, **{"backoff_s": 0, **said})

    async def inside_a_loop() -> tuple[SentenceReply, SentenceReply]:
        return scoring.sentences("bees", TEXTS), await scoring.asentences("bees", TEXTS)

    replies = [scoring.sentences("bees", TEXTS), *asyncio.run(inside_a_loop())]
    assert all(str(reply) == str(replies[0]) for reply in replies)
    return replies[0]


@pytest.mark.parametrize("scorer", [shared, awaited, Plain(), Awaited()], ids=["f", "async f", "object", "awaitable"])
@pytest.mark.parametrize("concurrency", [1, 3])
def test_whatever_can_score_sentences_may_be_asked_either_way(scorer: Any, concurrency: int) -> None:
    made = both(scorer, concurrency=concurrency).sentences
    assert made is not None
    assert [[tuple(one) for one in some] for some in made] == [
        [(0, 10, 0.0), (11, 22, 1.0)],
        [(0, 12, 0.0)],
        [(0, 10, 0.0), (11, 20, 1.0), (21, 31, 0.0)],
    ]


def test_no_texts_ask_nobody() -> None:
    assert SentenceScoring(lambda question, text: 1 / 0).sentences("bees", []).sentences == ()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "must give a list"),
        ("no", "must give a list"),
        ([(0, 99, 0.5)], "(0, 99, 0.5) for a text of 22 characters"),
        ([(-1, 5, 0.5)], "(-1, 5, 0.5)"),
        ([(5, 5, 0.5)], "(5, 5, 0.5)"),
        ([(0, 5, 1.5)], "(0, 5, 1.5)"),
        ([(0, 5, float("nan"))], "(0, 5, nan)"),
        ([(0, 5, True)], "(0, 5, True)"),
        ([(0.0, 5, 0.5)], "(0.0, 5, 0.5)"),
        ([(0, 5)], "(0, 5)"),
        ([None], "gave None"),
    ],
)
def test_an_answer_that_is_wrong_is_a_problem_and_not_asked_for_again(answer: Any, said: str) -> None:
    asked: list[str] = []

    def wrong(question: str, text: str) -> Any:
        asked.append(text)
        return answer

    reply = both(wrong)
    assert reply.sentences is None
    assert said in str(reply.problem)
    assert asked.count(TEXTS[0]) == 3  # once each way


def test_numbers_of_numpy_are_numbers_and_float32_may_lie_a_little_above_one() -> None:
    made = both(lambda question, text: [(np.int64(0), np.int32(5), np.float32(1.0000001))]).sentences
    assert made is not None
    assert made[0] == ((0, 5, 1.0),)


def test_a_failure_that_may_pass_is_tried_again_and_others_are_told() -> None:
    failures: list[Exception] = [RerankUnavailableError("busy"), ConnectionError("gone")]

    def fails_twice(question: str, text: str) -> list[tuple[int, int, float]]:
        if failures:
            raise failures.pop()
        return shared(question, text)

    assert SentenceScoring(fails_twice, backoff_s=0).sentences("bees", TEXTS).problem is None
    reply = both(lambda question, text: 1 / 0, retries=0)
    assert str(reply.problem) == "the sentence scorer failed: ZeroDivisionError: division by zero"


def test_one_that_hangs_is_given_up_on() -> None:
    release = threading.Event()
    try:
        reply = SentenceScoring(lambda question, text: release.wait() and [], timeout_s=0.05).sentences("q", TEXTS)
    finally:
        release.set()
    assert "no answer within timeout_s=0.05" in str(reply.problem)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"scorer": "provence"}, "must be an object with score_sentences"),
        ({"scorer": Plain}, "must be an object with score_sentences"),
        ({"concurrency": 0}, "concurrency is 0"),
        ({"retries": -1}, "retries is -1"),
        ({"timeout_s": 0}, "timeout_s is 0"),
        ({"backoff_s": -1}, "backoff_s is -1"),
    ],
)
def test_an_argument_that_breaks_its_rule_is_refused(said: dict[str, Any], words: str) -> None:
    with pytest.raises(RerankError, match=words):
        SentenceScoring(**{"scorer": shared, **said})


@try_examples(50)
@given(st.lists(st.text(max_size=30), max_size=6), st.integers(1, 4))
def test_texts_and_answers_keep_their_order(texts: list[str], concurrency: int) -> None:
    reply = SentenceScoring(shared, concurrency=concurrency).sentences("bees hum", texts)
    assert reply.sentences == tuple(tuple(shared("bees hum", text)) for text in texts)
