"""A limit on the tokens spent at an endpoint; safe for threads."""

from __future__ import annotations

import threading


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
