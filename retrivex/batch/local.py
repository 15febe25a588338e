"""The engine of one machine: processes that make one part after the other; one that is killed is replaced."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from retrivex.batch.folder import Done
from retrivex.batch.job import MOST_DEATHS, Failed, Job, OnPart, Summary, count_cores
from retrivex.errors import BatchError

_CLOSE_S = 5.0
# threads of numpy's own would fight over the cores that the workers have
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def run(job: Job, *, workers: int | None = None, on_part: OnPart | None = None) -> Summary:
    """Make the missing parts of a job in processes of this machine.

    Call it below `if __name__ == "__main__":` in a script, as for anything that starts processes.

    Parameters
    ----------
    job : what to do
    workers : processes; None: one for each core that this process may use
    on_part : is given how many parts are done, and of how many

    Raises
    ------
    BatchError
        If the output folder is another job's, a part fails, or workers keep dying over one. Parts that are done stay,
        and the same job goes on with the others.
    """
    count = count_cores() if workers is None else workers
    if count < 1:
        raise BatchError(f"workers is {count}: it takes at least one process")
    began = time.perf_counter()
    with job.open() as missing:
        if missing:
            _Pool(job, min(count, len(missing))).make(missing, on_part)
        return job.summarize(missing, began)


@dataclass(slots=True)
class _Worker:
    """A process and what it is at.

    Parameters
    ----------
    process : that works
    connection : to it
    number : of the part that it makes; None where it waits
    """

    process: Any
    connection: Connection
    number: int | None = None


class _Pool:
    """Worker processes, each of which makes one part at a time.

    Parameters
    ----------
    job : what they do
    count : how many there are
    """

    def __init__(self, job: Job, count: int) -> None:
        self._job = job
        self._count = count
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[_Worker] = []

    def make(self, missing: list[int], on_part: OnPart | None) -> None:
        """Make parts."""
        waiting, deaths = deque(missing), Counter[int]()
        total = self._job.source.parts
        done = total - len(missing)
        try:
            while waiting or any(worker.number is not None for worker in self._workers):
                self._hand_out(waiting)
                for worker in self._ready():
                    answer = self._answer(worker)
                    if isinstance(answer, Failed):
                        raise self._job.stop(answer)
                    if answer is None:
                        self._bury(worker, waiting, deaths)
                        continue
                    worker.number = None
                    done += 1
                    if on_part is not None:
                        on_part(done, total)
        finally:
            self._close()

    def _hand_out(self, waiting: deque[int]) -> None:
        while len(self._workers) < self._count and len(self._workers) < len(waiting) + self._busy():
            self._workers.append(self._start())
        for worker in self._workers:
            if worker.number is None and waiting:
                worker.number = waiting.popleft()
                with suppress(OSError):  # it died meanwhile: its sentinel will say so
                    worker.connection.send(worker.number)

    def _busy(self) -> int:
        return sum(worker.number is not None for worker in self._workers)

    def _ready(self) -> list[_Worker]:
        watched = {worker.connection: worker for worker in self._workers if worker.number is not None}
        ready = wait([*watched, *(worker.process.sentinel for worker in self._workers)])
        return [worker for worker in self._workers if worker.connection in ready or worker.process.sentinel in ready]

    def _answer(self, worker: _Worker) -> Done | Failed | None:
        """Return what a worker answers; None where it died before it did."""
        try:
            answer: Done | Failed | None = worker.connection.recv() if worker.connection.poll() else None
        except (EOFError, OSError):
            return None
        return answer

    def _bury(self, worker: _Worker, waiting: deque[int], deaths: Counter[int]) -> None:
        self._workers.remove(worker)
        worker.process.join()
        worker.connection.close()
        if worker.number is None:
            return
        deaths[worker.number] += 1
        if deaths[worker.number] >= MOST_DEATHS:
            how = f", last with exit code {worker.process.exitcode}"
            raise self._job.stop(self._job.give_up(worker.number, how))
        waiting.appendleft(worker.number)

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self._job), name="retrivex-batch", daemon=True)
        with _one_thread_each():
            process.start()
        theirs.close()
        return _Worker(process, ours)

    def _close(self) -> None:
        for worker in self._workers:
            worker.connection.close()  # a worker that waits ends by it
            if worker.number is not None:
                worker.process.terminate()
        until = time.monotonic() + _CLOSE_S
        for worker in self._workers:
            worker.process.join(max(0.0, until - time.monotonic()))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._workers.clear()


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let a process that is started meanwhile have one thread for numpy, where nobody said otherwise."""
    added = [name for name in _ONE_THREAD if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _serve(connection: Connection, job: Job) -> None:
    """Make the parts that come over a connection, until it ends, with the job or with the process behind it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one decides
    while True:
        try:
            number = connection.recv()
            connection.send(job.make_part(number))
        except (EOFError, OSError):
            return
