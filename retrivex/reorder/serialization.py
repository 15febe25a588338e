"""Writes passages as JSON and reads them back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from retrivex.errors import PassageError, quoted
from retrivex.model.fields import FieldNames, as_field_names
from retrivex.model.numbers import finite
from retrivex.model.serialization import escape_halves
from retrivex.reorder.passage import Candidate, Passage
from retrivex.reorder.reading import PassageReader, Validation

_SKIP: Final = object()


def serialize_passages(
    passages: Iterable[Any],
    *,
    fields: FieldNames | Mapping[str, Any] | str | None = None,
    skip_unserializable: bool = False,
) -> str:
    """Return passages as a JSON array of objects with id, text, score, metadata and, where known, token_count.

    Parameters
    ----------
    passages : dictionaries or objects
    fields : names of their fields, or of a framework; in the JSON they are the usual ones
    skip_unserializable : leave metadata out that JSON has no form for, in place of raising

    Raises
    ------
    PassageError
        If a passage has a fault, or metadata that JSON has no form for.

    Examples
    --------
    >>> serialize_passages([Passage("1", "Bees sleep.", 0.5)])
    '[{"id": "1", "text": "Bees sleep.", "score": 0.5, "metadata": {}}]'
    """
    names = FieldNames() if fields is None else FieldNames.model_validate(as_field_names(fields))
    candidates = PassageReader[Any](names, "strict").read(passages)
    try:
        rows = [_make_row(candidate, skip_unserializable) for candidate in candidates]
        return escape_halves(json.dumps(rows, ensure_ascii=False, allow_nan=False))
    except PassageError:
        raise
    except (RecursionError, ValueError) as error:
        raise PassageError(
            "metadata of a passage are too deep for JSON, hold themselves, or too long a number: make them flat"
        ) from error


def _make_row(candidate: Candidate[Any], skip: bool) -> dict[str, Any]:
    name = _to_plain(candidate.id, f"the id of passage {candidate.place}", skip=False)
    row: dict[str, Any] = {"id": name, "text": candidate.text, "score": candidate.score}
    row["metadata"] = _to_plain(candidate.metadata, f"metadata of passage {name!r}", skip)
    if candidate.token_count is not None:
        row["token_count"] = candidate.token_count
    return row


def _to_plain(value: Any, where: str, skip: bool) -> Any:
    """Return `value` in JSON's own types, or `_SKIP`."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, Mapping):
        pairs = [(name, _to_plain(inner, f"{where}, {name!r}", skip)) for name, inner in value.items()]
        return {str(name): inner for name, inner in pairs if inner is not _SKIP}
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (bytes, bytearray)):
        inner = [_to_plain(one, where, skip) for one in value]
        return [one for one in inner if one is not _SKIP]
    number = finite(value)
    if number is not None:
        return int(value) if isinstance(value, np.integer) else number
    if skip:
        return _SKIP
    raise PassageError(
        f"{where} is {quoted(value)}: JSON has no form for a {type(value).__name__}; make it a string or a finite "
        "number, or pass skip_unserializable=True"
    )


def deserialize_passages(text: str, *, validation: Validation = "strict") -> list[Passage]:
    """Return the passages of a JSON array.

    Parameters
    ----------
    text : what `serialize_passages` wrote, or any array of objects with id, text, score and metadata
    validation : `coerce` mends what is mendable, as the reorderer does, in place of raising

    Raises
    ------
    PassageError
        If it is no JSON array, or a passage has a fault.

    Examples
    --------
    >>> deserialize_passages('[{"id": "1", "text": "Bees sleep.", "score": 0.5}]')
    [Passage(id='1', text='Bees sleep.', score=0.5, metadata={}, token_count=None)]
    """
    try:
        rows = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise PassageError(f"passages cannot be read from JSON: {error}; give what serialize_passages wrote") from error
    if not isinstance(rows, list):
        raise PassageError(f"the JSON holds a {type(rows).__name__}: it must be an array of passages")
    reader = PassageReader[Any](FieldNames(), validation)
    return [
        Passage(found.id, found.text, found.score, dict(found.metadata), found.token_count)
        for found in reader.read(rows)
    ]
