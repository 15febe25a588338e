"""Orders by a key or comparison of the caller's, and at random, as the control."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from functools import cmp_to_key
from numbers import Integral
from typing import Any, TypeVar

from retrivex.errors import OrderingError, quoted
from retrivex.model.fields import list_items, read_values

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
    items = list_items(items)
    if compare is not None:
        to_key = cmp_to_key(compare)  # type: ignore[arg-type]  # only the sign is asked for
        keys: list[Any] = list(map(to_key, items))
        rule = "compare must return a number for every two items"
    else:
        keys, rule = read_values(items, "" if key is None else key, "key"), "keys must be of one comparable type"
    try:
        places = sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
    except Exception as error:  # the caller's comparison, in `compare` or in the keys, may raise anything
        raise OrderingError(f"items cannot be compared: {quoted(error, 200)}; {rule}") from error
    return [items[place] for place in places]


def shuffle(items: Iterable[T], *, seed: int = 0) -> list[T]:
    """Put the items at random: the control that other orders have to beat.

    Parameters
    ----------
    items : anything
    seed : a whole number; the same one gives the same order

    Raises
    ------
    OrderingError
        If the seed is no whole number.

    Examples
    --------
    >>> shuffle(range(5), seed=1) == shuffle(range(5), seed=1)
    True
    """
    if isinstance(seed, bool) or not isinstance(seed, Integral):
        raise OrderingError(f"seed is {quoted(seed)}: it must be a whole number")
    made = list(list_items(items))
    random.Random(int(seed)).shuffle(made)
    return made
