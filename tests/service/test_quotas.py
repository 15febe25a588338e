from __future__ import annotations

import pytest

from retrivex.service.errors import RateError
from retrivex.service.quotas import Quotas


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_key_may_spend_two_seconds_of_its_rate_at_once_and_then_waits() -> None:
    clock = Clock()
    quotas = Quotas(rate=2, concurrency=9, clock=clock)

    def ask(key: str | None = "acme") -> None:
        with quotas.admit(key):
            pass

    for _ in range(4):
        ask()
    with pytest.raises(RateError, match="more than 2 times a second") as raised:
        ask()
    assert raised.value.retry_after_s == 0.5
    for other in ("another key", *[None] * 9):
        ask(other)
    clock.now += 0.5
    ask()
    with pytest.raises(RateError):
        ask()


def test_a_request_that_fails_is_no_longer_under_way() -> None:
    quotas = Quotas(rate=1000, concurrency=1)
    for _ in range(3):
        with pytest.raises(KeyError), quotas.admit("acme"):
            raise KeyError
    with quotas.admit("acme"), pytest.raises(RateError, match="1 request under way"), quotas.admit("acme"):
        pass
