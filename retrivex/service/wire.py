"""JSON on the wire: strict in what it reads, and able to write whatever an answer holds."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from retrivex.composer.requests import RequestError
from retrivex.model.serialization import escape_halves
from retrivex.service.errors import LimitError, SyntaxProblemError

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


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


def write_json(value: Any, most: int | None = None) -> bytes:
    """Return a value as JSON in UTF-8.

    Parameters
    ----------
    value : plain JSON types
    most : bytes of an answer; None does not limit

    Raises
    ------
    RequestError
        If JSON has no form for it: an infinite number that came in as 1e999.
    LimitError
        If it is longer.

    Examples
    --------
    >>> write_json({"spans": [{"text": "Bees sleep."}], "tokens": 3})
    b'{"spans":[{"text":"Bees sleep."}],"tokens":3}'
    """
    try:
        body = escape_halves(_ENCODER.encode(value)).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise RequestError(f"the answer cannot be written as JSON: {error}; send finite numbers") from error
    if most is not None and len(body) > most:
        raise LimitError(
            f"the answer has more than {most:,} bytes, the limit: ask for fewer hits or a smaller budget, without the "
            "trace, or for a shorter part or page"
        )
    return body


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
