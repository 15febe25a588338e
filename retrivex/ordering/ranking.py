"""Orders by score alone: best first, best last, or the order given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from operator import attrgetter
from typing import Any, TypeVar

from retrivex.errors import OrderingError, quoted
from retrivex.model.fields import Field, list_items, make_reader, read_named
from retrivex.model.numbers import all_finite, real

T = TypeVar("T")

_OWN_SCORE = attrgetter("score")


def score_desc(items: Iterable[T], *, ranked: bool = False, score: Field = "score") -> list[T]:
    """Best first; items with equal scores keep their order.

    Parameters
    ----------
    items : objects or dictionaries with a `score`, or what `score` understands; a generator is read once
    ranked : the caller says that they are sorted already, best first; scores are not read
    score : reads an item's score, any finite number; a name or a callable

    Raises
    ------
    OrderingError
        If a score is missing, no number, NaN or infinite.

    Examples
    --------
    >>> score_desc([{"id": "a", "score": 0.2}, {"id": "b", "score": 0.9}])
    [{'id': 'b', 'score': 0.9}, {'id': 'a', 'score': 0.2}]
    """
    items = items if type(items) is list else list_items(items)
    if ranked:
        return list(items)
    # the fastest reader there is, as it never enters Python code
    quick = _OWN_SCORE if score == "score" else score
    if callable(quick) and all_finite(map(quick, items)):
        return sorted(items, key=quick, reverse=True)
    scores = check_scores(items, score)
    return [items[i] for i in sorted(range(len(items)), key=scores.__getitem__, reverse=True)]


def best_last(items: Iterable[T], *, ranked: bool = False, score: Field = "score") -> list[T]:
    """Best last, next to the question: the reverse of `score_desc`, with the same parameters and errors.

    Examples
    --------
    >>> best_last([0.9, 0.5, 0.7], score=float)
    [0.5, 0.7, 0.9]
    """
    return score_desc(items, ranked=ranked, score=score)[::-1]


def front_first(items: Iterable[T]) -> list[T]:
    """Return the order given."""
    return list(list_items(items))


def back_first(items: Iterable[T]) -> list[T]:
    """Return the order given, reversed: what stood first comes last, next to the question."""
    return list(list_items(items))[::-1]


def check_scores(items: Sequence[Any], score: Field) -> list[Any]:
    """Return the scores of `items`, read by `score`.

    Raises
    ------
    OrderingError
        If one is missing, no number, NaN or infinite.
    """
    try:
        scores = read_named(items, score) if isinstance(score, str) else list(map(score, items))
        total = sum(scores, 0.0)  # see `all_finite`
        finite = isfinite(total if isinstance(total, float) else real(total))
    except Exception:  # noqa: BLE001 - a reader of the caller's may raise anything; item by item says it
        finite = False
    if finite:
        return scores
    read = make_reader(score)
    return [_check_score(item, read) for item in items]


def _check_score(item: Any, read: Callable[[Any], Any]) -> Any:
    hint = "name the field, score='similarity', or pass score=callable"
    try:
        value = read(item)
    except Exception as error:  # whatever a reader of the caller's raises
        raise OrderingError(f"no score in {quoted(item)}: {quoted(error, 200)}; {hint}") from error
    if value is None:
        raise OrderingError(f"no score in {quoted(item)}: it must be a finite number; leave such items out, or {hint}")
    try:
        finite = not isinstance(value, str) and isfinite(real(value))
    except (TypeError, ValueError, OverflowError):
        finite = False
    if not finite:
        raise OrderingError(
            f"score of {quoted(item)} is {quoted(value)}: it must be a finite number; leave such items out"
        )
    return value
