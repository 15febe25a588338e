"""Conversion of chunks to table rows and back, without loss."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from retrivex.errors import StoreError, describe_cause, quoted
from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.stores.sqlite.connection import WRONG_VALUE, DamagedRowError

FIELDS = (
    "chunk_id",
    "char_start",
    "char_end",
    "parent_id",
    "heading_path",
    "page",
    "custom_metadata",
    "timestamp",
    "chunk_count",
    "links",
    "prefix",
    "sequence_kinds",
    "text",
)
"""Columns that chunks and parents share, in the order of `encode_chunk` and `decode_chunk`."""

# one encoder for all: json.dumps builds a new one at every call with options
_to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode

# `sequence_kinds`: JSON does not tell tuples from lists, equality in Python does
_HEADING_IS_LIST = 1
_LINKS_IS_LIST = 2


def encode_chunk(chunk: Chunk) -> tuple[Any, ...]:
    """Return the values of `FIELDS`.

    Raises
    ------
    StoreError
        If a field cannot be stored without changing it.
    """
    meta = chunk.metadata
    try:
        return (
            meta.chunk_id,
            _whole(meta.char_start),
            _whole(meta.char_end),
            None if meta.parent_id is None else storable(meta.parent_id, "parent_id"),
            None if meta.heading_path is None else utf8(_to_json(list(meta.heading_path)), "heading_path"),
            _whole(meta.page),
            encode_mapping(meta.custom_metadata) if meta.custom_metadata else None,
            encode_time(meta.timestamp),
            _whole(meta.chunk_count),
            utf8(_to_json([[doc_id, int(n)] for doc_id, n in meta.links]), "links") if meta.links else None,
            None if meta.prefix is None else utf8(meta.prefix, "prefix"),
            isinstance(meta.heading_path, list) * _HEADING_IS_LIST + isinstance(meta.links, list) * _LINKS_IS_LIST,
            utf8(chunk.text, "text"),
        )
    except StoreError as error:
        raise StoreError(f"chunk {chunk.key!r} cannot be stored: {error}") from error


def decode_chunk(doc_id: str, scope: str | None, row: Sequence[Any]) -> Chunk:
    """Build the chunk from the values of `FIELDS`.

    Raises
    ------
    DamagedRowError
        If they are not what `encode_chunk` makes.
    """
    chunk_id, start, end, parent_id, headings, page, custom, timestamp, count, links, prefix, kinds, text = row
    try:  # and no context manager: millions of rows are read
        path = None if headings is None else _decode_headings(headings, kinds)
        own = {} if custom is None else decode_mapping(custom)
        made = (doc_id, chunk_id, start, end, parent_id, path, page, own, timestamp, count, scope)
        return Chunk(text, ChunkMetadata(*made, _decode_links(links, kinds), prefix))
    except WRONG_VALUE as error:
        raise DamagedRowError(f"chunk {quoted((doc_id, chunk_id))} cannot be read: {describe_cause(error)}") from error


def decode_mapping(encoded: str) -> dict[str, Any]:
    """Return the mapping that `encode_mapping` wrote."""
    decoded = json.loads(encoded)
    if not isinstance(decoded, dict):
        raise TypeError(f"metadata holds a {type(decoded).__name__}, not an object")
    return decoded


def decode_text(value: Any) -> str:
    """Return a text of the file, which may be anything else where others wrote it."""
    if not isinstance(value, str):
        raise DamagedRowError(f"{quoted(value)} stands where a text belongs")
    return value


def storable(name: str, field: str) -> str:
    r"""Return `name` if it can be found again; names with NUL go missing inside SQLite's JSON functions.

    Examples
    --------
    >>> storable("a\0b", "doc_id")
    Traceback (most recent call last):
    retrivex.errors.StoreError: doc_id is 'a\x00b': it must not hold a NUL character; replace it
    """
    if "\0" in name:
        raise StoreError(f"{field} is {name!r}: it must not hold a NUL character; replace it")
    return utf8(name, field)


def utf8(text: str, field: str) -> str:
    """Return `text` if it can be written as UTF-8, which half surrogate pairs cannot."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise StoreError(
            f"{field} holds {text[error.start]!r} at {error.start}, half of a surrogate pair: only valid Unicode can "
            "be stored; decode the source with errors='replace'"
        ) from error
    return text


def encode_mapping(value: Mapping[str, Any]) -> str:
    """Return a mapping as JSON, refusing what JSON would change (tuples, NaN, keys that are not strings)."""
    plain = dict(value)
    try:
        encoded = _to_json(plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            f"metadata {quoted(plain)} is not JSON ({error}); keep strings, numbers, lists and dicts"
        ) from error
    if json.loads(encoded) != plain:
        raise StoreError(
            f"metadata {quoted(plain)} would come back changed: use lists instead of tuples, and strings as keys"
        )
    return utf8(encoded, "metadata")


def encode_time(timestamp: float | None) -> float | None:
    """Return Unix seconds; NaN is refused, SQLite would store it as missing."""
    if timestamp is not None and timestamp != timestamp:
        raise StoreError("timestamp is NaN: give Unix seconds, or None where the time is unknown")
    return None if timestamp is None else float(timestamp)


def _whole(number: int | None) -> int | None:
    if number is None:
        return None
    if not -(2**63) <= number < 2**63:
        raise StoreError(f"{number} is too large: whole numbers must fit 64 bits")
    return int(number)


def _decode_headings(encoded: str, kinds: int) -> Sequence[str]:
    titles = _titles(encoded)
    return list(titles) if kinds & _HEADING_IS_LIST else titles


@lru_cache(maxsize=1024)
def _titles(encoded: str) -> tuple[str, ...]:
    """Return the decoded heading path; the chunks of a section share one."""
    return tuple(json.loads(encoded))


def _decode_links(encoded: str | None, kinds: int) -> Sequence[tuple[str, int]]:
    links = [(doc_id, chunk_id) for doc_id, chunk_id in json.loads(encoded)] if encoded else []
    return links if kinds & _LINKS_IS_LIST else tuple(links)
