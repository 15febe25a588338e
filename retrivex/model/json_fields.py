"""Reading the fields of a JSON object: the right type, or one clear error."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from retrivex.errors import RetrivexError


def given(record: Mapping[str, Any], known: tuple[str, ...], error: type[RetrivexError]) -> dict[str, Any]:
    """Return the keys that have a value; an unknown key is an error that names the known ones."""
    unknown = sorted(set(record) - set(known))
    if unknown:
        raise error(
            f"unknown {'key' if len(unknown) == 1 else 'keys'} {', '.join(map(repr, unknown))}: the known ones are "
            f"{', '.join(known)}; put anything else into metadata"
        )
    return {key: value for key, value in record.items() if value is not None}


def needed(fields: Mapping[str, Any], key: str, error: type[RetrivexError]) -> Any:
    """Return the value of a key that must be there."""
    if key not in fields:
        raise error(f"{key} is missing: every line needs it; got {', '.join(fields) or 'no keys'}")
    return fields[key]


def string(fields: Mapping[str, Any], key: str, error: type[RetrivexError]) -> str:
    """Return a string that must be there."""
    return as_string(needed(fields, key, error), key, error)


def optional_string(fields: Mapping[str, Any], key: str, error: type[RetrivexError]) -> str | None:
    """Return a string, or None where there is none."""
    return as_string(fields[key], key, error) if key in fields else None


def as_string(value: Any, key: str, error: type[RetrivexError]) -> str:
    """Return `value` if it is a string that UTF-8 can write."""
    if not isinstance(value, str):
        raise error(f"{key} is {value!r}: it must be a string; put it in quotes")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as broken:
        raise error(
            f"{key} has half a surrogate pair at {broken.start}, which is no character; replace it by U+FFFD"
        ) from broken
    return value


def integer(value: Any, key: str, error: type[RetrivexError]) -> int:
    """Return `value` if it is a whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise error(f"{key} is {value!r}: it must be a whole number")
    return value


def number(fields: Mapping[str, Any], key: str, error: type[RetrivexError]) -> float | None:
    """Return a finite number, or None where there is none."""
    if key not in fields:
        return None
    value = fields[key]
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
    value = fields.get(key, {})
    if not isinstance(value, dict):
        raise error(f"{key} is {value!r}: it must be an object")
    return value


def listing(value: Any, key: str, error: type[RetrivexError]) -> list[Any] | tuple[Any, ...]:
    """Return `value` if it is a list."""
    if not isinstance(value, list | tuple):
        raise error(f"{key} is {value!r}: it must be a list")
    return value
