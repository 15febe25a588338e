"""Limits of processor time and memory for one case: what hangs or grows is a violation, not a stuck run."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MEMORY = 4 * 2**30
"""Most address space of a process that fuzzes, in bytes: what asks for more raises MemoryError."""


class TooSlowError(BaseException):
    """A case took more processor time than it may. No `Exception`, which guards around foreign code would catch."""


@contextmanager
def processor_limit(seconds: float, wall: float = 0.0) -> Iterator[None]:
    """Raise TooSlowError where what is inside takes more processor time, or hangs for longer than `wall` seconds."""

    def stop(*_: Any) -> None:
        raise TooSlowError(f"more than {seconds:g} s of processor time, or a hang")

    before = {number: signal.signal(number, stop) for number in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, wall)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def limit_memory() -> None:
    """Bound the memory of this process."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
