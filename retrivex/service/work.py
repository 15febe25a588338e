"""Runs what takes time in a few threads, with a queue that is cut short where it does not drain."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from retrivex.service.errors import BusyError

T = TypeVar("T")

_CALM_S = 0.5  # seconds without a refusal after which an owner's queue may be long again


class Work:
    """The threads of a worker.

    Requests come in bursts, which a long queue takes in and has answered a little later. Where more come than can be
    answered, any queue is always full, and a long one makes everybody wait for nothing. So the queue is long until it
    is full. Who has most jobs waiting then is refused, whoever came last, and may from then on have few of them
    waiting, until none of them was refused for half a second.

    Keys take turns: who has many jobs waiting gets no more of the threads, and no place that one with fewer needs.

    Parameters
    ----------
    threads : jobs that run at once
    queue : jobs that wait; of an owner who was refused, at most two for each thread
    timeout_s : seconds after which nobody waits for a job any more; a job that runs then keeps its thread to its end
    clock : seconds, of any start
    """

    def __init__(
        self, threads: int, queue: int, timeout_s: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="retrivex")
        self._threads = threads
        self._most = threads + queue
        self._few = min(queue, 2 * threads)
        self._timeout_s = timeout_s
        self._clock = clock
        # a thread that ends a job takes it out, which needs no lock
        self._jobs: dict[Future[Any], None] = {}
        # of each owner, in the order in which they came
        self._waiting: OrderedDict[str | None, dict[Future[Any], Callable[[], Any]]] = OrderedDict()
        self._turns = Lock()
        self._refused_at: dict[str | None, float] = {}

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
        self._make_room(owner)
        # with the context of the request, so that spans of a composition stand below that of the request
        future: Future[T] = Future()
        self._jobs[future] = None
        future.add_done_callback(partial(self._forget, owner))
        with self._turns:
            self._waiting.setdefault(owner, {})[future] = partial(copy_context().run, job, *arguments)
        self._pool.submit(self._run_next)
        waiting = asyncio.wrap_future(future)
        try:
            done, _ = await asyncio.wait([waiting], timeout=self._timeout_s)
            if not done:
                raise BusyError(f"the request took longer than {self._timeout_s:g} s: ask for less, or later", 5.0)
            if waiting.cancelled():
                raise self._too_busy()
            return waiting.result()
        finally:
            waiting.cancel()  # which takes it out of the queue, where it still waits

    def _run_next(self) -> None:
        """Run the job that has waited longest of whose turn it is; as often as there are jobs, each is run."""
        with self._turns:
            if not self._waiting:
                return  # what was to be run is not waited for any more
            owner, jobs = self._waiting.popitem(last=False)
            future, *_ = jobs  # never empty
            job = jobs.pop(future)
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

    def _forget(self, owner: str | None, future: Future[Any]) -> None:
        """Take out a job that has ended, or that nobody waits for any more."""
        self._jobs.pop(future)
        with self._turns:
            jobs = self._waiting.get(owner, {})
            if jobs.pop(future, None) is not None and not jobs:
                del self._waiting[owner]

    def _make_room(self, owner: str | None) -> None:
        """Refuse a job where there is no place: one of who has most of them waiting, be it the new one.

        Raises
        ------
        BusyError
            If it is the new one.
        """
        now = self._clock()
        with self._turns:
            counts = {one: len(jobs) for one, jobs in self._waiting.items()}
            own = counts.get(owner, 0)
            idle = max(0, self._threads - self.under_way + sum(counts.values()))
            few = self._few + idle  # jobs for which threads are free do not wait
            if self._is_overloaded(owner, now) and own >= few:
                refused = owner
            elif self.under_way < self._most:
                return
            else:
                most = max(counts, key=counts.__getitem__, default=owner)
                refused = most if counts.get(most, 0) > own + 1 else owner
            kept = counts.get(refused, 0) - (refused != owner)
            if not self._is_overloaded(refused, now):
                kept = min(kept, few)
            self._refused_at[refused] = now
            cancelled = list(self._waiting.get(refused, ()))[kept:]  # who came last has waited least
        for future in cancelled:
            future.cancel()  # not under the lock, which this takes itself
        if refused == owner:
            raise self._too_busy()

    def _is_overloaded(self, owner: str | None, now: float) -> bool:
        return owner in self._refused_at and now - self._refused_at[owner] <= _CALM_S

    def _too_busy(self) -> BusyError:
        return BusyError(f"{self.under_way} requests are under way in this worker: ask again in a second", 1.0)
