"""What callers' passages are made of: plain texts, seed hits, dictionaries or objects, read field by field."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, TypeVar

from retrivex.errors import PassageError, quoted
from retrivex.model.hit import SeedHit
from retrivex.model.readers import Field, reader

T = TypeVar("T")

_OF_HIT: dict[str, Callable[[SeedHit], Any]] = {
    "text": lambda hit: hit.chunk.text,
    "score": lambda hit: hit.similarity_score,
    "source_id": lambda hit: hit.chunk.metadata.doc_id,
    "embedding": lambda hit: hit.chunk.embedding,
}


def as_list(passages: Iterable[T]) -> list[T]:
    """Return the passages as a list.

    Raises
    ------
    PassageError
        If they are one text, one passage, or no collection.
    """
    try:
        given = None if isinstance(passages, (str, bytes, Mapping)) else iter(passages)
    except TypeError:
        given = None
    if given is None:
        raise PassageError(f"passages is {type(passages).__name__}: give a list of passages")
    return list(given)


def values_of(passages: Sequence[Any], field: Field) -> list[Any]:
    """Return what each passage holds in a field; None where it lacks it.

    Raises
    ------
    PassageError
        If the caller's reader fails.

    Examples
    --------
    >>> values_of([{"page": 3}, {"metadata": {"page": 4}}, {}], "page")
    [3, 4, None]
    """
    read = reader(field)
    of_hit = _OF_HIT.get(field, read) if isinstance(field, str) else read
    values: list[Any] = []
    try:
        for passage in passages:
            values.append(of_hit(passage) if isinstance(passage, SeedHit) else read(passage))
    except Exception as error:  # a callable of the caller's may raise anything
        raise PassageError(
            f"{quoted(field)} of passage {len(values)} cannot be read: {quoted(error, 200)}; a reader must return a "
            "value for every passage, None where there is none"
        ) from error
    return values


def texts_of(passages: Sequence[Any], field: Field) -> list[str]:
    """Return the text of each passage; a plain text is its own.

    Raises
    ------
    PassageError
        If one has none.
    """
    texts = [
        passage if isinstance(passage, str) else found
        for passage, found in zip(passages, values_of(passages, field), strict=True)
    ]
    for position, found in enumerate(texts):
        if not isinstance(found, str):
            raise PassageError(
                f"passage {position} has {quoted(found)} as its text: it must be a str; name the field that holds it, "
                "as in text='page_content', or give a function that reads it"
            )
    return texts


def scores_of(passages: Sequence[Any], field: Field) -> list[float]:
    """Return the score of each passage; plain texts have none and count the same.

    Raises
    ------
    PassageError
        If one is no finite number.
    """
    found = values_of(passages, field)
    return [
        0.0 if isinstance(passage, str) else _finite(position, value)
        for position, (passage, value) in enumerate(zip(passages, found, strict=True))
    ]


def _finite(position: int, found: Any) -> float:
    try:
        value = math.nan if isinstance(found, bool) or not isinstance(found, Real) else float(found)
    except OverflowError:  # a whole number that no float can hold, too long to be shown
        found = value = math.inf
    if not math.isfinite(value):
        raise PassageError(
            f"passage {position} has {quoted(found)} as its score: it must be a finite number; name the field that "
            "holds it, as in score='relevance', or give a function that reads it"
        )
    return value
