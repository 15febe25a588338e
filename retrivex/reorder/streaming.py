"""Splits a stream of passages into windows."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from itertools import islice
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

    The thread reads only what is asked for.
    """
    reading = windows(passages, size)
    pool, context = ThreadPoolExecutor(1, "retrivex-stream"), contextvars.copy_context()

    def read() -> list[T]:
        return context.run(next, reading, [])

    try:
        while window := await asyncio.get_running_loop().run_in_executor(pool, read):
            yield window
    finally:
        if isinstance(passages, Generator):
            pool.submit(passages.close)  # in the thread that ran it
        pool.shutdown(wait=False)
