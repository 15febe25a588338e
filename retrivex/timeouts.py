"""Calling foreign code in time: time limits, retries with growing pauses, `Retry-After`."""

from __future__ import annotations

import contextvars
import random
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from retrivex.errors import StoreTimeoutError

if TYPE_CHECKING:
    import asyncio  # imported on first use elsewhere: a tenth of what importing retrivex would cost with it
    from concurrent.futures import Future

T = TypeVar("T")

_GRACE_S = 1.0  # for what was cancelled and has something to close


def call_in_time(call: Callable[[], T], seconds: float | None, limit: float | None = None) -> T:
    """Run `call` in a thread of its own and give up on it after `seconds`; None waits for ever.

    `limit` is what the error names, where `seconds` is only what is left of it.

    Raises
    ------
    StoreTimeoutError
        If it takes longer. The thread is left behind: nothing can stop it, and it keeps no program from ending.
    """
    if seconds is None:
        return _failing_plainly(call)
    answer = _begin(call)
    try:
        return answer.result(min(seconds, threading.TIMEOUT_MAX))
    except TimeoutError as error:
        if answer.done():
            return answer.result()  # or the callee's own error
        raise late_error(seconds if limit is None else limit) from error


def _begin(call: Callable[[], T]) -> Future[T]:
    """Run `call` in a daemon thread: unlike an executor's, nobody waits for it when the program ends."""
    from concurrent.futures import Future  # noqa: PLC0415 - on first use, as it takes time to import

    answer: Future[T] = Future()
    answer.set_running_or_notify_cancel()  # nobody cancels what runs in a thread
    context = contextvars.copy_context()

    def work() -> None:
        try:
            answer.set_result(context.run(_failing_plainly, call))
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            answer.set_exception(error)

    threading.Thread(target=work, name="retrivex-store", daemon=True).start()
    return answer


def late_error(seconds: float) -> StoreTimeoutError:
    """Return the error of a store that has not answered within so many seconds."""
    return StoreTimeoutError(f"no answer within store_timeout_s={seconds:g}; raise it, or see what holds the store up")


def _failing_plainly(call: Callable[[], T]) -> T:
    """Run somebody else's code; its `CancelledError` is a failure of its own, and no cancellation of the caller."""
    try:
        return call()
    except StopIteration as error:  # which no future takes
        raise _plain(error) from error
    except Exception:
        raise
    except BaseException as error:
        import asyncio  # noqa: PLC0415 - see above

        if isinstance(error, asyncio.CancelledError):
            raise _plain(error) from error
        raise


def _plain(error: BaseException) -> RuntimeError:
    """Return an error that ends nobody's event loop, task or generator."""
    return RuntimeError(f"{type(error).__name__}: {error}")


async def await_in_time(call: Callable[[], Awaitable[T]], seconds: float | None, limit: float | None = None) -> T:
    """Do what `call_in_time` does in an event loop: await what `call` returns, at most for `seconds`.

    Raises
    ------
    StoreTimeoutError
        If it takes longer; it is cancelled then.
    """
    import asyncio  # noqa: PLC0415 - see above

    limiter = asyncio.timeout(seconds)
    try:
        async with limiter:
            return await in_own_task(call)
    except TimeoutError as error:
        if not limiter.expired():
            raise  # the callee's own
        raise late_error((seconds or 0.0) if limit is None else limit) from error


async def in_own_task(call: Callable[[], Awaitable[T]]) -> T:
    """Await what `call` returns so that only the caller's own cancellation cancels the caller.

    A `CancelledError` of somebody else's code, or what it does to the task it runs in, is a failure like others. Where
    the caller is cancelled, the code is too; if that does not end it, it is left behind.
    """
    import asyncio  # noqa: PLC0415 - see above

    async def asked() -> T:
        return await call()

    task = asyncio.create_task(asked())
    task.add_done_callback(_seen)
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait([task], timeout=_GRACE_S)
        raise
    try:
        return task.result()
    except asyncio.CancelledError as error:
        raise _plain(error) from error


def _seen(task: asyncio.Task[Any]) -> None:
    """Take note of a task's failure, so that asyncio does not log it where nobody waits any more."""
    if not task.cancelled():
        task.exception()


async def in_thread(call: Callable[[], T]) -> T:
    """Run `call` in a daemon thread; where the caller is cancelled, the thread is left behind."""
    import asyncio  # noqa: PLC0415 - see above

    return await asyncio.wrap_future(_begin(call))


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses between attempts, each twice as long as the one before it.

    Parameters
    ----------
    first_s : seconds before the second attempt
    longest_s : seconds that no pause exceeds
    jitter : share of a pause, in [0, 1], that is random, so that many callers do not come back at the same moment

    Examples
    --------
    >>> [Backoff(0.5, longest_s=3.0).pause(attempt) for attempt in range(4)], Backoff(0.5).pause(0, asked_s=2.0)
    ([0.5, 1.0, 2.0, 3.0], 2.0)
    """

    first_s: float
    longest_s: float = threading.TIMEOUT_MAX
    jitter: float = 0.0

    def pause(self, attempt: int, asked_s: float | None = None) -> float:
        """Return the seconds to wait after an attempt, counted from 0: at least what the server asked for."""
        own = min(self.first_s * 2.0 ** min(attempt, 60), self.longest_s)
        if self.jitter:
            own *= random.uniform(1 - self.jitter, 1.0)
        return max(own, asked_s or 0.0)


def retry(call: Callable[[], T], pause: Callable[[Exception, int], float]) -> T:
    """Return what `call` returns, called again after each failure that may pass.

    Parameters
    ----------
    call : the foreign code
    pause : of a failure and the number of attempts before it: seconds to wait, or it raises where there is no use

    Examples
    --------
    >>> answers = iter([1 / 2, 1])
    >>> retry(lambda: next(answers), lambda error, attempt: 0.0)
    0.5
    """
    attempt = 0
    while True:
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - `pause` raises what no further attempt can help
            seconds = pause(error, attempt)
        time.sleep(seconds)
        attempt += 1


async def aretry(call: Callable[[], Awaitable[T]], pause: Callable[[Exception, int], float]) -> T:
    """Do what `retry` does in an event loop."""
    import asyncio  # noqa: PLC0415 - see above

    attempt = 0
    while True:
        try:
            return await call()
        except Exception as error:  # noqa: BLE001 - `pause` raises what no further attempt can help
            seconds = pause(error, attempt)
        await asyncio.sleep(seconds)
        attempt += 1


def retry_after(said: str | None) -> float | None:
    """Return the seconds of a `Retry-After` header, a number or a date; None where it is not there or unreadable.

    Examples
    --------
    >>> retry_after("2"), retry_after("Wed, 21 Oct 2015 07:28:00 GMT"), retry_after("soon"), retry_after(None)
    (2.0, 0.0, None, None)
    """
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - few servers give dates

    text = (said or "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    aware = until if until.tzinfo is not None else until.replace(tzinfo=UTC)
    return max((aware - datetime.now(UTC)).total_seconds(), 0.0)
