"""How foreign models are called: several at once, in time, and again after failures that may pass."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar

from retrivex.errors import RerankError, RerankUnavailableError, RetrivexError, describe_cause, quoted
from retrivex.timeouts import Backoff, aretry, call_in_time

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """How a model is called; `Reranking` and `SentenceScoring` say what each field means.

    Parameters
    ----------
    name : of the model, for errors
    concurrency, timeout_s, retries, backoff_s : as in `Reranking`
    """

    name: str
    concurrency: int
    timeout_s: float | None
    retries: int
    backoff_s: float

    def check(self) -> None:
        """Refuse what breaks its rule.

        Raises
        ------
        RerankError
            If a field breaks its rule.
        """
        check_count("concurrency", self.concurrency, least=1)
        check_count("retries", self.retries, least=0)
        check_seconds("backoff_s", self.backoff_s, least="zero")
        if self.timeout_s is not None:
            check_seconds("timeout_s", self.timeout_s)

    def run(self, calls: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
        """Return what calls return, in their order; works inside a running event loop too, which it blocks.

        Raises
        ------
        RerankError
            If one of them fails for good, or they are too late together.
        """
        import asyncio  # noqa: PLC0415 - on first use, see `retrivex.timeouts`

        stop = threading.Event()
        try:
            # a loop of its own, in a thread of its own: the caller's thread may have a running one already
            return call_in_time(partial(asyncio.run, self._gather(calls, stop)), threading.TIMEOUT_MAX)
        finally:
            stop.set()

    async def arun(self, calls: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
        """Do what `run` does without blocking the event loop; cancelling it leaves no call to be started.

        Raises
        ------
        RerankError
            If one of them fails for good, or they are too late together.
        """
        stop = threading.Event()
        try:
            return await self._gather(calls, stop)
        finally:
            stop.set()

    async def _gather(self, calls: Sequence[Callable[[], Awaitable[T]]], stop: threading.Event) -> list[T]:
        import asyncio  # noqa: PLC0415 - on first use, see `retrivex.timeouts`

        deadline = None if self.timeout_s is None else asyncio.get_running_loop().time() + self.timeout_s
        gate = asyncio.Semaphore(self.concurrency)

        async def one(call: Callable[[], Awaitable[T]]) -> T:
            async with gate:
                if stop.is_set():
                    raise RerankError("given up on by the caller")
                return await self._retry(call, stop, deadline)

        try:
            async with asyncio.timeout_at(deadline), asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(call)) for call in calls]
        except TimeoutError as error:
            late = f"no answer within timeout_s={self.timeout_s:g}: raise it, or give fewer texts"
            raise RerankError(late) from error
        except ExceptionGroup as errors:
            first = errors.exceptions[0]
            if isinstance(first, RerankError):
                raise first from first.__cause__
            raise RerankError(f"the {self.name} failed: {describe_cause(first)}") from first
        return [task.result() for task in tasks]

    async def _retry(self, call: Callable[[], Awaitable[T]], stop: threading.Event, deadline: float | None) -> T:
        def pause(error: Exception, attempts: int) -> float:
            if attempts == self.retries or stop.is_set() or not _may_pass(error):
                raise error
            return self._pause(error, attempts, deadline)

        return await aretry(call, pause)

    def _pause(self, error: Exception, attempts: int, deadline: float | None) -> float:
        """Seconds to wait before the next attempt: ours, or the endpoint's where it asks for more."""
        import asyncio  # noqa: PLC0415 - on first use, see `retrivex.timeouts`

        wanted = error.retry_after_s if isinstance(error, RerankUnavailableError) else None
        if wanted is not None and deadline is not None and asyncio.get_running_loop().time() + wanted >= deadline:
            raise RerankError(
                f"{error}; it asks to wait {wanted:g} s, which timeout_s={self.timeout_s:g} does not leave: raise "
                "timeout_s, or ask less often"
            ) from error
        return Backoff(self.backoff_s).pause(attempts, wanted)


def finish(made: Awaitable[T]) -> T:
    """Run an awaitable to its end in an event loop of its own."""
    import asyncio  # noqa: PLC0415 - on first use, see `retrivex.timeouts`

    async def awaited() -> T:
        return await made

    return asyncio.run(awaited())


def check_count(name: str, value: Any, *, least: int) -> None:
    """Refuse what is no whole number of at least `least`.

    Raises
    ------
    RerankError
        If it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise RerankError(f"{name} is {quoted(value)}: it must be a whole number of at least {least}")


def check_seconds(name: str, value: Any, *, least: Literal["more", "zero"] = "more") -> None:
    """Refuse what is no number of seconds that can be waited for.

    Raises
    ------
    RerankError
        If it is no number, negative, zero where there has to be `more`, or more than a clock can count.
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= value <= threading.TIMEOUT_MAX or (least == "more" and value == 0):
        rule = "it must be a positive number of seconds" if least == "more" else "it must be seconds, not negative"
        raise RerankError(f"{name} is {quoted(value)}: {rule}, and at most {threading.TIMEOUT_MAX:.0f}")


def _may_pass(error: Exception) -> bool:
    """Whether asking again may help: not where an answer was wrong, or the question itself was refused."""
    return isinstance(error, RerankUnavailableError) or not isinstance(error, RetrivexError)
