"""How foreign models are called: several at once, in time, and again after failures that may pass."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any, ClassVar, Literal, TypeVar

from retrivex.errors import RerankError, RerankUnavailableError, RetrivexError, describe_cause, quoted
from retrivex.timeouts import Backoff, aretry, call_in_time, in_own_task, in_thread

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class CallPolicy:
    """How a model is called.

    Parameters
    ----------
    concurrency : calls that may be under way at the same time
    timeout_s : seconds that all calls together may take; None waits for ever
    retries : how often a call is tried again after a failure that may pass; a refusal (status 4xx, but for 429, which
        asks to wait) or an answer that is wrong is never asked for again
    backoff_s : seconds before the first new attempt, doubled for every further one; an endpoint that says how long to
        wait is left alone for that long, or given up on at once where `timeout_s` does not leave the time

    Raises
    ------
    RerankError
        If a field breaks its rule.
    """

    concurrency: int = 1
    timeout_s: float | None = 30.0
    retries: int = 2
    backoff_s: float = 0.5
    _kind: ClassVar[str] = "model"  # what it is in errors

    def __post_init__(self) -> None:
        check_count("concurrency", self.concurrency, least=1)
        check_count("retries", self.retries, least=0)
        check_seconds("backoff_s", self.backoff_s, least="zero")
        if self.timeout_s is not None:
            check_seconds("timeout_s", self.timeout_s)

    def _run(self, calls: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
        """Return what calls return, in their order; works inside a running event loop too, which it blocks.

        Raises
        ------
        RerankError
            If one of them fails for good, or they are too late together.
        """
        import asyncio  # noqa: PLC0415 - on first use, see `retrivex.timeouts`

        # a loop of its own, in a thread of its own: the caller's thread may have a running one already
        return call_in_time(lambda: asyncio.run(self._arun(calls)), threading.TIMEOUT_MAX)

    async def _arun(self, calls: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
        """Do what `_run` does without blocking the event loop; cancelling it leaves no call to be started.

        Raises
        ------
        RerankError
            If one of them fails for good, or they are too late together.
        """
        import asyncio  # noqa: PLC0415 - on first use, see `retrivex.timeouts`

        deadline = None if self.timeout_s is None else asyncio.get_running_loop().time() + self.timeout_s
        gate = asyncio.Semaphore(self.concurrency)

        async def one(call: Callable[[], Awaitable[T]]) -> T:
            async with gate:
                return await aretry(call, partial(self._pause, deadline))

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
            raise RerankError(f"the {self._kind} failed: {describe_cause(first)}") from first
        return [task.result() for task in tasks]

    def _pause(self, deadline: float | None, error: Exception, attempts: int) -> float:
        """Seconds to wait before the next attempt: ours, or the endpoint's where it asks for more."""
        if attempts == self.retries or not _may_pass(error):
            raise error
        import asyncio  # noqa: PLC0415 - on first use, see `retrivex.timeouts`

        wanted = error.retry_after_s if isinstance(error, RerankUnavailableError) else None
        if wanted is not None and deadline is not None and asyncio.get_running_loop().time() + wanted >= deadline:
            raise RerankError(
                f"{error}; it asks to wait {wanted:g} s, which timeout_s={self.timeout_s:g} does not leave: raise "
                "timeout_s, or ask less often"
            ) from error
        return Backoff(self.backoff_s).pause(attempts, wanted)


def method_of(model: Any, name: str, *, awaits: bool) -> Callable[..., Any]:
    """Return the method of a model that is asked; the model itself, a function, where it has none.

    Parameters
    ----------
    name : of the method; an `a` in front names the one that can be awaited
    awaits : whether that one is preferred
    """
    plain, awaited = getattr(model, name, None), getattr(model, f"a{name}", None)
    found: Callable[..., Any] = (awaited or plain if awaits else plain or awaited) or model
    return found


async def ask(call: Callable[..., Any], *given: Any, awaits: bool) -> Any:
    """Return what foreign code answers: awaited here with `awaits` if it can be, else made in a thread of its own."""
    if awaits and iscoroutinefunction(call):
        return await in_own_task(partial(call, *given))
    return await in_thread(partial(_finish, call, *given))


def _finish(call: Callable[..., Any], *given: Any) -> Any:
    """Return what `call` returns, or what comes of it in an event loop of its own."""
    import asyncio  # noqa: PLC0415 - on first use, see `retrivex.timeouts`

    made = call(*given)

    async def awaited() -> Any:
        return await made

    return asyncio.run(awaited()) if isawaitable(made) else made


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
