"""Retries of requests to a vector store after failures that may pass, with one clear error in the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from retrivex.errors import RetrivexError, StoreError, StoreTimeoutError
from retrivex.timeouts import Backoff, aretry, in_thread, retry

from .collection import Collection, Records, Request, check_collection

T = TypeVar("T")

_BACKOFF = Backoff(0.1, longest_s=5.0, jitter=0.5)


@dataclass(frozen=True, slots=True)
class RetryingCollection:
    """Sends requests to a collection, with up to `retries` more attempts where it is down.

    A pause is about twice as long as the one before, 0.1 s at first and never more than 5 s, and random within a half,
    so that many callers do not come back at the same moment. A time-out is not retried: the time is spent.

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
        check_collection(self.collection)
        if isinstance(self.retries, bool) or not isinstance(self.retries, int) or not 0 <= self.retries <= 100:
            raise StoreError(f"retries is {self.retries!r}: it must be a whole number from 0 to 100")

    def ask(self, request: Request) -> Records:
        """Return the answer."""
        if not self.collection.is_sync:
            raise StoreError(
                f"{self.collection.name} has only an async client: await afetch or aretrieve, or pass a sync client too"
            )
        return self.run(lambda: self.collection.ask(request))

    def run(self, call: Callable[[], T]) -> T:
        """Return what a call returns that uses the collection, such as to write: done twice, it is as good as once."""
        return retry(call, self._pause)

    async def aask(self, request: Request) -> Records:
        """Return the answer without blocking the event loop: a sync client is asked in a thread."""
        if not self.collection.is_async:
            return await in_thread(lambda: self.ask(request))
        return await aretry(lambda: self.collection.aask(request), self._pause)

    def _pause(self, error: Exception, attempt: int) -> float:
        """Return the seconds to wait before the next attempt; raise where there is no use in one."""
        if isinstance(error, RetrivexError):
            raise error
        what = self.collection.failure(error)
        shown = f"{type(error).__name__}: {error}"
        if what == "timeout":
            raise StoreTimeoutError(f"{self.collection.name} did not answer in time ({shown})") from error
        if what == "refused":
            raise StoreError(f"{self.collection.name} refused the request ({shown})") from error
        if attempt == self.retries:
            raise StoreError(f"{self.collection.name} is down, asked {attempt + 1} times ({shown})") from error
        return _BACKOFF.pause(attempt)
