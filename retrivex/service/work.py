"""Runs what takes time in a few threads, with a queue that is cut short where it does not drain."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from retrivex.service.errors import BusyError

T = TypeVar("T")

_CALM_S = 0.5  # seconds without a refusal after which a service is no longer overloaded


class Work:
    """The threads of a worker.

    Requests come in bursts, which a long queue takes in and has answered a little later. Where more come than can be
    answered, any queue is always full, and a long one makes everybody wait for nothing. So the queue is long until it
    is full, and from then on short, until nobody was refused for half a second.

    Keys take turns: who has many jobs waiting keeps nobody else from the next free thread.

    Parameters
    ----------
    threads : jobs that run at once
    queue : jobs that wait; of an overloaded worker, at most two for each thread
    timeout_s : seconds after which nobody waits for a job any more; a job that runs then keeps its thread to its end
    clock : seconds, of any start
    """

    def __init__(
        self, threads: int, queue: int, timeout_s: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="retrivex")
        self._most = threads + queue
        self._most_overloaded = threads + min(queue, 2 * threads)
        self._timeout_s = timeout_s
        self._clock = clock
        # in the order in which they came; a thread that ends a job takes it out, which needs no lock
        self._jobs: dict[Future[Any], None] = {}
        self._waiting: OrderedDict[str | None, deque[tuple[Future[Any], Callable[[], Any]]]] = OrderedDict()
        self._turns = Lock()
        self._overloaded = False
        self._refused_at = 0.0

    @property
    def under_way(self) -> int:
        """Jobs that run or wait."""
        return len(self._jobs)

    def close(self) -> None:
        """Take no more jobs, and leave those that wait."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for future in list(self._jobs):
            future.cancel()

    async def do(self, job: Callable[..., T], *arguments: Any, owner: str | None = None) -> T:
        """Return what a job returns.

        Parameters
        ----------
        job, arguments : what to call
        owner : whose turn it takes

        Raises
        ------
        BusyError
            If there is no place for it, or it takes too long.
        """
        self._check_room()
        # with the context of the request, so that spans of a composition stand below that of the request
        future: Future[T] = Future()
        self._jobs[future] = None
        future.add_done_callback(self._jobs.pop)
        with self._turns:
            self._waiting.setdefault(owner, deque()).append((future, partial(copy_context().run, job, *arguments)))
        self._pool.submit(self._run_next)
        waiting = asyncio.wrap_future(future)
        done, _ = await asyncio.wait([waiting], timeout=self._timeout_s)
        if not done:
            waiting.cancel()  # which takes it out of the queue, where it still waits
            raise BusyError(f"the request took longer than {self._timeout_s:g} s: ask for less, or later", 5.0)
        if waiting.cancelled():
            raise self._too_busy()
        return waiting.result()

    def _run_next(self) -> None:
        """Run the job that has waited longest of whose turn it is; as often as there are jobs, each is run."""
        with self._turns:
            owner, jobs = self._waiting.popitem(last=False)
            future, job = jobs.popleft()
            if jobs:
                self._waiting[owner] = jobs  # behind the others
        if not future.set_running_or_notify_cancel():
            return
        try:
            made = job()
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits for it
            future.set_exception(error)
        else:
            future.set_result(made)

    def _check_room(self) -> None:
        now = self._clock()
        if self._overloaded and now - self._refused_at > _CALM_S:
            self._overloaded = False
        if self.under_way < (self._most_overloaded if self._overloaded else self._most):
            return
        self._refused_at = now
        if not self._overloaded:
            self._overloaded = True
            for future in list(self._jobs)[self._most_overloaded :]:
                future.cancel()  # who came last has waited least; one that runs already is not cancelled
        raise self._too_busy()

    def _too_busy(self) -> BusyError:
        return BusyError(f"{self.under_way} requests are under way in this worker: ask again in a second", 1.0)
