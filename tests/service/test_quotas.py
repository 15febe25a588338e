from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from retrivex.service.errors import RateError
from retrivex.service.quotas import Quotas


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def ask(quotas: Quotas, key: str = "acme") -> None:
    with quotas.admit(key):
        pass


def test_a_key_may_spend_two_seconds_of_its_rate_at_once_and_then_waits(tmp_path: Path, clock: Clock) -> None:
    quotas = Quotas(tmp_path / "quotas.db", rate=2, concurrency=9, clock=clock)
    for _ in range(4):
        ask(quotas)
    with pytest.raises(RateError, match="more than 2 times a second") as raised:
        ask(quotas)
    assert raised.value.retry_after_s == 0.5
    ask(quotas, "another key")
    clock.now += 0.5
    ask(quotas)
    with pytest.raises(RateError):
        ask(quotas)
    quotas.close()


def test_processes_count_together(tmp_path: Path, clock: Clock) -> None:
    one, other = (Quotas(tmp_path / "quotas.db", rate=1, concurrency=2, clock=clock) for _ in range(2))
    ask(one)
    ask(other)
    for quotas in (one, other):
        with pytest.raises(RateError):
            ask(quotas)
    clock.now += 10
    with ExitStack() as stack:
        stack.enter_context(one.admit("acme"))
        stack.enter_context(other.admit("acme"))
        with pytest.raises(RateError, match="2 requests under way"):
            ask(one)
    clock.now += 10
    ask(one)
    one.close()
    other.close()


def test_a_request_of_a_killed_worker_counts_as_ended_after_a_while(tmp_path: Path, clock: Clock) -> None:
    killed = Quotas(tmp_path / "quotas.db", rate=9, concurrency=1, longest_s=60, clock=clock)
    under_way = killed.admit("acme")
    under_way.__enter__()
    quotas = Quotas(tmp_path / "quotas.db", rate=9, concurrency=1, longest_s=60, clock=clock)
    with pytest.raises(RateError, match="1 request under way"):
        ask(quotas)
    clock.now += 61
    ask(quotas)
    under_way.__exit__(None, None, None)
    killed.close()
    quotas.close()


def test_a_clock_that_goes_back_gives_nothing_and_takes_nothing(tmp_path: Path, clock: Clock) -> None:
    quotas = Quotas(tmp_path / "quotas.db", rate=1, concurrency=9, clock=clock)
    ask(quotas)
    clock.now -= 500
    ask(quotas)
    with pytest.raises(RateError) as raised:
        ask(quotas)
    assert raised.value.retry_after_s <= 1
    quotas.close()


def test_requests_of_a_key_that_wait_count_in_their_process(tmp_path: Path) -> None:
    quotas = Quotas(tmp_path / "quotas.db", rate=9, concurrency=2)
    with ExitStack() as waiting:
        for _ in range(2):
            waiting.enter_context(quotas.hold("acme"))
        with pytest.raises(RateError, match="2 requests under way: the limit is 2"), quotas.hold("acme"):
            pass
        with quotas.hold("another key"):
            pass
    with quotas.hold("acme"):
        pass
    quotas.close()
