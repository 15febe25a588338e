"""Reads the files of public sets: whole, as JSON, as CSV, and fields that only they have."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from retrivex.errors import LoadError
from retrivex.evaluation.questions.files import AnyRecord, as_record, read_bytes
from retrivex.model.serialization import integer

csv.field_size_limit(2**31 - 1)


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, `.gz` or not, with its line ends as they are.

    Raises
    ------
    LoadError
        If it cannot be read.
    """
    try:
        return read_bytes(path).decode("utf-8")
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


def number_records(rows: Iterable[Any]) -> Iterator[AnyRecord]:
    """Yield records that do not come out of lines, numbered from 1; what is no object is yielded broken."""
    for number, row in enumerate(rows, 1):
        yield as_record(f"record {number}", row)


def first_of(paths: Iterable[Path]) -> Path:
    """Return the first path that is there, or the first of all, whose absence its reader then reports."""
    candidates = list(paths)
    return next((path for path in candidates if path.exists()), candidates[0])


def pair_of(value: Any, key: str) -> tuple[Any, Any]:
    """Return the two members of a list of two.

    Raises
    ------
    LoadError
        If it is none.
    """
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise LoadError(f"{key} holds {value!r}: it must be a list of two")
    return value[0], value[1]


def place_in(value: Any, key: str, length: int) -> int:
    """Return a whole number that counts members of something of `length`, from 0.

    Raises
    ------
    LoadError
        If it is none.
    """
    number = integer(value, key, LoadError)
    if not 0 <= number < length:
        raise LoadError(f"{key} is {number}: there are {length}, counted from 0")
    return number


def whole_number(value: Any, key: str) -> int:
    """Return a whole number, also out of a text, as some sets write them.

    Raises
    ------
    LoadError
        If it is none.
    """
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return integer(value, key, LoadError)
