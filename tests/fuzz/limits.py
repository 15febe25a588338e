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
def processor_limit(seconds: float) -> Iterator[None]:
    """Raise TooSlowError where what is inside takes more processor time."""

    def stop(*_: Any) -> None:
        raise TooSlowError(f"more than {seconds:g} s of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def limit_memory() -> None:
    """Bound the memory of this process."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
