"""Checks of the fields of records: the right type, or one clear error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retrivex.errors import LoadError
from retrivex.model.serialization import as_text, listing, string


def words_of(fields: Mapping[str, Any], key: str) -> str:
    """Return a text that is not blank.

    Raises
    ------
    LoadError
        If it is missing, no text, or blank.
    """
    text = string(fields, key, LoadError)
    if not text.strip():
        raise LoadError(f"{key} is blank: it must hold words")
    return text


def strings_of(fields: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return the different texts of a list, in their order, without blank ones; a single text is a list of one.

    Raises
    ------
    LoadError
        If it is neither.

    Examples
    --------
    >>> strings_of({"answers": ["Bonn", "", "Bonn"]}, "answers")
    ('Bonn',)
    """
    value = fields.get(key)
    given = [] if value is None else [value] if isinstance(value, str) else listing(value, key, LoadError)
    texts = [as_text(text, key, LoadError).strip() for text in given]
    return tuple(dict.fromkeys(text for text in texts if text))


def list_of(fields: Mapping[str, Any], key: str) -> list[Any]:
    """Return a list that has to be there.

    Raises
    ------
    LoadError
        If it is missing or no list.
    """
    if key not in fields:
        raise LoadError(f"{key} is missing: got {', '.join(map(str, fields)) or 'no keys'}")
    return list(listing(fields[key], key, LoadError))


def object_of(value: Any, key: str) -> Mapping[str, Any]:
    """Return an object.

    Raises
    ------
    LoadError
        If it is none.
    """
    if not isinstance(value, Mapping):
        raise LoadError(f"{key} is {value!r}: it must be an object")
    return value
