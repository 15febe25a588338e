"""Orders passages by their timestamps."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from numbers import Real
from typing import Any, Literal, TypeAlias, TypeVar

from retrivex.errors import OrderingError, quoted
from retrivex.model.fields import Field, list_items, make_quick_reader, read_quickly, read_values
from retrivex.model.numbers import all_finite, number_of
from retrivex.ordering.ranking import check_scores, is_descending, sort_best_first

T = TypeVar("T")

TimeOrder: TypeAlias = Literal["asc", "desc"]


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
    read = make_quick_reader(items, timestamp)
    if read is not None and all_finite(map(read, items)):  # all have a time: no need to know which stands where
        by_score = items if ranked else sort_best_first(items, check_scores(items, score))
        return sorted(by_score, key=read, reverse=order == "desc")  # stable: equal times stay by score
    times = read_quickly(items, timestamp)[0] if read is None else None
    all_dated = times is not None and all_finite(times)
    if times is None or not all_dated:
        times = read_values(items, timestamp, "timestamp")
        all_dated = all_finite(times)
        if not all_dated:
            times = [_to_seconds(value) for value in times]
    places: Iterable[int] = range(len(times))
    if not ranked:
        scores = check_scores(items, score)
        places = places if is_descending(scores) else sorted(places, key=scores.__getitem__, reverse=True)
    dated = places if all_dated else [i for i in places if times[i] is not None]
    ordered = sorted(dated, key=times.__getitem__, reverse=order == "desc")
    made = [items[i] for i in ordered]
    return made if all_dated else made + [item for item, time in zip(items, times, strict=True) if time is None]


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
