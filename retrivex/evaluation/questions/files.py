"""Reads the files of question sets, record by record."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from retrivex.errors import LoadError, RetrivexError

_WAY_OUT = "write one object a line"


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a set, with its location in the file.

    Parameters
    ----------
    place : as a message names it, "line 7" or "record 7"; counted from 1
    fields : as published
    """

    place: str
    fields: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The place as part of an id, "line-7"."""
        return self.place.replace(" ", "-")


@dataclass(frozen=True, slots=True)
class BrokenRecord:
    """A malformed record, with its location in the file.

    Parameters
    ----------
    place : as in `Record`
    reason : what is the matter, and the way out
    """

    place: str
    reason: str


AnyRecord: TypeAlias = Record | BrokenRecord


def read_bytes(path: Path) -> bytes:
    """Return what a file holds, unpacked where it ends in `.gz`."""
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if path.suffix == ".gz" else raw
    except (OSError, EOFError, zlib.error) as error:  # gzip's own error is an OSError
        raise LoadError(
            f"{path} cannot be read ({error}): name one that is there and whole; a public set's own page has its files"
        ) from error


def read_lines(path: Path) -> Iterator[AnyRecord]:
    """Yield the records of a JSON Lines file, `.gz` or not; a line that is none is yielded broken.

    Raises
    ------
    LoadError
        If the file cannot be read.
    """
    for number, line in enumerate(read_bytes(path).removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if line.strip():
            yield _line(f"line {number}", line)


def _line(place: str, line: bytes) -> AnyRecord:
    try:
        found = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        return BrokenRecord(place, f"a line that is not UTF-8 (byte {error.start}): save the file as UTF-8")
    except json.JSONDecodeError as error:
        return BrokenRecord(place, f"a line that is not JSON ({error.msg} at character {error.pos + 1}): {_WAY_OUT}")
    except (RecursionError, ValueError) as error:
        return BrokenRecord(place, f"a line that cannot be read ({error}): {_WAY_OUT}")
    return as_record(place, found)


def as_record(place: str, found: Any) -> AnyRecord:
    """Return what stands at a place as a record; broken where it is no object."""
    if not isinstance(found, Mapping):
        return BrokenRecord(place, f"it holds a {type(found).__name__}, no object: {_WAY_OUT}")
    return Record(place, found)


def read_each(records: Iterable[AnyRecord], read: Callable[[Record], None]) -> list[str]:
    """Hand every record to `read`.

    Returns
    -------
    odd : one line for each record that is broken or that `read` refused with a `RetrivexError`, with its place
    """
    odd = []
    for record in records:
        if isinstance(record, BrokenRecord):
            odd.append(f"{record.place}: {record.reason}; left out")
            continue
        try:
            read(record)
        except RetrivexError as error:
            odd.append(f"{record.place}: {error}; left out")
    return odd
