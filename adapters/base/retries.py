"""Asking a vector store: again after a failure that may pass, and with one clear error in the end."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass

from retrivex.errors import StoreError, StoreTimeoutError
from retrivex.timeouts import in_thread

from .collection import Collection, Records, Request

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0


@dataclass(frozen=True, slots=True)
class Patient:
    """Asks a collection, up to `retries` times more where it is down.

    A pause is about twice as long as the one before, 0.1 s at first and never more than 5 s, and random within a half,
    so that many callers do not come back at the same moment. What took too long is not asked again: patience is spent.

    Raises
    ------
    StoreTimeoutError
        If the client gave up waiting.
    StoreError
        If the store is still down, or refused the request; `retries` is no whole number of at least 0.
    """

    collection: Collection
    retries: int = 2

    def __post_init__(self) -> None:
        if isinstance(self.retries, bool) or not isinstance(self.retries, int) or not 0 <= self.retries <= 100:
            raise StoreError(f"retries is {self.retries!r}: it must be a whole number from 0 to 100")

    def ask(self, request: Request) -> Records:
        """Return the answer."""
        if not self.collection.is_sync:
            raise StoreError(
                f"{self.collection.name} has only an async client: await afetch or aretrieve, or pass a sync client too"
            )
        for attempt in range(self.retries + 1):
            try:
                return self.collection.ask(request)
            except Exception as error:  # noqa: BLE001 - clients share no base class; `failure` says what it is
                self._give_up(error, attempt)
            time.sleep(_pause(attempt))
        raise AssertionError  # the last attempt returns or raises

    async def aask(self, request: Request) -> Records:
        """Return the answer without blocking the event loop: a sync client is asked in a thread."""
        if not self.collection.is_async:
            return await in_thread(lambda: self.ask(request))
        for attempt in range(self.retries + 1):
            try:
                return await self.collection.aask(request)
            except Exception as error:  # noqa: BLE001 - as above
                self._give_up(error, attempt)
            await asyncio.sleep(_pause(attempt))
        raise AssertionError

    def _give_up(self, error: Exception, attempt: int) -> None:
        """Raise, unless there is reason to ask again."""
        if isinstance(error, StoreError):
            raise error
        what = self.collection.failure(error)
        shown = f"{type(error).__name__}: {error}"
        if what == "timeout":
            raise StoreTimeoutError(f"{self.collection.name} did not answer in time ({shown})") from error
        if what == "refused":
            raise StoreError(f"{self.collection.name} refused the request ({shown})") from error
        if attempt == self.retries:
            raise StoreError(f"{self.collection.name} is down, asked {attempt + 1} times ({shown})") from error


def _pause(attempt: int) -> float:
    longest: float = min(_FIRST_PAUSE_S * 2**attempt, _LONGEST_PAUSE_S)
    return longest * random.uniform(0.5, 1.0)
