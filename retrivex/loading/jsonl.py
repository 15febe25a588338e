"""JSON Lines: documents, or chunks that somebody else has cut, one object a line."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np

from retrivex.chunk import Chunk, ChunkMetadata
from retrivex.document import Document
from retrivex.errors import ChunkError, LoadError, RetrivexError

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Default limit for one line; the file as a whole is read line by line and may be of any size."""

DOCUMENT_KEYS = ("doc_id", "id", "text", "title", "format", "metadata", "scope", "timestamp", "source", "page_starts")
CHUNK_KEYS = (
    "doc_id",
    "chunk_id",
    "text",
    "char_start",
    "char_end",
    "heading_path",
    "page",
    "parent_id",
    "metadata",
    "timestamp",
    "chunk_count",
    "scope",
    "links",
    "prefix",
    "embedding",
)
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
    fields = _given(record, DOCUMENT_KEYS, LoadError)
    if "doc_id" in fields and "id" in fields:
        raise LoadError("both doc_id and id are given: they mean the same; leave one out")
    name = "id" if "id" in fields else "doc_id"
    text = _string(fields, "text", LoadError)
    if not text.strip():
        raise LoadError("text is empty: there is nothing to index; leave the line out")
    text_format = fields.get("format", "text")
    if text_format not in ("text", "markdown"):
        raise LoadError(f"format is {text_format!r}: it must be 'text' or 'markdown'")
    return Document(
        _string(fields, name, LoadError),
        text,
        format=text_format,
        title=_optional_string(fields, "title", LoadError),
        page_starts=_page_starts(fields, len(text)),
        source=_optional_string(fields, "source", LoadError) or source,
        timestamp=_number(fields, "timestamp", LoadError),
        scope=_optional_string(fields, "scope", LoadError),
        metadata=_mapping(fields, "metadata", LoadError),
    )


def chunk_from_dict(record: Mapping[str, Any]) -> Chunk:
    """Make a chunk of a JSON object with the keys of `CHUNK_KEYS`; the reverse of `chunk_to_dict`.

    Parameters
    ----------
    record : `doc_id`, `chunk_id` and `text` are needed; `metadata` is `ChunkMetadata.custom_metadata`, `links` a list
        of `[doc_id, chunk_id]`, the rest is as in `ChunkMetadata`. Null counts as not given; lists become tuples

    Raises
    ------
    ChunkError
        If a key is missing or unknown, or a value of the wrong type or against the rules of a chunk.

    Examples
    --------
    >>> chunk_from_dict({"doc_id": "bees", "chunk_id": 3, "text": "Bees sleep.", "page": 2}).metadata.page
    2
    """
    fields = _given(record, CHUNK_KEYS, ChunkError)
    heading_path = fields.get("heading_path")
    metadata = ChunkMetadata(
        doc_id=_string(fields, "doc_id", ChunkError),
        chunk_id=_integer(_needed(fields, "chunk_id", ChunkError), "chunk_id", ChunkError),
        char_start=_optional_integer(fields, "char_start"),
        char_end=_optional_integer(fields, "char_end"),
        parent_id=_optional_string(fields, "parent_id", ChunkError),
        heading_path=None if heading_path is None else _strings(heading_path, "heading_path"),
        page=_optional_integer(fields, "page"),
        custom_metadata=_mapping(fields, "metadata", ChunkError),
        timestamp=_number(fields, "timestamp", ChunkError),
        chunk_count=_optional_integer(fields, "chunk_count"),
        scope=_optional_string(fields, "scope", ChunkError),
        links=_links(fields.get("links", [])),
        prefix=_optional_string(fields, "prefix", ChunkError),
    )
    return Chunk(_string(fields, "text", ChunkError), metadata, _embedding(fields.get("embedding")))


def chunk_to_dict(chunk: Chunk, *, embedding: bool = True) -> dict[str, Any]:
    """Return a chunk as a JSON-ready object: what is not set is left out.

    Parameters
    ----------
    chunk : custom metadata must itself be JSON-ready
    embedding : whether to write the embedding, as a list of floats

    Examples
    --------
    >>> chunk_to_dict(Chunk("Bees sleep.", ChunkMetadata("bees", 0, links=[("wasps", 1)])))
    {'doc_id': 'bees', 'chunk_id': 0, 'text': 'Bees sleep.', 'links': [['wasps', 1]]}
    """
    where = chunk.metadata
    vector = chunk.embedding if embedding else None
    record: dict[str, Any] = {
        "doc_id": where.doc_id,
        "chunk_id": where.chunk_id,
        "text": chunk.text,
        "char_start": where.char_start,
        "char_end": where.char_end,
        "heading_path": None if where.heading_path is None else list(where.heading_path),
        "page": where.page,
        "parent_id": where.parent_id,
        "metadata": dict(where.custom_metadata) or None,
        "timestamp": where.timestamp,
        "chunk_count": where.chunk_count,
        "scope": where.scope,
        "links": [list(link) for link in where.links] or None,
        "prefix": where.prefix,
        "embedding": None if vector is None else np.asarray(vector, dtype=np.float64).tolist(),
    }
    return {key: value for key, value in record.items() if value is not None}


def read_chunks(path: str | Path, *, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[Chunk]:
    """Read a JSONL file of chunks, one at a time.

    Raises
    ------
    LoadError
        At the first line that is not a chunk; the message names the line.
    """
    yield from _all_of(path, chunk_from_dict, max_line_bytes)


def read_documents(path: str | Path, *, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[Document]:
    """Read a JSONL file of documents, one at a time.

    Raises
    ------
    LoadError
        At the first line that is not a document; the message names the line.
    """
    yield from _all_of(path, lambda record: document_from_dict(record, str(path)), max_line_bytes)


def _all_of(path: str | Path, make: Callable[[Mapping[str, Any]], _Made], max_line_bytes: int) -> Iterator[_Made]:
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
        with Path(path).open("rb") as lines:
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
    except OSError as error:
        raise LoadError(f"it cannot be read: {error.strerror or error}") from error


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


def _given(record: Mapping[str, Any], known: tuple[str, ...], error: type[RetrivexError]) -> dict[str, Any]:
    unknown = sorted(set(record) - set(known))
    if unknown:
        raise error(
            f"unknown {'key' if len(unknown) == 1 else 'keys'} {', '.join(map(repr, unknown))}: the known ones are "
            f"{', '.join(known)}; put anything else into metadata"
        )
    return {key: value for key, value in record.items() if value is not None}


def _needed(fields: Mapping[str, Any], key: str, error: type[RetrivexError]) -> Any:
    if key not in fields:
        raise error(f"{key} is missing: every line needs it; got {', '.join(fields) or 'no keys'}")
    return fields[key]


def _string(fields: Mapping[str, Any], key: str, error: type[RetrivexError]) -> str:
    return _as_string(_needed(fields, key, error), key, error)


def _optional_string(fields: Mapping[str, Any], key: str, error: type[RetrivexError]) -> str | None:
    return _as_string(fields[key], key, error) if key in fields else None


def _as_string(value: Any, key: str, error: type[RetrivexError]) -> str:
    if not isinstance(value, str):
        raise error(f"{key} is {value!r}: it must be a string; put it in quotes")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as broken:
        raise error(
            f"{key} has half a surrogate pair at {broken.start}, which is no character; replace it by U+FFFD"
        ) from broken
    return value


def _integer(value: Any, key: str, error: type[RetrivexError]) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise error(f"{key} is {value!r}: it must be a whole number")
    return value


def _optional_integer(fields: Mapping[str, Any], key: str) -> int | None:
    return _integer(fields[key], key, ChunkError) if key in fields else None


def _page_starts(fields: Mapping[str, Any], length: int) -> tuple[int, ...]:
    values = _list(fields.get("page_starts", []), "page_starts", LoadError)
    starts = tuple(_integer(value, "page_starts", LoadError) for value in values)
    outside = [start for start in starts if not 0 <= start <= length]
    if outside:
        raise LoadError(f"page_starts has {outside[0]}: the text has {length} characters; count from its start")
    return starts


def _number(fields: Mapping[str, Any], key: str, error: type[RetrivexError]) -> float | None:
    if key not in fields:
        return None
    value = fields[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        raise error(f"{key} is {value!r}: it must be a finite number; give Unix seconds")
    return float(value)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no float can hold
        return False


def _mapping(fields: Mapping[str, Any], key: str, error: type[RetrivexError]) -> dict[str, Any]:
    value = fields.get(key, {})
    if not isinstance(value, dict):
        raise error(f"{key} is {value!r}: it must be an object")
    return value


def _list(value: Any, key: str, error: type[RetrivexError]) -> list[Any] | tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise error(f"{key} is {value!r}: it must be a list")
    return value


def _strings(value: Any, key: str) -> tuple[str, ...]:
    return tuple(_as_string(item, key, ChunkError) for item in _list(value, key, ChunkError))


def _links(value: Any) -> tuple[tuple[str, int], ...]:
    links = _list(value, "links", ChunkError)
    if not all(isinstance(link, list | tuple) and len(link) == 2 for link in links):
        raise ChunkError(f"links is {value!r}: it must be a list of [doc_id, chunk_id]")
    return tuple((_as_string(doc, "links", ChunkError), _integer(chunk, "links", ChunkError)) for doc, chunk in links)


def _embedding(value: Any) -> list[float] | None:
    if value is None:
        return None
    numbers = _list(value, "embedding", ChunkError)
    bad = [n for n in numbers if isinstance(n, bool) or not isinstance(n, int | float) or not _is_finite(n)]
    if bad or not numbers:
        raise ChunkError(f"embedding has {bad[0] if bad else 'no numbers'!r}: it must be a list of finite numbers")
    return [float(n) for n in numbers]
