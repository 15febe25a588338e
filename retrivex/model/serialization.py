"""Chunks as JSON objects and back, and the checked fields of any JSON object that RetriVex reads."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import fields as fields_of
from dataclasses import is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from retrivex.errors import ChunkError, RetrivexError
from retrivex.model.chunk import Chunk, ChunkMetadata, with_lists
from retrivex.model.numbers import parse_whole_number
from retrivex.model.options import closest_name

_PLAIN = (str, int, bool)
_HALVES = re.compile("[\ud800-\udfff]")


def escape_halves(text: str) -> str:
    r"""Return JSON with every half of a surrogate pair as an escape: UTF-8 cannot carry one otherwise.

    Examples
    --------
    >>> escape_halves('{"text": "Bees \ud83d"}')
    '{"text": "Bees \\ud83d"}'
    """
    return _HALVES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def check_metadata(chunk: Chunk) -> None:
    """Make sure that JSON can hold a chunk's custom metadata and give it back, tuples as lists.

    Raises
    ------
    ChunkError
        If it cannot: another type, a number that is not finite, a key that is no string. The message names the chunk
        and the key.
    """
    for name, value in chunk.metadata.custom_metadata.items():
        if type(name) is str and (value is None or type(value) in _PLAIN):
            continue
        try:
            plain = with_lists({name: value})
            same = json.loads(json.dumps(plain, allow_nan=False)) == plain
        except (TypeError, ValueError, RecursionError) as error:
            raise ChunkError(
                f"custom_metadata of {chunk.key!r} holds {name!r}, which JSON cannot: {error}; give plain types, e.g. "
                "a list for a set, int(...) for a numpy number, None for NaN"
            ) from error
        if not same:
            raise ChunkError(
                f"custom_metadata of {chunk.key!r} holds {name!r}, which JSON cannot: {plain!r} has a key that is no "
                "string; give str(key)"
            )


def chunk_from_dict(record: Mapping[str, Any]) -> Chunk:
    """Make a chunk of a JSON object with the keys of `CHUNK_KEYS`; the reverse of `chunk_to_dict`.

    Parameters
    ----------
    record : `doc_id`, `chunk_id` and `text` are needed; `metadata` is `ChunkMetadata.custom_metadata`, `links` a list
        of `[doc_id, chunk_id]`, the rest is as in `ChunkMetadata`. A `chunk_id` may be a text such as "17". Null counts
        as not given; lists become tuples

    Raises
    ------
    ChunkError
        If a key is missing or unknown, or a value of the wrong type or against the rules of a chunk.

    Examples
    --------
    >>> chunk_from_dict({"doc_id": "bees", "chunk_id": 3, "text": "Bees sleep.", "page": 2}).metadata.page
    2
    """
    fields = check_keys(record, CHUNK_KEYS, ChunkError)
    for key in _NEEDED:
        require(fields, key, ChunkError)
    read = {key: _READERS[key](value, key, ChunkError) for key, value in fields.items()}
    text, embedding = read.pop("text"), read.pop("embedding", None)
    return Chunk(text, ChunkMetadata(custom_metadata=read.pop("metadata", {}), **read), embedding)


def chunk_to_dict(chunk: Chunk, *, embedding: bool = True) -> dict[str, Any]:
    """Return a chunk as a JSON-ready object: what is not set is left out.

    Parameters
    ----------
    chunk : custom metadata must itself be JSON-ready; tuples in it become lists
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
        "metadata": with_lists(where.custom_metadata) or None,
        "timestamp": where.timestamp,
        "chunk_count": where.chunk_count,
        "scope": where.scope,
        "links": [list(link) for link in where.links] or None,
        "prefix": where.prefix,
        "embedding": None if vector is None else np.asarray(vector, dtype=np.float64).tolist(),
    }
    return {key: value for key, value in record.items() if value is not None}


def check_keys(record: Mapping[str, Any], known: tuple[str, ...], error: type[RetrivexError]) -> dict[str, Any]:
    """Return the keys that have a value; an unknown key is an error that names the known ones."""
    unknown = sorted(set(record) - set(known))
    if unknown:
        meant = list(dict.fromkeys(name for name in (closest_name(key, known) for key in unknown) if name))
        hint = f"did you mean {', '.join(meant)}? " if meant else ""
        raise error(
            f"unknown {'key' if len(unknown) == 1 else 'keys'} {', '.join(map(repr, unknown))}: {hint}the known ones "
            f"are {', '.join(known)}; put anything else into metadata"
        )
    return {key: value for key, value in record.items() if value is not None}


def require(fields: Mapping[str, Any], key: str, error: type[RetrivexError]) -> Any:
    """Return the value of a key that must be there."""
    if key not in fields:
        raise error(f"{key} is missing: every line needs it; got {', '.join(fields) or 'no keys'}")
    return fields[key]


def string(fields: Mapping[str, Any], key: str, error: type[RetrivexError]) -> str:
    """Return a string that must be there, and that UTF-8 can write."""
    return as_text(require(fields, key, error), key, error)


def optional_string(fields: Mapping[str, Any], key: str, error: type[RetrivexError]) -> str | None:
    """Return a string that UTF-8 can write, or None where there is none."""
    return as_text(fields[key], key, error) if key in fields else None


def as_string(value: Any, key: str, error: type[RetrivexError]) -> str:
    """Return `value` if it is a string."""
    if not isinstance(value, str):
        raise error(f"{key} is {value!r}: it must be a string; put it in quotes")
    return value


def as_text(value: Any, key: str, error: type[RetrivexError]) -> str:
    """Return `value` if it is a string that UTF-8 can write."""
    text = as_string(value, key, error)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as broken:
        raise error(
            f"{key} has half a surrogate pair at {broken.start}, which is no character; replace it by U+FFFD"
        ) from broken
    return text


def integer(value: Any, key: str, error: type[RetrivexError]) -> int:
    """Return `value` if it is a whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise error(f"{key} is {value!r}: it must be a whole number")
    return value


def number(fields: Mapping[str, Any], key: str, error: type[RetrivexError]) -> float | None:
    """Return a finite number, or None where there is none."""
    return as_number(fields[key], key, error) if key in fields else None


def as_number(value: Any, key: str, error: type[RetrivexError]) -> float:
    """Return `value` if it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not is_finite(value):
        raise error(f"{key} is {value!r}: it must be a finite number; give Unix seconds")
    return float(value)


def is_finite(value: float) -> bool:
    """Whether a number is finite, and small enough to be a float."""
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no float can hold
        return False


def mapping(fields: Mapping[str, Any], key: str, error: type[RetrivexError]) -> dict[str, Any]:
    """Return an object; an empty one where there is none."""
    return as_mapping(fields.get(key, {}), key, error)


def as_mapping(value: Any, key: str, error: type[RetrivexError]) -> dict[str, Any]:
    """Return `value` if it is an object."""
    if not isinstance(value, dict):
        raise error(f"{key} is {value!r}: it must be an object")
    return value


def listing(value: Any, key: str, error: type[RetrivexError]) -> list[Any] | tuple[Any, ...]:
    """Return `value` if it is a list."""
    if not isinstance(value, list | tuple):
        raise error(f"{key} is {value!r}: it must be a list")
    return value


def check_types(made: Any, where: str) -> None:
    """Make sure that a dataclass that was read from JSON, and all within it, has values of the types that it declares.

    Parameters
    ----------
    made : the dataclass; a chunk in it was checked when it was made
    where : its name in messages

    Raises
    ------
    RetrivexError
        If a value is of another type, or a number is not finite. The message names its place.
    """
    kind: type = type(made)
    for name, hint in _types_of(kind).items():
        value = getattr(made, name)
        if not fits(value, hint, f"{where}.{name}"):
            kind_name = str(hint).replace("typing.", "") if get_args(hint) else getattr(hint, "__name__", hint)
            raise RetrivexError(f"{where}.{name} is {value!r}: it must be {kind_name}")


@cache
def _types_of(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields_of(kind)}


def fits(value: Any, hint: Any, where: str) -> bool:
    """Whether a value is of a type; a dataclass in it that is not well formed raises."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(fits(value, part, where) for part in parts)
    if origin is Literal:
        return isinstance(value, str) and value in parts
    if origin in (list, tuple):
        if not isinstance(value, origin):
            return False
        kinds = parts if origin is tuple and ... not in parts else (parts[0],) * len(value)
        return len(kinds) == len(value) and all(map(fits, value, kinds, (f"{where}[{n}]" for n in range(len(kinds)))))
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and is_finite(value)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    kind: type = origin or hint
    if not isinstance(value, kind):
        return False
    if is_dataclass(value) and not isinstance(value, Chunk):
        check_types(value, where)
    return True


def _strings(value: Any, key: str, error: type[RetrivexError]) -> tuple[str, ...]:
    return tuple(as_string(item, key, error) for item in listing(value, key, error))


def _links(value: Any, key: str, error: type[RetrivexError]) -> tuple[tuple[str, int], ...]:
    links = listing(value, key, error)
    if not all(isinstance(link, list | tuple) and len(link) == 2 for link in links):
        raise error(f"{key} is {value!r}: it must be a list of [doc_id, chunk_id]")
    return tuple((as_string(doc, key, error), _position(chunk, key, error)) for doc, chunk in links)


def _position(value: Any, key: str, error: type[RetrivexError]) -> int:
    chunk_id = parse_whole_number(value)
    if isinstance(chunk_id, str):
        raise error(
            f"{key} is {chunk_id!r}: it must be a whole number; number the chunks of a document 0, 1, 2, ... and keep "
            "an id of your own in metadata"
        )
    return integer(chunk_id, key, error)


def _embedding(value: Any, key: str, error: type[RetrivexError]) -> list[float]:
    numbers = listing(value, key, error)
    bad = [n for n in numbers if isinstance(n, bool) or not isinstance(n, int | float) or not is_finite(n)]
    if bad or not numbers:
        raise error(f"{key} has {bad[0] if bad else 'no numbers'!r}: it must be a list of finite numbers")
    return [float(n) for n in numbers]


_READERS: Mapping[str, Callable[[Any, str, type[RetrivexError]], Any]] = {
    "doc_id": as_string,
    "chunk_id": _position,
    "text": as_string,
    "char_start": integer,
    "char_end": integer,
    "heading_path": _strings,
    "page": integer,
    "parent_id": as_string,
    "metadata": as_mapping,
    "timestamp": as_number,
    "chunk_count": integer,
    "scope": as_string,
    "links": _links,
    "prefix": as_string,
    "embedding": _embedding,
}
"""What reads each key of a chunk's object."""

_NEEDED = ("doc_id", "chunk_id", "text")

CHUNK_KEYS = tuple(_READERS)
"""Keys of a chunk's object; `metadata` holds what `ChunkMetadata.custom_metadata` does."""
