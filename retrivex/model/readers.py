"""Reading fields of passages, whatever they are made of: attributes, mappings, and metadata inside either."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from math import isfinite, nan
from numbers import Real
from operator import attrgetter, contains, countOf, itemgetter, length_hint
from typing import Any, TypeAlias, TypeVar

from retrivex.errors import OrderingError, quoted
from retrivex.model.numbers import real

T = TypeVar("T")

Field: TypeAlias = str | Callable[[Any], Any]
"""The name of a field, or a callable that reads it: `item -> value`."""

score_of = attrgetter("score")
"""Reads `item.score`; the fastest reader there is, as it never enters Python code."""


def reader(field: Field) -> Callable[[Any], Any]:
    """Return a callable that reads `field`: None where an item lacks it.

    A name is looked for in the item, then in its `metadata`; either may be a mapping or an object.

    Examples
    --------
    >>> reader("source_id")({"text": "Bees sleep.", "metadata": {"source_id": "bees.txt"}})
    'bees.txt'
    >>> reader("page")({"text": "Bees sleep."}) is None
    True
    """
    if callable(field):
        return field
    if not isinstance(field, str):
        raise OrderingError(f"field is {quoted(field)}: give its name, or a callable that reads it: item -> value")
    return lambda item: _look_up(item, field)


def listed(items: Iterable[T]) -> Sequence[T]:
    """Return items that can be gone through more than once: a generator is read here, and only here.

    Raises
    ------
    OrderingError
        If `items` is nothing that can be gone through.
    """
    if type(items) is list or type(items) is tuple:
        return items
    try:
        found = iter(items)
    except TypeError as error:
        raise OrderingError(f"items is {quoted(items)}: give a list, or anything else to go through") from error
    return list(found)


def quick_values(items: Sequence[Any], *fields: Field) -> Sequence[list[Any] | None]:
    """Return the values of fields where items are of a common shape; for each field None where they are not.

    All of one kind, with the field in every item itself, or in no item, dictionaries, and in the metadata of each. What
    items are made of is looked at once for all fields, and nothing in Python is called for an item. A value in an item
    may be None: `values_of` would then look in its metadata.
    """
    try:
        kind: Any = type(items[0])
        if countOf(map(type, items), kind) < len(items):
            return [None] * len(fields)
        if kind is dict:
            return _of_dictionaries(items, fields)
        return [list(map(_getter(kind, field), items)) for field in fields]
    except Exception:  # noqa: BLE001 - a class of the caller's may raise anything; `values_of` says where
        return [None] * len(fields)


def quick_reader(items: Sequence[Any], field: Field) -> Callable[[Any], Any] | None:
    """Return what reads a field that items of one kind have in themselves, never entering Python; None where unknown.

    It raises where an item lacks the field after all, and may read None, where `values_of` would look in the metadata.
    """
    try:
        first = items[0]
        kind: Any = type(first)
        if (kind is dict and field not in first) or countOf(map(type, items), kind) < len(items):
            return None
        return _getter(kind, field)
    except Exception:  # noqa: BLE001 - a class of the caller's may raise anything; `values_of` says where
        return None


def _of_dictionaries(items: Sequence[dict[Any, Any]], fields: Sequence[Field]) -> list[list[Any]]:
    first = items[0]
    metadata: list[Any] = []
    read = []
    for field in fields:
        if field in first:
            read.append(list(map(_getter(dict, field), items)))
            continue
        metadata = metadata or list(map(itemgetter("metadata"), items))
        kind: Any = type(metadata[0])
        if any(map(contains, items, repeat(field))) or countOf(map(type, metadata), kind) < len(items):
            raise LookupError(field)
        read.append(list(map(_getter(kind, field), metadata)))
    return read


@lru_cache(maxsize=256)
def _getter(kind: type, field: Field) -> Callable[[Any], Any]:
    """Return what reads a field of items of one kind and raises where it is missing."""
    if isinstance(field, str) and kind is dict:
        return itemgetter(field)
    if not isinstance(field, str) or "." in field or _is_odd(kind):  # `attrgetter` would step inside
        raise LookupError(field)
    return attrgetter(field)


def values_of(items: Sequence[Any], field: Field, what: str) -> list[Any]:
    """Return the values of a field of all items; `what` is what an error calls it.

    Raises
    ------
    OrderingError
        If the caller's reader fails.
    """
    if not isinstance(field, str):
        return _each(items, reader(field), what)
    try:
        return named(items, field)
    except Exception:  # noqa: BLE001 - a class of the caller's may raise anything; item by item says where
        return _each(items, reader(field), what)


def _each(items: Sequence[Any], read: Callable[[Any], Any], what: str) -> list[Any]:
    pending = iter(items)
    try:
        return list(map(read, pending))
    except Exception as error:  # a callable of the caller's may raise anything
        failed = items[len(items) - length_hint(pending) - 1]
        raise OrderingError(
            f"{what} of {quoted(failed)} cannot be read: {quoted(error, 200)}; its reader must return a value for "
            "every item, None where there is none"
        ) from error


def named(items: Sequence[Any], name: str) -> list[Any]:
    """Return what `reader(name)` reads of each item, of all of them at once: several times as fast."""
    own = _parts(items, name)
    if None not in own:
        return own
    inner = _parts(_parts(items, "metadata"), name)
    if own.count(None) == len(own):
        return inner
    return [deeper if value is None else value for value, deeper in zip(own, inner, strict=True)]


def _parts(items: Sequence[Any], name: str) -> list[Any]:
    """Return what `_part` reads of each item; their kind is looked at once where it is the same for all."""
    kind: type = type(items[0]) if items else dict
    if countOf(map(type, items), kind) < len(items) or _is_odd(kind):
        return [_part(item, name) for item in items]
    if kind is dict:
        return [item.get(name) for item in items]
    if "." not in name:  # `attrgetter` would step inside
        try:
            return list(map(attrgetter(name), items))
        except AttributeError:  # it is missing in one of them
            pass
    return [getattr(item, name, None) for item in items]


@lru_cache(maxsize=256)
def _is_odd(kind: type) -> bool:
    """Whether items are mappings other than dictionaries, which may make up what is missing."""
    return kind is not dict and issubclass(kind, Mapping)


def all_finite(values: Iterable[Any]) -> bool:
    """Whether values are known to be finite numbers: False leaves it to a look at each of them.

    One sum in C in place of a test for each: it is finite wherever there is neither NaN nor infinity, unless it
    overflows. It starts as a float, so that whole numbers that no float can hold do not cancel each other.
    """
    try:
        total = sum(values, 0.0)
        return isfinite(total if isinstance(total, float) else real(total))
    except Exception:  # noqa: BLE001 - a reader of the caller's, or an odd value, may raise anything
        return False


def number_of(value: Any) -> Any:
    """Return the finite number that a value is, or that a text holds; None where there is none."""
    if type(value) is int:
        return value
    if not isinstance(value, (Real, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    if not isfinite(number):
        return None
    return number if isinstance(value, str) else value


def _look_up(item: Any, name: str) -> Any:
    found = _part(item, name)
    return _part(_part(item, "metadata"), name) if found is None else found


def _part(item: Any, name: str) -> Any:
    # most mappings are dicts, and asking for the type is ten times as fast as asking for the protocol
    is_mapping = type(item) is dict or isinstance(item, Mapping)
    return item.get(name) if is_mapping else getattr(item, name, None)


def float_of(value: Any) -> float:
    """Return the finite number that a value is, as a float; NaN for everything else, texts among it."""
    try:
        return float(value) if isinstance(value, Real) and isfinite(value) else nan
    except OverflowError:
        return nan
