"""How often and how much at once a key may ask of a worker."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from retrivex.service.errors import RateError

_BURST_S = 2.0  # seconds of its rate that a key may spend at once


class Quotas:
    """Counts the requests of keys: a token bucket for their rate, and how many are under way. For one event loop.

    Parameters
    ----------
    rate : requests a second that a key may send, twice as many at once after a rest
    concurrency : requests of a key that may be under way
    clock : seconds, of any start

    Examples
    --------
    >>> quotas = Quotas(rate=1, concurrency=1)
    >>> with quotas.admit("acme"), quotas.admit("wayne"), quotas.admit("acme"):
    ...     pass
    Traceback (most recent call last):
    retrivex.service.errors.RateError: this key has 1 request under way: the limit is 1; wait for one to end
    """

    def __init__(self, *, rate: float, concurrency: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._concurrency = concurrency
        self._clock = clock
        self._running: Counter[str] = Counter()
        self._allowed: dict[str, tuple[float, float]] = {}  # of each key how many requests, at a time

    @contextmanager
    def admit(self, key: str | None) -> Iterator[None]:
        """Count a request of a key while the block runs; one without a key is not counted.

        Raises
        ------
        RateError
            If the key asks too often, or has too many requests under way.
        """
        if key is None:
            yield
            return
        running = self._running[key]
        if running >= self._concurrency:
            requests = "1 request" if running == 1 else f"{running} requests"
            message = f"this key has {requests} under way: the limit is {self._concurrency}; wait for one to end"
            raise RateError(message, 1.0)
        self._spend(key)
        self._running[key] += 1
        try:
            yield
        finally:
            self._running[key] -= 1

    def _spend(self, key: str) -> None:
        now, most = self._clock(), max(1.0, _BURST_S * self._rate)
        before, at = self._allowed.get(key, (most, now))
        allowed = min(most, before + (now - at) * self._rate)
        if allowed < 1:
            message = f"this key asks more than {self._rate:g} times a second: ask more slowly"
            raise RateError(message, (1 - allowed) / self._rate)
        self._allowed[key] = (allowed - 1, now)
