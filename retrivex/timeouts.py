"""Waiting for somebody else's code: in time or not at all, and without holding up an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from retrivex.errors import StoreTimeoutError

T = TypeVar("T")

_GRACE_S = 1.0  # for what was cancelled and has something to close


def call_in_time(call: Callable[[], T], seconds: float | None, limit: float | None = None) -> T:
    """Run `call` in a thread of its own and give up on it after `seconds`; None runs it right here.

    `limit` is what the error names, where `seconds` is only what is left of it.

    Raises
    ------
    StoreTimeoutError
        If it takes longer. The thread is left behind: nothing can stop it, and it keeps no program from ending.
    """
    if seconds is None:
        return _failing_plainly(call)
    results: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            results.append(context.run(_failing_plainly, call))
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread below
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=work, name="retrivex-store", daemon=True).start()
    if not done.wait(min(seconds, threading.TIMEOUT_MAX)):
        raise StoreTimeoutError(_late(seconds if limit is None else limit))
    if errors:
        raise errors[0]
    return results[0]


def _late(seconds: float) -> str:
    return f"no answer within store_timeout_s={seconds:g}; raise it, or see what holds the store up"


def _failing_plainly(call: Callable[[], T]) -> T:
    """Run somebody else's code; its `CancelledError` is a failure of its own, and no cancellation of the caller."""
    try:
        return call()
    except asyncio.CancelledError as error:
        raise _plain(error) from error


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
    patience = asyncio.timeout(seconds)
    try:
        async with patience:
            return await in_own_task(call)
    except TimeoutError as error:
        if not patience.expired():
            raise  # the callee's own
        raise StoreTimeoutError(_late((seconds or 0.0) if limit is None else limit)) from error


async def in_own_task(call: Callable[[], Awaitable[T]]) -> T:
    """Await what `call` returns so that only the caller's own cancellation cancels the caller.

    A `CancelledError` of somebody else's code, or what it does to the task it runs in, is a failure like others. Where
    the caller is cancelled, the code is too; if that does not end it, it is left behind.
    """

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
    """Run `call` in a daemon thread: unlike the event loop's own, nobody waits for it when the program ends."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: T | None, error: BaseException | None) -> None:
        if answer.done():
            return  # given up on
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        result: T | None = None
        failure: BaseException | None = None
        try:
            result = context.run(call)
        except (StopIteration, asyncio.CancelledError) as error:
            # no future takes the one, and the other would pass for the caller being cancelled
            failure = _plain(error)
            failure.__cause__ = error
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            failure = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=work, name="retrivex-store", daemon=True).start()
    return await answer
