"""Disks that are full: what writes files may let them grow to a size and no further, again and again, to another size.

The limit is that of the process (`RLIMIT_FSIZE`), set in a forked child, in which every write that meets it raises a
signal. So it is known whether a write failed, also where nobody was told. The limit goes up in steps of less than a
page from the size of the first tables to the first at which everything can be written: each write of a page fails once.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, TextIO

from faults.kills import start_child

from retrivex.errors import RetrivexError
from retrivex.text.lines import describe_error

PAGE = 4096
STEP = 4000
"""From one size to the next: less than a page, so that each write of one fails, sooner or later within it."""
MOST_BYTES = 16 * 1024 * 1024
"""A size that is enough for everything, or something is wrong."""
WAYS_OUT = re.compile(r"free space|make room|run (?:the same )?again")
PARTS = ("beginning", "middle", "end")


class Tell(Protocol):
    """What a writer says of its work while it works."""

    def begun(self) -> None:
        """Say that the next document, line or entry is begun."""

    def kept(self, *names: str) -> None:
        """Say that these are written, as RetriVex said."""

    def room(self) -> None:
        """Let files grow again, as somebody who made room."""


class Filling(Protocol):
    """What writes until its disk is full, and what must hold afterwards.

    Parameters
    ----------
    name : for reports
    first : size of the files that are there before anything is written; below it, nothing is
    strict : whether all that was not acknowledged must be as it was before; else it may also be as it was to become
    """

    name: str
    first: int
    strict: bool

    def prepare(self, folder: Path) -> None:
        """Lay out what is there before, with room for everything."""

    def write(self, folder: Path, tell: Tell) -> None:
        """Write; runs in the child."""

    def read(self, folder: Path) -> dict[str, Any]:
        """Return what is there by name, after it was checked that all of it is whole."""

    def whole(self, folder: Path) -> Any:
        """Return all that can be asked of what was written."""


@dataclass
class Outcome:
    """How a process with a limit ended.

    Parameters
    ----------
    failed : writes that met the limit
    begun : documents, lines or entries that were begun
    kept : names that were acknowledged
    error : what a person would be told; None where all went well
    kind : type of the error
    ours : whether it is one that the documentation names
    """

    failed: int = 0
    begun: int = 0
    kept: set[str] = field(default_factory=set)
    error: str | None = None
    kind: str = ""
    ours: bool = True


class _Limit:
    """The limit of a child, which counts the writes that meet it and writes down what it is told."""

    def __init__(self, size: int | None, told: TextIO) -> None:
        self.failed, self.told = 0, told
        sys.dont_write_bytecode = True  # what is cut off would be read by others
        signal.signal(signal.SIGXFSZ, self._count)
        if size is not None:
            _, self.most = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, self.most))

    def _count(self, number: int, frame: FrameType | None) -> None:
        self.failed += 1

    def say(self, **said: Any) -> None:
        self.told.write(json.dumps(said) + "\n")
        self.told.flush()

    def begun(self) -> None:
        self.say(begun=1)

    def kept(self, *names: str) -> None:
        self.say(kept=names)

    def room(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.most, self.most))


def write_limited(filling: Filling, folder: Path, size: int | None) -> Outcome:
    """Let it write in a process whose files may have so many bytes; None: as many as they need."""
    reading, writing = os.pipe()

    def child() -> None:
        os.close(reading)
        with os.fdopen(writing, "w", encoding="utf-8") as told:
            limit = _Limit(size, told)
            try:
                filling.write(folder, limit)
            except Exception as error:  # noqa: BLE001 - told to the parent, which judges it
                ours = isinstance(error, RetrivexError | OSError)
                limit.say(error=describe_error(error), kind=type(error).__name__, ours=ours)
            limit.say(failed=limit.failed)

    number = start_child(child)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as told:
        lines = [json.loads(line) for line in told]
    _, status = os.waitpid(number, 0)
    made = Outcome()
    for said in lines:
        made.begun += said.get("begun", 0)
        made.kept.update(said.get("kept", ()))
        made.failed = said.get("failed", made.failed)
        if "error" in said:
            made.error, made.kind, made.ours = said["error"], said["kind"], said["ours"]
    if status:
        made.error, made.kind, made.ours = f"it ended with status {status}", "exit", False
    return made


@dataclass
class Walk:
    """What one kind of writing came to, over all sizes.

    Parameters
    ----------
    sizes : at which a write failed
    silent : of them, those at which nobody had to be told, as nothing was lost
    first, enough : smallest and largest size that was tried: with the latter everything could be written
    parts : how often a write failed while the first, second and last third of the work was done
    """

    sizes: int = 0
    silent: int = 0
    first: int = 0
    enough: int = 0
    parts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PARTS, 0))


class _Tried:
    """Tries sizes and checks each; the states before and after all is written are made once."""

    def __init__(self, filling: Filling, folder: Path) -> None:
        self.filling, self.folder = filling, folder
        before, self.undisturbed = folder / "before", folder / "undisturbed"
        for place in (before, self.undisturbed):
            place.mkdir(parents=True)
            filling.prepare(place)
        self.before = filling.read(before)
        self.all = write_limited(filling, self.undisturbed, None)
        assert self.all.error is None, f"with room for everything: {self.all.error}"
        self.target = filling.read(self.undisturbed)
        self.whole = filling.whole(self.undisturbed)
        self.walk = Walk(first=filling.first)
        self.violations: list[str] = []

    def __call__(self, size: int) -> bool:
        """Try a size; return whether everything could be written."""
        with tempfile.TemporaryDirectory(dir=self.folder) as made:
            place = Path(made) / "disk"
            place.mkdir()
            self.filling.prepare(place)
            outcome = write_limited(self.filling, place, size)
            try:
                self._check(place, outcome)
            except Exception as error:  # noqa: BLE001 - whatever a broken file makes a store raise
                said = f"{self.filling.name} at {size:,} bytes: {type(error).__name__}: {error}"
                self.violations.append(said[:400])
        if outcome.failed:
            self.walk.sizes += 1
            self.walk.silent += outcome.error is None
            self.walk.parts[PARTS[min(2, 3 * outcome.begun // (self.all.begun + 1))]] += 1
        return not outcome.failed

    def _check(self, place: Path, outcome: Outcome) -> None:
        assert outcome.ours, f"no error of ours: {outcome.kind}: {outcome.error}"
        assert outcome.failed or outcome.error is None, f"no write failed, and yet: {outcome.error}"
        if outcome.error is not None:
            assert "\n" not in outcome.error
            assert str(place) in outcome.error, f"it does not name the file: {outcome.error}"
            assert WAYS_OUT.search(outcome.error), f"it does not say what to do: {outcome.error}"
        found = self.filling.read(place)
        for name in {*found, *self.before, *self.target}:
            old, new, now = (state.get(name) for state in (self.before, self.target, found))
            if outcome.error is None or name in outcome.kept:
                assert now == new, f"{name} was acknowledged, and is not there as it was written"
            elif self.filling.strict:
                assert now == old, f"{name} was not acknowledged, and is not as it was before"
            else:
                assert now in (old, new), f"{name} is neither as it was nor as it was to become"
        again = write_limited(self.filling, place, None)
        assert again.error is None, f"with room again: {again.error}"
        assert self.filling.read(place) == self.target, "with room again, something else is written"
        assert self.filling.whole(place) == self.whole, "with room again, something else is found"


def walk_up(filling: Filling, folder: Path, sample: int | None = None) -> tuple[Walk, list[str]]:
    """Let it meet its limit at each size from the first to the first at which all can be written.

    Parameters
    ----------
    filling : what writes
    folder : an empty one
    sample : so many sizes alone, evenly spread; None for every step

    Returns
    -------
    walk : with the sizes at which a write failed
    violations : what went wrong
    """
    tried = _Tried(filling, folder)
    for size in _sizes(tried, sample):
        if tried(size):
            tried.walk.enough = size
            break
    walk, violations = tried.walk, tried.violations
    if not walk.sizes:
        violations.append(f"{filling.name}: no write failed at any size")
    if not walk.enough:
        violations.append(f"{filling.name}: no size was enough, up to {MOST_BYTES:,} bytes")
    missed = [part for part, times in walk.parts.items() if not times]
    if tried.all.begun >= len(PARTS) and missed:
        violations.append(f"{filling.name}: no write failed in the {' and the '.join(missed)} of its work")
    return walk, violations


def _sizes(tried: _Tried, sample: int | None) -> Iterator[int]:
    first = tried.filling.first
    yield from (0,) if first else ()
    if sample is None:
        yield from range(first, MOST_BYTES, STEP)
        return
    enough = _find_enough(lambda size: write_once(tried.filling, tried.folder, size), first)
    yield from (first + at * (enough - first) // sample for at in range(sample))
    yield from range(enough, MOST_BYTES, STEP)


def write_once(filling: Filling, folder: Path, size: int) -> bool:
    """Return whether everything can be written with a limit."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        place = Path(made) / "disk"
        place.mkdir()
        filling.prepare(place)
        return not write_limited(filling, place, size).failed


def _find_enough(is_enough: Callable[[int], bool], first: int) -> int:
    """Return a size that is enough, within a page of the smallest."""
    low, high = first, 2 * max(first, PAGE)
    while not is_enough(high) and high < MOST_BYTES:
        low, high = high, 2 * high
    while high - low > PAGE:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
