"""Limits on the rate of requests to an endpoint and on the tokens spent; safe for threads."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

_MINUTE_S = 60.0


class RateLimit:
    """A limit on requests and tokens in any 60 seconds.

    Parameters
    ----------
    requests_per_minute, tokens_per_minute : None for no limit. A request of more tokens than a minute has goes alone
    clock : seconds, never going back

    Examples
    --------
    >>> now = [0.0]
    >>> limit = RateLimit(requests_per_minute=1, clock=lambda: now[0])
    >>> limit.enter(10), limit.enter(10)
    (0.0, 60.0)
    >>> now[0] = 60.0
    >>> limit.enter(10)
    0.0
    """

    def __init__(
        self,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._requests = requests_per_minute
        self._tokens = tokens_per_minute
        self._clock = clock
        self._lock = threading.Lock()
        self._sent: deque[tuple[float, int]] = deque()
        self._closed_until = float("-inf")

    def enter(self, tokens: int) -> float:
        """Return 0.0 if a request of `tokens` may go now, and count it; else the seconds after which to try again."""
        with self._lock:
            now = self._clock()
            if now < self._closed_until:
                return self._closed_until - now
            while self._sent and self._sent[0][0] <= now - _MINUTE_S:
                self._sent.popleft()
            if self._is_full(tokens):
                return self._sent[0][0] + _MINUTE_S - now
            if self._requests is not None or self._tokens is not None:
                self._sent.append((now, tokens))
            return 0.0

    def hold(self, seconds: float) -> None:
        """Let nothing go for `seconds`: the endpoint asked to be left alone."""
        with self._lock:
            self._closed_until = max(self._closed_until, self._clock() + seconds)

    def _is_full(self, tokens: int) -> bool:
        if not self._sent:
            return False
        if self._requests is not None and len(self._sent) >= self._requests:
            return True
        return self._tokens is not None and sum(spent for _, spent in self._sent) + tokens > self._tokens


class SpendCap:
    """A limit on the tokens of a whole run, and those already spent.

    Parameters
    ----------
    most : None for no cap

    Examples
    --------
    >>> cap = SpendCap(100)
    >>> cap.reserve(60), cap.reserve(60)
    (True, False)
    >>> cap.settle(60, 40)
    >>> cap.spent, cap.reached
    (40, True)
    """

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self.spent = 0
        self.reached = False
        self._reserved = 0
        self._lock = threading.Lock()

    def reserve(self, tokens: int) -> bool:
        """Return whether a request of `tokens` at most may go; once one may not, none may any more."""
        with self._lock:
            # what is smaller would still fit, but then a sweep would be left with holes all over
            if self.most is not None and self.spent + self._reserved + tokens > self.most:
                self.reached = True
            if self.reached:
                return False
            self._reserved += tokens
            return True

    def settle(self, reserved: int, spent: int) -> None:
        """Count what a request has really cost."""
        with self._lock:
            self._reserved -= reserved
            self.spent += spent
