"""JSON on the wire: strict in what it reads, and able to write whatever an answer holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn

from retrivex.composer.requests import RequestError
from retrivex.service.errors import LimitError, SyntaxProblemError

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ESCAPING = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


class Room:
    """The bytes that may be written: what is full stays full.

    Parameters
    ----------
    most : how many
    what : is written
    way_out : what to do where it is too much

    Examples
    --------
    >>> Room(8).take(9)
    Traceback (most recent call last):
    ...
    retrivex.service.errors.LimitError: the answer has more than 8 bytes, the limit: ask for less
    """

    def __init__(self, most: int, what: str = "the answer has", way_out: str = "ask for less") -> None:
        self._most = most
        self._what = what
        self._way_out = way_out
        self._taken = 0

    def take(self, size: int = 0) -> None:
        """Count bytes.

        Raises
        ------
        LimitError
            If there are more than may be.
        """
        self._taken += size
        if self._taken > self._most:
            raise LimitError(f"{self._what} more than {self._most:,} bytes, the limit: {self._way_out}")


def read_json(raw: bytes) -> dict[str, Any]:
    """Return the JSON object that a body holds.

    Raises
    ------
    SyntaxProblemError
        If it is not UTF-8, not JSON (NaN is not), or no object.

    Examples
    --------
    >>> read_json(b'{"question": "Do bees sleep?"}')
    {'question': 'Do bees sleep?'}
    """
    try:
        made = json.loads(raw.decode("utf-8"), parse_constant=_refuse)
    except UnicodeDecodeError as error:
        raise SyntaxProblemError(f"the body is not UTF-8 (byte {error.start}): send JSON as UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise SyntaxProblemError(f"the body is not JSON ({error}): send one object") from error
    if not isinstance(made, dict):
        raise SyntaxProblemError(f"the body holds a {type(made).__name__}: it must be a JSON object")
    return made


def write_json(value: Any, room: Room | None = None) -> bytes:
    """Return a value as JSON in UTF-8.

    Parameters
    ----------
    value : plain JSON types
    room : that it takes; None does not limit

    Raises
    ------
    RequestError
        If JSON has no form for it: an infinite number that came in as 1e999.
    LimitError
        If there is no room for it; then no more than that was written.

    Examples
    --------
    >>> write_json({"spans": [{"text": "Bees sleep."}], "tokens": 3})
    b'{"spans":[{"text":"Bees sleep."}],"tokens":3}'
    """
    parts: list[bytes] = []

    def add(part: bytes) -> None:
        if room is not None:
            room.take(len(part))
        parts.append(part)

    _write(value, add, apart=room is not None)
    return b"".join(parts)


def _write(value: Any, add: Callable[[bytes], None], *, apart: bool) -> None:
    """Write a value; where `apart` part by part, so that what is too long is never made whole."""
    if apart and isinstance(value, list) and any(map(_is_nested, value)):
        for number, item in enumerate(value):
            add((b"," if number else b"[") + _encode(item))
        add(b"]")
    elif apart and isinstance(value, dict) and any(map(_is_nested, value.values())) and all(map(_is_text, value)):
        before, plain = b"{", {}
        for name, item in value.items():
            if not _is_nested(item):
                plain[name] = item
                continue
            if plain:
                add(before + _encode(plain)[1:-1])
                before, plain = b",", {}
            add(before + _encode(name) + b":")
            _write(item, add, apart=True)
            before = b","
        add(before + _encode(plain)[1:] if plain else b"}")
    else:
        add(_encode(value))


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict | list) and bool(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _encode(value: Any) -> bytes:
    try:
        text = _ENCODER.encode(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise RequestError(f"the answer cannot be written as JSON: {error}; send finite numbers") from error
    try:
        return text.encode()
    except UnicodeEncodeError:
        # half a surrogate pair: only an escape can carry it
        return _ESCAPING.encode(value).encode()


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
