"""Runs jobs side by side in processes that end with the one that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from retrivex.errors import RetrivexError

Job = TypeVar("Job")
_WORK: list[Callable[[Any], Any]] = []  # of this process, made when it begins


def finished(
    start: Callable[[], Callable[[Job], Job]], todo: Sequence[Job], processes: int, name: str
) -> Iterator[Job]:
    """Yield the jobs as they are finished.

    Parameters
    ----------
    start : called once in each process; returns the function that does a job and returns it
    todo : the jobs
    processes : side by side; 1 works in this process
    name : of the work, for the error

    Raises
    ------
    RetrivexError
        If a process was ended from outside.
    """
    if processes == 1:
        yield from map(start(), todo)
        return
    # forked processes share the memory of this one; elsewhere what they need is handed to each
    forks = sys.platform.startswith("linux")
    context = multiprocessing.get_context("fork" if forks else "spawn")
    with ProcessPoolExecutor(processes, context, _begin, (start, os.getpid())) as pool:
        waiting = [pool.submit(_do, job) for job in todo]
        try:
            yield from (done.result() for done in as_completed(waiting))
        except BrokenProcessPool as error:
            raise RetrivexError(
                f"a process that composed {name} was ended from outside, or ran out of memory: run again with "
                "fewer processes; what was finished is kept"
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _begin(start: Callable[[], Callable[[Any], Any]], parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the whole group; one process answers for all
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _WORK[:] = [start()]


def _do(job: Any) -> Any:
    return _WORK[0](job)


def _end_with(parent: int) -> None:
    """End this process when the one that began it is gone: killed, it cannot say so."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
