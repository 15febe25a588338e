"""Reads JSON Lines of documents, or of chunks that another splitter has cut, one object per line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar

from retrivex.errors import ChunkError, LoadError, RetrivexError
from retrivex.model.chunk import Chunk
from retrivex.model.document import Document
from retrivex.model.serialization import (
    as_text,
    check_keys,
    chunk_from_dict,
    integer,
    listing,
    mapping,
    number,
    optional_string,
    string,
)
from retrivex.text.files import open_regular

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Default limit for one line; the file as a whole is read line by line and may be of any size."""

DOCUMENT_KEYS = ("doc_id", "id", "text", "title", "format", "metadata", "scope", "timestamp", "source", "page_starts")
_Made = TypeVar("_Made")


def document_from_dict(record: Mapping[str, Any], source: str | None = None) -> Document:
    """Make a document of a JSON object with the keys of `DOCUMENT_KEYS`.

    Parameters
    ----------
    record : `text` and `doc_id` (or `id`) are needed, the rest is as in `Document`; null counts as not given
    source : used where the record names none

    Raises
    ------
    LoadError
        If a key is missing or unknown, or a value of the wrong type.

    Examples
    --------
    >>> document_from_dict({"id": "bees", "text": "Bees sleep.", "metadata": {"year": 2024}}).metadata["year"]
    2024
    """
    fields = check_keys(record, DOCUMENT_KEYS, LoadError)
    if "doc_id" in fields and "id" in fields:
        raise LoadError("both doc_id and id are given: they mean the same; leave one out")
    name = "id" if "id" in fields else "doc_id"
    text = string(fields, "text", LoadError)
    if not text.strip():
        raise LoadError("text is empty: there is nothing to index; leave the line out")
    text_format = fields.get("format", "text")
    if text_format not in ("text", "markdown"):
        raise LoadError(f"format is {text_format!r}: it must be 'text' or 'markdown'")
    return Document(
        string(fields, name, LoadError),
        text,
        format=text_format,
        title=optional_string(fields, "title", LoadError),
        page_starts=_page_starts(fields, len(text)),
        source=optional_string(fields, "source", LoadError) or source,
        timestamp=number(fields, "timestamp", LoadError),
        scope=optional_string(fields, "scope", LoadError),
        metadata=mapping(fields, "metadata", LoadError),
    )


def read_chunks(path: str | Path, *, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[Chunk]:
    """Read a JSONL file of chunks, one at a time.

    Raises
    ------
    LoadError
        At the first line that is not a chunk; the message names the line.
    """
    yield from _read_all(path, _read_chunk, max_line_bytes)


def _read_chunk(record: Mapping[str, Any]) -> Chunk:
    """Make a chunk that a store can keep: half a surrogate pair is no text for most of them."""
    chunk = chunk_from_dict(record)
    for key in ("doc_id", "text", "parent_id", "scope", "prefix"):
        if key in record and record[key] is not None:
            as_text(record[key], key, ChunkError)
    return chunk


def read_documents(path: str | Path, *, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[Document]:
    """Read a JSONL file of documents, one at a time.

    Raises
    ------
    LoadError
        At the first line that is not a document; the message names the line.
    """
    yield from _read_all(path, lambda record: document_from_dict(record, str(path)), max_line_bytes)


def _read_all(path: str | Path, make: Callable[[Mapping[str, Any]], _Made], max_line_bytes: int) -> Iterator[_Made]:
    for made in parse_lines(path, make, max_line_bytes=max_line_bytes):
        if isinstance(made, LoadError):
            raise LoadError(f"{path}: {made}") from made
        yield made


def parse_lines(
    path: str | Path, make: Callable[[Mapping[str, Any]], _Made], *, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[_Made | LoadError]:
    """Make something of every line of a JSONL file; a line that fails gives its error and the next one follows.

    Parameters
    ----------
    path : UTF-8, one JSON object a line; blank lines are skipped
    make : turns a JSON object into something, or raises a `RetrivexError`
    max_line_bytes : a longer line ends the reading, as its end would have to be looked for

    Raises
    ------
    LoadError
        If the file cannot be opened or read.
    """
    try:
        with open_regular(path) as lines:
            yield from parse_open(lines, make, max_line_bytes=max_line_bytes)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise LoadError(f"it cannot be read: {getattr(error, 'strerror', None) or error}") from error


def parse_open(
    lines: IO[bytes], make: Callable[[Mapping[str, Any]], _Made], *, max_line_bytes: int
) -> Iterator[_Made | LoadError]:
    """Make something of every line of a file that is open; see `parse_lines`."""
    number = 0
    while line := lines.readline(max_line_bytes + 1):
        number += 1
        if len(line) > max_line_bytes:
            yield LoadError(
                f"line {number} is over {max_line_bytes:,} bytes: it and what follows is left out; "
                "raise the limit or split it"
            )
            return
        if line.strip():
            yield _parse_line(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line, number, make)


def _parse_line(line: bytes, number: int, make: Callable[[Mapping[str, Any]], _Made]) -> _Made | LoadError:
    try:
        record = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        return LoadError(f"line {number} is not UTF-8 (byte {error.start}); save the file as UTF-8")
    except (ValueError, RecursionError) as error:
        return LoadError(f"line {number} is not JSON ({error}); write one object a line")
    if not isinstance(record, dict):
        return LoadError(f"line {number} holds a {type(record).__name__}, not an object; write one object a line")
    try:
        return make(record)
    except RetrivexError as error:
        return LoadError(f"line {number}: {error}")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


def _page_starts(fields: Mapping[str, Any], length: int) -> tuple[int, ...]:
    values = listing(fields.get("page_starts", []), "page_starts", LoadError)
    starts = tuple(integer(value, "page_starts", LoadError) for value in values)
    outside = [start for start in starts if not 0 <= start <= length]
    if outside:
        raise LoadError(f"page_starts has {outside[0]}: the text has {length} characters; count from its start")
    return starts
