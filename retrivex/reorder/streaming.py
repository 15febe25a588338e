"""Splits a stream of passages into windows."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable, Iterator
from contextlib import aclosing
from functools import partial
from itertools import islice, takewhile
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")


def windows(passages: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of `size` passages, the last one perhaps shorter; no more is read than is asked for.

    Examples
    --------
    >>> list(windows("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    incoming = iter(passages)
    while window := list(islice(incoming, size)):
        yield window


async def awindows(passages: Iterable[T] | AsyncIterable[T], size: int) -> AsyncGenerator[list[T], None]:
    """Yield what `windows` yields, without blocking the event loop."""
    if not isinstance(passages, AsyncIterable):
        async with aclosing(_read_in_thread(passages, size)) as read:
            async for window in read:
                yield window
        return
    window = []
    async for passage in passages:
        window.append(passage)
        if len(window) == size:
            yield window
            window = []
    if window:
        yield window


async def _read_in_thread(passages: Iterable[T], size: int) -> AsyncGenerator[list[T], None]:
    """Yield windows, all of them read in one thread: what a thread has opened can often be read there alone.

    The thread reads only what is asked for, and nobody waits for it when the program ends.
    """
    loop = asyncio.get_running_loop()
    asked: SimpleQueue[asyncio.Future[list[T]] | None] = SimpleQueue()
    stopped = threading.Event()
    work = partial(contextvars.copy_context().run, _answer, passages, size, asked, stopped)
    threading.Thread(target=work, name="retrivex-stream", daemon=True).start()
    try:
        while True:
            answer: asyncio.Future[list[T]] = loop.create_future()
            asked.put(answer)
            window = await answer
            if not window:
                return
            yield window
    finally:
        stopped.set()
        asked.put(None)


def _answer(
    passages: Iterable[T],
    size: int,
    asked: SimpleQueue[asyncio.Future[list[T]] | None],
    stopped: threading.Event,
) -> None:
    """Read a window for every future that is asked for; at the end close a generator in the thread that ran it."""
    incoming: Iterator[T] | None = None
    while (answer := asked.get()) is not None:
        window: list[T] = []
        failure: BaseException | None = None
        try:
            incoming = iter(passages) if incoming is None else incoming
            window = list(islice(takewhile(lambda _: not stopped.is_set(), incoming), size))
        except (StopIteration, asyncio.CancelledError) as error:
            # no future takes the one, and the other would pass for the caller being cancelled
            failure = RuntimeError(f"{type(error).__name__}: {error}")
            failure.__cause__ = error
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            failure = error
        loop = answer.get_loop()
        if not loop.is_closed():
            loop.call_soon_threadsafe(_settle, answer, window, failure)
    if isinstance(incoming, Generator):
        incoming.close()


def _settle(answer: asyncio.Future[list[T]], window: list[T], failure: BaseException | None) -> None:
    if answer.done():
        return  # given up on
    if failure is not None:
        answer.set_exception(failure)
    else:
        answer.set_result(window)
