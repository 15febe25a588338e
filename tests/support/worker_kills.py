"""Finds the worker processes of a batch, whatever its engine, and kills one of them now and then."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MARKS = {
    "local": ("spawn_main",),
    "ray": ("_PartActor", "ray::MapWorker"),
    "spark": ("pyspark.daemon", "pyspark/daemon"),
}
"""What the command line of a worker holds."""


def find_workers(engine: str, root: int | None = None) -> list[int]:
    """Return the processes below `root`, by default this one, that work for a batch; on Linux."""
    below = find_below(os.getpid() if root is None else root)
    found = [pid for pid in below if any(mark in _command(pid) for mark in _MARKS[engine])]
    if engine == "spark":  # the daemon itself forks the workers
        return [pid for pid in found if any(mark in _command(_parent(pid)) for mark in _MARKS[engine])]
    return found


@contextmanager
def killing(engine: str, every_s: float, most: int | None = None, root: int | None = None) -> Iterator[list[int]]:
    """Kill a worker every so many seconds, at most so many, as long as the block runs; gives the list of the killed."""
    killed: list[int] = []
    over = threading.Event()
    rng = random.Random(0)

    def kill() -> None:
        while not over.wait(every_s) and (most is None or len(killed) < most):
            workers = find_workers(engine, root)
            if workers:
                chosen = rng.choice(workers)
                try:
                    os.kill(chosen, 9)
                except ProcessLookupError:
                    continue
                killed.append(chosen)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def find_below(root: int) -> list[int]:
    """Return all processes that a process started, and those that these did."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            children.setdefault(_parent(int(path.name)), []).append(int(path.name))
    found, waiting = [], [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _parent(pid: int) -> int:
    try:
        return int(
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]
        )
    except (OSError, IndexError):
        return -1


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace").replace("\0", " ")
    except OSError:
        return ""
