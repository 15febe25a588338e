"""Orders passages by their timestamps."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from numbers import Real
from typing import Any, Literal, TypeAlias, TypeVar

from retrivex.errors import OrderingError, quoted
from retrivex.model.fields import Field, list_items, read_values
from retrivex.model.numbers import number_of
from retrivex.ordering.ranking import check_scores

T = TypeVar("T")

TimeOrder: TypeAlias = Literal["asc", "desc"]
"""Oldest first, or newest first."""


def chronological(
    items: Iterable[T],
    *,
    ranked: bool = False,
    score: Field = "score",
    timestamp: Field = "timestamp",
    order: TimeOrder = "asc",
) -> list[T]:
    """Oldest first, or newest first with `order="desc"`; equal times by score.

    Parameters
    ----------
    items, ranked, score : as in `score_desc`; with `ranked`, equal times keep the order given
    timestamp : reads a number (Unix seconds, or any other that grows with time) or a `datetime`, without a zone UTC;
        items without one (None or NaN) come last, in the order given
    order : asc or desc

    Raises
    ------
    OrderingError
        If a score is missing, no number, NaN or infinite, a timestamp is of another type, or `order` another word.

    Examples
    --------
    >>> chronological([3.0, 1.0, 2.0], ranked=True, timestamp=float, order="desc")
    [3.0, 2.0, 1.0]
    """
    if not isinstance(order, str) or order not in ("asc", "desc"):
        raise OrderingError(f"order is {quoted(order)}: it must be 'asc', oldest first, or 'desc', newest first")
    items = list_items(items)
    times = [_to_seconds(value) for value in read_values(items, timestamp, "timestamp")]
    places = range(len(times))
    by_score = places if ranked else sorted(places, key=check_scores(items, score).__getitem__, reverse=True)
    dated = sorted((i for i in by_score if times[i] is not None), key=times.__getitem__, reverse=order == "desc")
    return [items[i] for i in [*dated, *(i for i in places if times[i] is None)]]


def may_be_time(value: Any) -> bool:
    """Whether `chronological` can do with a value: a time, or what says that there is none, as None or NaN."""
    return value is None or isinstance(value, (Real, datetime))


def is_time(value: Any) -> bool:
    """Whether a value is a time."""
    return may_be_time(value) and _to_seconds(value) is not None


def _to_seconds(value: Any) -> Any:
    """Return what sorts by time; None where there is nothing."""
    if type(value) is int:
        return value
    if isinstance(value, datetime):
        return number_of((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())  # pandas' NaT is NaN
    if may_be_time(value):
        return number_of(value)
    raise OrderingError(f"timestamp is {quoted(value)}: it must be a number that grows with time, a datetime, or None")
