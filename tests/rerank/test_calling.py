"""A reranker is asked in batches and in time, and its answer is checked."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import try_examples

from retrivex.errors import RerankError, RerankUnavailableError
from retrivex.rerank import Reranking, RerankReply

TEXTS = [f"text {number}" for number in range(7)]


def lengths(query: str, texts: Sequence[str]) -> list[float]:
    return [float(len(text)) for text in texts]


def last_digits(query: str, texts: Sequence[str]) -> list[float]:
    return [float(text[-1]) for text in texts]


def scores(reply: RerankReply) -> list[float]:
    assert reply.problem is None
    assert reply.scores is not None
    values: list[float] = reply.scores.tolist()
    return values


def problem(reranker: Any, texts: Sequence[str] = TEXTS, **said: Any) -> str:
    """What the reply says went wrong, sync and async, once it is sure that both say the same."""
    reranking = Reranking(reranker, **{"backoff_s": 0, **said})
    reply = reranking.scores("q", texts)
    assert reply.scores is None
    assert str(asyncio.run(reranking.ascores("q", texts)).problem) == str(reply.problem)
    return str(reply.problem)


class Recorder:
    """Scores by the last digit, and takes down what it was given."""

    def __init__(self, failures: Sequence[Exception] = ()) -> None:
        self.batches: list[list[str]] = []
        self.failures = list(failures)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.batches.append(list(texts))
        if self.failures:
            raise self.failures.pop(0)
        return last_digits(query, texts)


@try_examples(50)
@given(st.lists(st.text(max_size=5), max_size=20), st.integers(1, 7), st.integers(1, 4))
def test_batches_and_concurrency_change_nothing(texts: list[str], batch_size: int, concurrency: int) -> None:
    reply = Reranking(lengths, batch_size=batch_size, concurrency=concurrency).scores("q", texts)
    assert scores(reply) == lengths("q", texts)


def test_a_batch_holds_no_more_than_its_size() -> None:
    recorder = Recorder()
    assert scores(Reranking(recorder, batch_size=3).scores("q", TEXTS)) == [0, 1, 2, 3, 4, 5, 6]
    assert recorder.batches == [TEXTS[:3], TEXTS[3:6], TEXTS[6:]]


def test_no_texts_ask_nobody() -> None:
    recorder = Recorder()
    assert scores(Reranking(recorder).scores("q", [])) == []
    assert recorder.batches == []


def test_no_more_batches_at_once_than_allowed() -> None:
    under_way, most, lock, meeting = 0, 0, threading.Lock(), threading.Barrier(3, timeout=600)

    def slow(query: str, texts: Sequence[str]) -> list[float]:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        if texts[0] in TEXTS[:3]:
            meeting.wait()
        with lock:
            under_way -= 1
        return [0.0]

    Reranking(slow, batch_size=1, concurrency=3).scores("q", TEXTS)
    assert most == 3


class Awaited:
    async def ascore(self, query: str, texts: Sequence[str]) -> list[float]:
        await asyncio.sleep(0)
        return last_digits(query, texts)


async def awaited(query: str, texts: Sequence[str]) -> list[float]:
    return await Awaited().ascore(query, texts)


@pytest.mark.parametrize(
    "reranker", [last_digits, awaited, Awaited(), Recorder()], ids=["f", "async f", "ascore", "score"]
)
def test_whatever_can_score_may_be_asked_either_way(reranker: Any) -> None:
    async def inside_a_loop() -> tuple[RerankReply, RerankReply]:
        return Reranking(reranker, batch_size=2).scores("q", TEXTS), await Reranking(reranker).ascores("q", TEXTS)

    assert scores(Reranking(reranker).scores("q", TEXTS)) == [0, 1, 2, 3, 4, 5, 6]
    for reply in asyncio.run(inside_a_loop()):
        assert scores(reply) == [0, 1, 2, 3, 4, 5, 6]


# ---- answers that are wrong


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ([1.0], r"shape (1,) for 7 texts"),
        ([1.0] * 8, r"shape (8,) for 7 texts"),
        ([], r"shape (0,) for 7 texts"),
        (0.5, r"shape () for 7 texts"),
        (np.zeros((7, 2)), r"shape (7, 2) for 7 texts"),
        ([math.nan] * 7, "the score nan"),
        ([0.0] * 6 + [math.inf], "the score inf"),
        (None, "must give one number a text"),
        (["good"] * 7, "must give one number a text"),
        (["0.5"] * 7, "must give one number a text"),
        ([object()] * 7, "must give one number a text"),
        ([[1.0]] + [0.0] * 6, "must give one number a text"),
    ],
)
def test_an_answer_that_is_no_row_of_scores_is_a_problem(made: Any, said: str) -> None:
    if made is None:
        made = {"scores": 7}
    calls = []
    assert said in problem(lambda query, texts: calls.append(1) or made)
    assert len(calls) == 2  # once each way: what is wrong is not asked for again


def test_scores_keep_to_the_scale_that_is_declared() -> None:
    assert scores(Reranking(lambda q, t: [0.0, 1.0000001], score_scale="unit").scores("q", TEXTS[:2]))
    assert "the score 1.5" in problem(lambda q, t: [1.5] * 7, score_scale="unit")
    assert "the score -2" in problem(lambda q, t: [-2.0] * 7, score_scale="cosine")
    assert scores(Reranking(lambda q, t: [-2.0] * 7).scores("q", TEXTS)) == [-2.0] * 7


# ---- failures


def test_a_failure_that_may_pass_is_tried_again() -> None:
    recorder = Recorder([ConnectionError("down"), RerankUnavailableError("status 500")])
    assert scores(Reranking(recorder, backoff_s=0).scores("q", TEXTS)) == [0, 1, 2, 3, 4, 5, 6]
    assert len(recorder.batches) == 3


def test_a_failure_that_stays_is_a_problem() -> None:
    recorder = Recorder([ConnectionError("down")] * 9)
    reply = Reranking(recorder, retries=2, backoff_s=0).scores("q", TEXTS)
    assert str(reply.problem) == "the reranker failed: ConnectionError: down"
    assert isinstance(reply.problem, RerankError)
    assert len(recorder.batches) == 3


def test_a_refusal_is_not_asked_for_again() -> None:
    recorder = Recorder([RerankError("status 400")])
    assert str(Reranking(recorder, backoff_s=0).scores("q", TEXTS).problem) == "status 400"
    assert len(recorder.batches) == 1


def test_waiting_doubles_between_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    asyncio.run(Reranking(Recorder([OSError()] * 9), retries=3, backoff_s=0.5).ascores("q", TEXTS))
    assert waits == [0.5, 1.0, 2.0]


def test_an_endpoint_that_asks_for_patience_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    failures = [RerankUnavailableError("busy", 3.0), RerankUnavailableError("busy", 0.1)]
    reply = asyncio.run(Reranking(Recorder(failures), backoff_s=0.5).ascores("q", TEXTS))
    assert scores(reply) == [0, 1, 2, 3, 4, 5, 6]
    assert waits == [3.0, 1.0]


def test_patience_that_there_is_no_time_for_ends_at_once() -> None:
    recorder = Recorder([RerankUnavailableError("status 429", 60.0)] * 9)
    reply = Reranking(recorder, timeout_s=20).scores("q", TEXTS)
    assert str(reply.problem) == (
        "status 429; it asks to wait 60 s, which timeout_s=20 does not leave: raise timeout_s, or ask less often"
    )
    assert len(recorder.batches) == 1


def test_one_batch_that_fails_leaves_no_scores_at_all() -> None:
    # scores of some texts and none of others could not be compared
    def partly(query: str, texts: Sequence[str]) -> list[float]:
        if "text 6" in texts:
            raise RerankError("refused")
        return last_digits(query, texts)

    assert problem(partly, batch_size=2, concurrency=2) == "refused"


# ---- time


def test_a_reranker_that_hangs_is_given_up_on() -> None:
    release = threading.Event()
    try:
        for ask in (Reranking.scores, lambda *given: asyncio.run(Reranking.ascores(*given))):
            reply = ask(Reranking(lambda q, t: release.wait() and [0.0], timeout_s=0.05), "q", ["a"])
            assert reply.scores is None
            assert "no answer within timeout_s=0.05" in str(reply.problem)
    finally:
        release.set()


def test_no_batch_is_begun_after_the_time_is_up() -> None:
    release, begun = threading.Event(), []

    def hangs(query: str, texts: Sequence[str]) -> list[float]:
        begun.append(texts)
        release.wait()
        return [0.0]

    Reranking(hangs, batch_size=1, concurrency=2, timeout_s=0.05).scores("q", TEXTS)
    release.set()
    time.sleep(0.05)
    assert len(begun) <= 2


def test_cancelling_reaches_the_reranker() -> None:
    cancelled = []

    async def hangs(query: str, texts: Sequence[str]) -> list[float]:
        try:
            await asyncio.sleep(20)
        except asyncio.CancelledError:
            cancelled.append(len(texts))
            raise
        return [0.0] * len(texts)

    async def give_up() -> None:
        task = asyncio.create_task(Reranking(hangs, batch_size=4, concurrency=1).ascores("q", TEXTS))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    assert cancelled == [4]  # the second batch never began


# ---- texts that are cut off


class ReadsFive(Recorder):
    def too_long(self, query: str, texts: Sequence[str]) -> list[int]:
        return [at for at, text in enumerate(texts) if len(text) > 5]


class ReadsFiveAwaited(Awaited):
    too_long = ReadsFive.too_long


@pytest.mark.parametrize("reranker", [ReadsFive(), ReadsFiveAwaited()], ids=["score", "ascore"])
def test_texts_that_are_cut_off_are_told_by_their_place(reranker: Any) -> None:
    texts = ["abc 1", "abcdef 2", "abc 3", "abcdef 4"]
    reranking = Reranking(reranker, batch_size=3)
    assert reranking.scores("q", texts).cut == (1, 3)
    assert asyncio.run(reranking.ascores("q", texts)).cut == (1, 3)


@pytest.mark.parametrize("places", [[7], [-1], ["first"]])
def test_places_that_are_none_are_a_problem(places: list[Any]) -> None:
    class Odd(Recorder):
        def too_long(self, query: str, texts: Sequence[str]) -> list[Any]:
            return places

    assert "it must give places from 0 to 6" in problem(Odd())


# ---- arguments


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"batch_size": 0}, "batch_size is 0"),
        ({"batch_size": 2.5}, "batch_size is 2.5"),
        ({"concurrency": True}, "concurrency is True"),
        ({"retries": -1}, "retries is -1"),
        ({"timeout_s": 0}, "timeout_s is 0"),
        ({"timeout_s": math.nan}, "timeout_s is nan"),
        ({"timeout_s": math.inf}, "timeout_s is inf"),
        ({"timeout_s": 10**400}, "timeout_s is 1000"),
        ({"timeout_s": 1e300}, r"timeout_s is 1e\+300: .* at most \d+"),
        ({"timeout_s": True}, "timeout_s is True"),
        ({"backoff_s": 10**5000}, "backoff_s is a whole number"),
        ({"backoff_s": "1"}, "backoff_s is '1'"),
        ({"retries": -(10**5000)}, "retries is a whole number"),
        ({"score_scale": ["unit"]}, "score_scale is"),
        ({"backoff_s": -1}, "backoff_s is -1"),
        ({"score_scale": "percent"}, "score_scale is 'percent'"),
    ],
)
def test_an_argument_that_breaks_its_rule_is_refused(said: dict[str, Any], words: str) -> None:
    with pytest.raises(RerankError, match=words):
        Reranking(lengths, **said)


@pytest.mark.parametrize("reranker", [None, 5, "model", Recorder])
def test_something_that_cannot_score_is_refused(reranker: Any) -> None:
    with pytest.raises(RerankError, match="it must be an object with score"):
        Reranking(reranker)


def test_a_reranking_stays_as_it_is() -> None:
    reranking = Reranking(lengths, batch_size=5)
    assert Reranking.of(reranking) is reranking
    assert Reranking.of(lengths) == Reranking(lengths)


class Stops:
    """Raises what event loops keep for themselves."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        raise self.error


@pytest.mark.parametrize("timeout_s", [None, 30.0])
@pytest.mark.parametrize("error", [StopIteration("over"), asyncio.CancelledError("over")])
def test_what_an_event_loop_keeps_for_itself_is_a_failure_like_others(
    error: BaseException, timeout_s: float | None
) -> None:
    said = problem(Stops(error), timeout_s=timeout_s, retries=0)
    assert said == f"the reranker failed: RuntimeError: {type(error).__name__}: over"


@pytest.mark.parametrize("own_task", [False, True])
@pytest.mark.parametrize("timeout_s", [None, 30.0])
def test_an_async_reranker_that_cancels_itself_does_not_cancel_its_caller(
    own_task: bool, timeout_s: float | None
) -> None:
    async def cancels(query: str, texts: Sequence[str]) -> list[float]:
        task = asyncio.current_task()
        if own_task and task is not None:
            task.cancel()
            await asyncio.sleep(0)
        raise asyncio.CancelledError("over")

    class Object:
        ascore = staticmethod(cancels)

    async def goes_on() -> list[str]:
        asked = [Reranking(made, retries=1, backoff_s=0, timeout_s=timeout_s) for made in (cancels, Object())]
        return [str((await reranking.ascores("q", TEXTS)).problem) for reranking in asked]

    assert all(said.startswith("the reranker failed: RuntimeError: CancelledError") for said in asyncio.run(goes_on()))


def test_an_async_reranker_that_swallows_its_cancellation_is_given_up_on() -> None:
    async def stubborn(query: str, texts: Sequence[str]) -> list[float]:
        for _ in range(2):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                continue
        return [0.0] * len(texts)

    async def ask() -> RerankReply:
        return await Reranking(stubborn, timeout_s=0.05).ascores("q", TEXTS)

    assert "no answer within timeout_s=0.05" in str(asyncio.run(asyncio.wait_for(ask(), 60)).problem)
