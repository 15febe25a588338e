"""Best first, best last, or the order given."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from retrivex.errors import OrderingError
from retrivex.ordering.fields import Field, reader, score_of

T = TypeVar("T")

_NO_NUMBER = (AttributeError, TypeError, OverflowError, ValueError)


def score_desc(items: Sequence[T], *, ranked: bool = False, score: Field = score_of) -> list[T]:
    """Best first; items with equal scores keep their order.

    Parameters
    ----------
    items : anything with a `score`, or what `score` understands
    ranked : the caller says that they are sorted already, best first; scores are not read
    score : reads an item's score, any finite number; a name or a callable

    Raises
    ------
    OrderingError
        If a score is missing, no number, NaN or infinite.

    Examples
    --------
    >>> score_desc([{"id": "a", "score": 0.2}, {"id": "b", "score": 0.9}], score="score")
    [{'id': 'b', 'score': 0.9}, {'id': 'a', 'score': 0.2}]
    """
    if ranked:
        return list(items)
    read = score if callable(score) else reader(score)
    try:
        # one sum in C in place of a test for each: it is finite wherever there is neither NaN nor infinity, unless it
        # overflows, so that the slow way decides
        finite = math.isfinite(sum(map(read, items)))
    except _NO_NUMBER:
        finite = False
    if not finite:
        check_scores(items, read)
    return sorted(items, key=read, reverse=True)


def best_last(items: Sequence[T], *, ranked: bool = False, score: Field = score_of) -> list[T]:
    """Best last, next to the question: the reverse of `score_desc`, with the same parameters and errors.

    Examples
    --------
    >>> best_last([0.9, 0.5, 0.7], score=float)
    [0.5, 0.7, 0.9]
    """
    return score_desc(items, ranked=ranked, score=score)[::-1]


def front_first(items: Sequence[T]) -> list[T]:
    """Return the order given."""
    return list(items)


def back_first(items: Sequence[T]) -> list[T]:
    """Return the order given, reversed: what stood first comes last, next to the question."""
    return list(items)[::-1]


def check_scores(items: Sequence[Any], read: Callable[[Any], Any]) -> list[Any]:
    """Return the scores of `items`.

    Raises
    ------
    OrderingError
        If one is missing, no number, NaN or infinite.
    """
    try:
        scores = list(map(read, items))
        finite = math.isfinite(sum(scores))
    except _NO_NUMBER:
        finite = False
    return scores if finite else [_checked(item, read) for item in items]


def _checked(item: Any, read: Callable[[Any], Any]) -> Any:
    try:
        value = read(item)
        if not isinstance(value, str) and math.isfinite(value):
            return value
    except AttributeError as error:
        raise OrderingError(
            f"no score in {item!r:.80}: {error}; name the field, score='similarity', or pass score=callable"
        ) from error
    except (TypeError, OverflowError):
        pass
    raise OrderingError(f"score of {item!r:.80} is {value!r}: it must be a finite number; leave such items out")
