"""Orders by a key or comparison of the caller's, and at random, as the control."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from functools import cmp_to_key, lru_cache
from numbers import Integral
from typing import Any, TypeVar

from retrivex.errors import OrderingError, quoted
from retrivex.model.fields import list_items, read_values

T = TypeVar("T")

MAX_CACHED_ITEMS = 1_000
"""Up to so many items the order of a seed is kept: a seeded generator takes longer to make than to use."""


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
        or no number; NaN, which is neither above nor below anything, is none.

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
        keys: list[Any] = list(map(cmp_to_key(_make_sign(compare)), items))
        rule = "compare must return a number for every two items"
    else:
        keys, rule = read_values(items, "" if key is None else key, "key"), "keys must be of one comparable type"
    try:
        places = sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
        if compare is None:
            _check_keys(keys)
    except Exception as error:  # the caller's comparison, in `compare` or in the keys, may raise anything
        raise OrderingError(f"items cannot be compared: {quoted(error, 200)}; {rule}") from error
    return [items[place] for place in places]


def _check_keys(keys: Iterable[Any]) -> None:
    """Refuse what equals not even itself, as NaN: sorting would leave it, and others, wherever they stand."""
    for key in keys:
        if isinstance(key, (tuple, list)):
            _check_keys(key)
        elif key != key:
            raise ValueError(f"a key is {quoted(key)}")


def _make_sign(compare: Callable[[T, T], float]) -> Callable[[T, T], int]:
    def sign(a: T, b: T) -> int:
        difference = compare(a, b)
        if difference != difference:
            raise ValueError(f"compare gave {quoted(difference)}")
        return (difference > 0) - (difference < 0)

    return sign


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
    items = list_items(items)
    places = _shuffle_cached if len(items) <= MAX_CACHED_ITEMS else _shuffle_places
    return [items[place] for place in places(len(items), int(seed))]


def _shuffle_places(count: int, seed: int) -> list[int]:
    made = list(range(count))
    random.Random(seed).shuffle(made)
    return made


_shuffle_cached = lru_cache(maxsize=64)(_shuffle_places)
