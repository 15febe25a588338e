"""Limits on the rate of requests to an endpoint and on the tokens spent; safe for threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

_MINUTE_S = 60.0


class RateLimit:
    """Spaces requests out, so that no minute has more of them, or of their tokens, than it may have.

    Parameters
    ----------
    requests_per_minute, tokens_per_minute : None for no limit
    clock : seconds, never going back

    Examples
    --------
    >>> limit = RateLimit(requests_per_minute=6, clock=lambda: 0.0)
    >>> limit.enter(10), limit.enter(10), limit.enter(10)
    (0.0, 10.0, 20.0)
    """

    def __init__(
        self,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._request_s = _MINUTE_S / requests_per_minute if requests_per_minute else 0.0
        self._token_s = _MINUTE_S / tokens_per_minute if tokens_per_minute else 0.0
        self._clock = clock
        self._lock = threading.Lock()
        self._free_at = 0.0

    def enter(self, tokens: int) -> float:
        """Return the seconds after which a request of `tokens` may go: its place is taken now."""
        with self._lock:
            now = self._clock()
            start = max(now, self._free_at)
            self._free_at = start + max(self._request_s, self._token_s * tokens)
            return start - now


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
