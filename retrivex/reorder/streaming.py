"""Splits a stream of passages into windows."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from functools import partial
from itertools import islice, takewhile
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
    stopped = threading.Event()
    reading = _read(passages, size, stopped)
    pool = ThreadPoolExecutor(1, "retrivex-stream")
    read = partial(contextvars.copy_context().run, _read_next, reading)
    try:
        while window := await asyncio.get_running_loop().run_in_executor(pool, read):
            yield window
    finally:
        stopped.set()
        pool.submit(reading.close)
        pool.shutdown(wait=False)


def _read(passages: Iterable[T], size: int, stopped: threading.Event) -> Generator[list[T], None, None]:
    """Yield windows until it is stopped; at the end close a generator in the thread that ran it."""
    incoming = iter(passages)
    try:
        yield from windows(takewhile(lambda _: not stopped.is_set(), incoming), size)
    finally:
        if isinstance(incoming, Generator):
            incoming.close()


def _read_next(reading: Iterator[list[T]]) -> list[T]:
    try:
        return next(reading, [])
    except asyncio.CancelledError as error:  # it would pass for the caller being cancelled
        raise RuntimeError(f"CancelledError: {error}") from error
