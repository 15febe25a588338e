"""Orders of the caller's own, and the control: none at all."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from functools import cmp_to_key
from typing import Any, TypeVar

from retrivex.errors import OrderingError, quoted
from retrivex.ordering.fields import listed, values_of

T = TypeVar("T")


def custom(
    items: Iterable[T],
    *,
    key: Callable[[T], Any] | None = None,
    compare: Callable[[T, T], float] | None = None,
    reverse: bool = False,
) -> list[T]:
    """Sort by a key or a comparator of the caller's; equal items keep their order.

    Parameters
    ----------
    items : anything
    key : item -> something that can be compared
    compare : (a, b) -> below 0 where a comes first, above 0 where b does, 0 where they are equal
    reverse : turn the order round

    Raises
    ------
    OrderingError
        If not exactly one of `key` and `compare` is given, or it fails: raises, gives values that cannot be compared,
        or no number.

    Examples
    --------
    >>> custom(["ccc", "a", "bb"], key=len)
    ['a', 'bb', 'ccc']
    >>> custom(["ccc", "a", "bb"], compare=lambda a, b: len(b) - len(a))
    ['ccc', 'bb', 'a']
    """
    if (key is None) == (compare is None):
        raise OrderingError("custom needs either key=item -> value or compare=(a, b) -> number: give one of the two")
    items = listed(items)
    keys: list[Any] = list(map(cmp_to_key(_sign(compare)), items)) if compare else values_of(items, key or "", "key")
    try:
        places = sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
    except Exception as error:  # the caller's comparison, in `compare` or in the keys, may raise anything
        given = "compare must return a number for every two items" if compare else "keys must be of one comparable type"
        raise OrderingError(f"items cannot be compared: {quoted(error, 200)}; {given}") from error
    return [items[place] for place in places]


def _sign(compare: Callable[[T, T], float]) -> Callable[[T, T], int]:
    def sign(a: T, b: T) -> int:
        difference = compare(a, b)
        return (difference > 0) - (difference < 0)

    return sign


def shuffle(items: Iterable[T], *, seed: int = 0) -> list[T]:
    """Put the items at random: the control that other orders have to beat.

    Examples
    --------
    >>> shuffle(range(5), seed=1) == shuffle(range(5), seed=1)
    True
    """
    made = list(listed(items))
    random.Random(seed).shuffle(made)
    return made
