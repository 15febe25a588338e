"""Runs what takes time in a few threads, with a short queue: what has no place in it is refused at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from retrivex.service.errors import BusyError

T = TypeVar("T")


class Work:
    """The threads of a worker.

    Parameters
    ----------
    threads : jobs that run at once
    queue : jobs that wait
    timeout_s : seconds after which nobody waits for a job any more; a job that runs then keeps its thread to its end
    """

    def __init__(self, threads: int, queue: int, timeout_s: float) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="retrivex")
        self._most = threads + queue
        self._timeout_s = timeout_s
        self.under_way = 0

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
        if self.under_way >= self._most:
            raise BusyError(f"{self.under_way} requests are under way in this worker: ask again in a second", 1.0)
        self.under_way += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, job, *arguments)
        future.add_done_callback(self._end)
        done, _ = await asyncio.wait([future], timeout=self._timeout_s)
        if not done:
            future.cancel()  # which takes it out of the queue, where it still waits
            raise BusyError(f"the request took longer than {self._timeout_s:g} s: ask for less, or later", 5.0)
        return future.result()

    def _end(self, future: asyncio.Future[Any]) -> None:
        self.under_way -= 1
        if not future.cancelled():
            future.exception()  # looked at, so that nobody complains where the caller has gone
