"""Runs what takes time in a few threads; where too much waits already, it is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

from retrivex.service.errors import BusyError

T = TypeVar("T")


class Work:
    """The threads of a worker, and those who wait for one.

    Each refusal takes a place from the queue, down to a quarter of it, and each request that finds an idle thread gives
    one back: a burst is taken in whole, and under overload those who are let in do not wait for a long queue.

    Parameters
    ----------
    threads : jobs that run at once
    queue : jobs that wait
    timeout_s : seconds after which nobody waits for a job any more; a job that runs then keeps its thread to its end
    """

    def __init__(self, threads: int, queue: int, timeout_s: float) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="retrivex")
        self._threads, self._most = threads, threads + queue
        self._places = self._most
        self._timeout_s = timeout_s
        # a thread that ends a job takes it out, which needs no lock
        self._jobs: dict[Future[Any], None] = {}

    @property
    def under_way(self) -> int:
        """Jobs that run or wait."""
        return len(self._jobs)

    def close(self) -> None:
        """Take no more jobs, and leave those that wait."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def do(self, job: Callable[..., T], *arguments: Any) -> T:
        """Return what a job returns.

        Raises
        ------
        BusyError
            If there is no place for it, or it takes too long.
        """
        if self.under_way >= self._places:
            self._places = max(self._places - 1, self._threads + (self._most - self._threads) // 4)
            raise BusyError(f"{self.under_way} requests are under way in this worker: ask again in a second", 1.0)
        if self.under_way < self._threads:
            self._places = min(self._places + 1, self._most)
        # with the context of the request, so that spans of a composition stand below that of the request
        future = self._pool.submit(copy_context().run, job, *arguments)
        self._jobs[future] = None
        future.add_done_callback(self._jobs.pop)
        try:
            return await asyncio.wait_for(
                asyncio.wrap_future(future), self._timeout_s
            )  # which takes it out of the queue
        except TimeoutError:
            if future.done() and not future.cancelled():
                raise  # of the job itself
            raise BusyError(
                f"the request took longer than {self._timeout_s:g} s: ask for less, or later", 5.0
            ) from None
