"""Reads the files of question sets: whole, as JSON, as CSV, or record by record."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from retrivex.errors import LoadError, RetrivexError

csv.field_size_limit(2**31 - 1)

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


def _read_bytes(path: Path) -> bytes:
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if path.suffix == ".gz" else raw
    except (OSError, EOFError, zlib.error) as error:  # gzip's own error is an OSError
        raise LoadError(
            f"{path} cannot be read ({error}): name one that is there and whole; a public set's own page has its files"
        ) from error


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, `.gz` or not, with its line ends as they are.

    Raises
    ------
    LoadError
        If it cannot be read.
    """
    try:
        return _read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise LoadError(f"{path} cannot be read ({error}): save it as UTF-8") from error


def _read_without_mark(path: Path) -> str:
    # only where no offset counts in the file: a byte order mark is its first character
    return read_text(path).removeprefix("\ufeff")


def read_json(path: Path) -> Any:
    """Return what a JSON file holds.

    Raises
    ------
    LoadError
        If it cannot be read or is no JSON.
    """
    text = _read_without_mark(path)
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise LoadError(f"{path} is not JSON ({error})") from error
    except ValueError as error:  # Python reads no whole number of more than 4,300 digits
        raise LoadError(f"{path} holds a number of too many digits") from error


def read_list(path: Path) -> Iterator[AnyRecord]:
    """Yield the records of a JSON file that is a list of them.

    Raises
    ------
    LoadError
        If it cannot be read or is no list.
    """
    whole = read_json(path)
    if not isinstance(whole, list):
        raise LoadError(f"{path} holds a {type(whole).__name__}: its published layout is a list")
    return number_records(whole)


def read_csv(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a CSV file by the names in its first line; raises as `read_text`."""
    return list(csv.DictReader(io.StringIO(_read_without_mark(path), newline=""), restkey="further cells"))


def read_lines(path: Path) -> Iterator[AnyRecord]:
    """Yield the records of a JSON Lines file, `.gz` or not; a line that is none is yielded broken.

    Raises
    ------
    LoadError
        If the file cannot be read.
    """
    for number, line in enumerate(_read_bytes(path).removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if line.strip():
            yield _line(f"line {number}", line)


def _line(place: str, line: bytes) -> AnyRecord:
    try:
        found = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        return BrokenRecord(place, f"a line that is not UTF-8 (byte {error.start}): save the file as UTF-8")
    except json.JSONDecodeError as error:
        return BrokenRecord(place, f"a line that is not JSON ({error.msg} at character {error.pos + 1}): {_WAY_OUT}")
    except RecursionError:
        return BrokenRecord(place, f"a line that is nested too deep: {_WAY_OUT}")
    except ValueError:  # Python reads no whole number of more than 4,300 digits
        return BrokenRecord(place, f"a line with a number of too many digits: {_WAY_OUT}")
    return _record(place, found)


def _record(place: str, found: Any) -> AnyRecord:
    if not isinstance(found, Mapping):
        return BrokenRecord(place, f"it holds a {type(found).__name__}, no object: {_WAY_OUT}")
    return Record(place, found)


def number_records(rows: Iterable[Any]) -> Iterator[AnyRecord]:
    """Yield records that do not come out of lines, numbered from 1; what is no object is yielded broken."""
    for number, row in enumerate(rows, 1):
        yield _record(f"record {number}", row)


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


def first_of(paths: Iterable[Path]) -> Path:
    """Return the first path that is there, or the first of all, whose absence its reader then reports."""
    candidates = list(paths)
    return next((path for path in candidates if path.exists()), candidates[0])
