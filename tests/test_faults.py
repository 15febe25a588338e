"""The suite of full disks counts what it should: sizes at which a write failed, over all of the work."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

if sys.platform == "win32":
    pytest.skip("needs a limit on the size of files", allow_module_level=True)

from faults import disks
from faults.disks import PAGE, PARTS, Tell, walk_up
from faults.fillings import StoreFilling

from retrivex.errors import StoreError


def _append(path: Path, size: int) -> None:
    with open(path, "ab", buffering=0) as file:
        while size:
            size -= file.write(b"x" * size)


class Lines:
    """Writes lines of a page into a file, one by one, and says what it is told to say."""

    name, first, strict = "lines", 0, True
    number = 6
    error = "{path}: the disk is full: make room and run again"

    def prepare(self, folder: Path) -> None:
        """Nothing."""

    def write(self, folder: Path, tell: Tell) -> None:
        path = folder / "lines.txt"
        try:
            for line in range(self.number):
                tell.begun()
                self.add(path, line)
                tell.kept(str(line))
        except OSError as error:
            raise StoreError(self.error.format(path=path)) from error

    def add(self, path: Path, line: int) -> None:
        size = path.stat().st_size if path.exists() else 0
        if size >= self.number * PAGE:
            return
        try:
            _append(path, PAGE)
        except OSError:
            os.truncate(path, size)
            raise

    def read(self, folder: Path) -> dict[str, Any]:
        path = folder / "lines.txt"
        size = path.stat().st_size if path.exists() else 0
        assert size % PAGE == 0, "half a line"
        return {str(line): "x" for line in range(size // PAGE)}

    def whole(self, folder: Path) -> Any:
        return None


class NothingToWrite(Lines):
    """Writes no file at all."""

    def add(self, path: Path, line: int) -> None: ...

    def read(self, folder: Path) -> dict[str, Any]:
        return {str(line): "x" for line in range(self.number)}


class Enormous(Lines):
    """Needs more than any size that is tried."""

    first = disks.MOST_BYTES - 2 * PAGE

    def add(self, path: Path, line: int) -> None:
        with open(path, "wb", buffering=0) as file:
            file.truncate(disks.MOST_BYTES + PAGE)

    def read(self, folder: Path) -> dict[str, Any]:
        return {}


class AtTheEnd(Lines):
    """Writes when all is told."""

    def write(self, folder: Path, tell: Tell) -> None:
        for _ in range(self.number):
            tell.begun()
        super().write(folder, _Quiet(tell))


class _Quiet:
    def __init__(self, tell: Tell) -> None:
        self.kept, self.room = tell.kept, tell.room

    def begun(self) -> None: ...


class ToldTooEarly(Lines):
    """Says that a line is there before it is."""

    def write(self, folder: Path, tell: Tell) -> None:
        tell.kept(*map(str, range(self.number)))
        super().write(folder, tell)


class HalfALine(Lines):
    """Leaves what could be written."""

    def add(self, path: Path, line: int) -> None:
        size = path.stat().st_size if path.exists() else 0
        _append(path, PAGE - size % PAGE)


class NoWayOut(Lines):
    error = "{path}: no room"


class NoFile(Lines):
    error = "the disk is full: make room and run again"


class NotOurs(Lines):
    def write(self, folder: Path, tell: Tell) -> None:
        try:
            super().write(folder, tell)
        except StoreError as error:
            raise ValueError(str(error)) from error


def violations(filling: Lines, folder: Path, sample: int | None = None) -> str:
    return "; ".join(walk_up(filling, folder / "disks", sample)[1])


@pytest.mark.parametrize("sample", [None, 6])
def test_every_size_at_which_a_write_failed_is_counted_and_no_other(tmp_path: Path, sample: int | None) -> None:
    walk, wrong = walk_up(Lines(), tmp_path / "disks", sample)
    assert wrong == []
    assert walk.sizes == (7 if sample is None else 6)
    assert walk.enough >= 6 * PAGE
    assert walk.parts == ({"beginning": 3, "middle": 2, "end": 2} if sample is None else dict.fromkeys(PARTS, 2))


@pytest.mark.parametrize(
    ("filling", "said"),
    [
        (NothingToWrite(), "no write failed at any size"),
        (Enormous(), "no size was enough"),
        (AtTheEnd(), "no write failed in the beginning and the middle of its work"),
        (ToldTooEarly(), "was acknowledged, and is not there as it was written"),
        (HalfALine(), "half a line"),
        (NoWayOut(), "it does not say what to do"),
        (NoFile(), "it does not name the file"),
        (NotOurs(), "no error of ours: ValueError"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Lines) else "",
)
def test_what_is_wrong_is_told(filling: Lines, said: str, tmp_path: Path) -> None:
    assert said in violations(filling, tmp_path)


def test_the_sizes_of_ci_cover_all_of_the_work(tmp_path: Path) -> None:
    walk, wrong = walk_up(StoreFilling(None, 2), tmp_path / "disks", 9)
    assert wrong == []
    assert walk.sizes >= 9
    assert all(walk.parts.values())
