"""A limit on the tokens spent at an endpoint; safe for threads."""

from __future__ import annotations

import threading


class SpendCap:
    """A limit on the tokens of a whole run, and those already spent.

    Parameters
    ----------
    most : None for no cap
    ends : whether one request that may not go ends the run, so that no sweep is left with holes all over

    Examples
    --------
    >>> cap = SpendCap(100)
    >>> cap.reserve(60), cap.reserve(60)
    (True, False)
    >>> cap.settle(60, 40)
    >>> cap.spent, cap.reached
    (40, True)
    """

    def __init__(self, most: int | None = None, *, ends: bool = True) -> None:
        self.most = most
        self.ends = ends
        self.spent = 0
        self.reached = False
        self._reserved = 0
        self._lock = threading.Lock()

    def reserve(self, tokens: int) -> bool:
        """Return whether a request of `tokens` at most may go; with `ends`, once one may not, none may any more."""
        with self._lock:
            beyond = self.most is not None and self.spent + self._reserved + tokens > self.most
            self.reached = self.reached or (beyond and self.ends)
            if beyond or self.reached:
                return False
            self._reserved += tokens
            return True

    def settle(self, reserved: int, spent: int) -> None:
        """Count what a request has really cost."""
        with self._lock:
            self._reserved -= reserved
            self.spent += spent
