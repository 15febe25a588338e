"""Bugs planted in what a full disk and a faulty store meet: the suites must find them, or they would find no others."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

from faults import stores
from faults.disks import Filling, walk_up
from faults.fillings import BatchFilling, ComposeFilling, IndexFilling, StoreFilling
from fuzz.mutants import Mutant

from retrivex.batch import folder as batch_folder
from retrivex.cli import compose
from retrivex.stores import SQLiteStore, access
from retrivex.stores.sqlite import store as sqlite_store

HANG_S, SLACK_S = 2.5, 1.0
"""Of the stores that a bug waits for, in place of a minute."""


@dataclass(frozen=True)
class PlantedFault:
    """A bug and the suite that must find it.

    Parameters
    ----------
    mutant : the bug
    suite : returns what went wrong
    """

    mutant: Mutant
    suite: Callable[[], list[str]]

    def catch(self) -> list[str]:
        """Plant the bug and return what the suite says of it."""
        with self.mutant.planted():
            return self.suite()


def _walk(make: Callable[[], Filling], sample: int) -> Callable[[], list[str]]:
    def suite() -> list[str]:
        with tempfile.TemporaryDirectory(prefix="retrivex-faults-") as made:
            return walk_up(make(), Path(made) / "disks", sample)[1]

    return suite


def _stores(*kinds: str) -> Callable[[], list[str]]:
    def suite() -> list[str]:
        with patch.multiple(stores, HANG_S=HANG_S, SLACK_S=SLACK_S):
            return stores.try_stores(6, 1, kinds)[1]

    return suite


def _half_lines(original: Any) -> Any:
    """Take back nothing."""

    def write(self: Any, line: bytes) -> None:
        self.end = None
        original(self, line)

    return write


def _told_before(original: Any) -> Any:
    """Say that a document is there before it is committed, and go on when it is not."""

    @contextmanager
    def transaction(self: Any, *args: Any, **said: Any) -> Any:
        try:
            with original(self, *args, **said) as connection:
                yield connection
        except sqlite_store.StoreError as error:
            if "disk" not in str(error):
                raise

    return transaction


def _too_far(answer: Any, _: int) -> Any:
    return list(islice(answer, 500_000))  # to the end, the thread would go on beside all that follows


PLANTED = (
    PlantedFault(
        Mutant(
            "a full disk raises SQLite's own errors",
            sqlite_store,
            "sqlite_errors",
            lambda _: lambda _path: nullcontext(),
        ),
        _walk(lambda: IndexFilling(None), 3),
    ),
    PlantedFault(
        Mutant("a document is acknowledged that is not there", SQLiteStore, "_transaction", _told_before),
        _walk(lambda: StoreFilling(None, 2), 3),
    ),
    PlantedFault(
        Mutant(
            "parts of a batch are written in place",
            batch_folder,
            "_write_whole",
            lambda _: lambda path, content: path.write_bytes(content),
        ),
        _walk(BatchFilling, 3),
    ),
    PlantedFault(
        Mutant("a full disk leaves half a line", compose._Output, "write", _half_lines), _walk(ComposeFilling, 3)
    ),
    PlantedFault(
        Mutant(
            "a store that never answers is waited for", access, "call_in_time", lambda _: lambda call, *_said: call()
        ),
        _stores("never"),
    ),
    PlantedFault(
        Mutant("an answer without end is read to it", access, "_read", lambda _: _too_far), _stores("endless")
    ),
)
