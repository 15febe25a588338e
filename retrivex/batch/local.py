"""The engine of one machine: a pool of processes, each of which makes one part after the other."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from retrivex.batch.folder import Done
from retrivex.batch.job import Failed, Job, OnPart, Summary, check_workers, count_cores
from retrivex.errors import BatchError

# threads of numpy's own would fight over the cores that the workers have
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

_job: Job | None = None  # of a worker


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
        If the output folder is another job's, a part fails, or a worker dies. Parts that are done stay, and the same
        job goes on with the others.
    """
    check_workers(workers)
    return job.run(lambda missing: _make(job, missing, min(workers or count_cores(), len(missing)), on_part))


def _make(job: Job, missing: list[int], count: int, on_part: OnPart | None) -> None:
    pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _begin, (job,))
    try:
        with _one_thread_each():
            made = {pool.submit(_make_part, number): number for number in missing}
        for done, future in enumerate(as_completed(made), start=job.source.parts - len(missing) + 1):
            answer = future.result()
            if isinstance(answer, Failed):
                raise job.stop(answer)
            if on_part is not None:
                on_part(done, job.source.parts)
    except BrokenProcessPool as error:
        advice = "a worker died: see whether memory is short, and give parts fewer rows"
        raise job.give_up(BatchError(advice)) from error
    finally:
        pool.shutdown(cancel_futures=True)


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


def _begin(job: Job) -> None:
    global _job
    _job = job
    threading.Thread(target=_end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one decides


def _end_with_parent() -> None:
    """End with the process that started this one: a worker of a pool would wait for ever for one that was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _make_part(number: int) -> Done | Failed:
    assert _job is not None
    return _job.make_part(number)
