"""Filters with the question: the vocabulary of the embedded store, translated for another and checked on its hits.

A translation finds at least what fits, in the store's own language. What a store cannot be asked is left to the check,
which has the embedded store's meaning: `retrivex.stores.Where`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from numbers import Number
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from retrivex.model.chunk import Chunk
from retrivex.model.numbers import number_of
from retrivex.stores.sqlite.filters import Where, compile_where

from .documents import Passage
from .fields import FieldMap, look_up_path, whole_digits

T = TypeVar("T")

Value: TypeAlias = str | int | float
_TEXTS, _NUMBERS = ("doc_id", "source"), ("page", "timestamp")  # fields that hold one kind alone
_WITHOUT_TRUTHS = (*_TEXTS, *_NUMBERS, "heading")
_PREFIX = "metadata."


@dataclass(frozen=True, slots=True)
class FieldTest:
    """What the value of one field must be: one of `values`, within `bounds`, or a beginning with `titles`.

    Parameters
    ----------
    field : as `Where` names it
    values : any of these; truth values are numbers
    missing : whether a record without the field fits as well
    bounds : values by operator, all texts or all numbers
    titles : of `heading`
    """

    field: str
    values: tuple[Value, ...] = ()
    missing: bool = False
    bounds: Mapping[str, Value] | None = None
    titles: tuple[str, ...] = ()

    def fits(self, value: Any) -> bool:
        """Say whether a record with this value fits; a list does by any of its items."""
        if self.titles:
            return tuple(value or ())[: len(self.titles)] == self.titles
        if isinstance(value, (list, tuple)):
            return any(map(self._fits, value))
        return not isinstance(value, Mapping) and self._fits(value)

    def _fits(self, value: Any) -> bool:
        if value is None or isinstance(value, (list, tuple, Mapping)):
            return value is None and self.missing
        value = value.isoformat() if isinstance(value, date) else value
        if self.bounds is None or not isinstance(value, (str, Number)):
            return value in self.values
        is_text = isinstance(value, str)
        return all(isinstance(bound, str) == is_text and _HOLDS[op](value, bound) for op, bound in self.bounds.items())

    @property
    def texts(self) -> list[str]:
        """Those values that are texts; digits for the number of a page, which some keep as text."""
        if self.field == "page":
            return [str(value) for value in self.numbers if isinstance(value, int)]
        return [value for value in self.values if isinstance(value, str)]

    @property
    def numbers(self) -> list[int | float]:
        """Those values that are numbers; also for a document's name of digits, which some keep as a number."""
        if self.field in _TEXTS:
            return [int(text) for text in self.texts if whole_digits(text) and int(text) < 2**63]
        return [int(value) if value == int(value) else value for value in self.values if not isinstance(value, str)]

    @property
    def truths(self) -> list[bool]:
        """The truth values that fit: they count as 1 and 0."""
        return [truth for truth in (True, False) if self.field not in _WITHOUT_TRUTHS and self.fits(truth)]

    @property
    def is_of_texts(self) -> bool:
        """Whether bounds are texts."""
        return any(isinstance(bound, str) for bound in (self.bounds or {}).values())

    @property
    def is_rounded(self) -> bool:
        """Whether it names a number beyond 2**53, where a double holds only some of the whole ones."""
        given = (*self.values, *(self.bounds or {}).values())
        return any(abs(one) > 2**53 for one in given if not isinstance(one, str))

    @property
    def loosened(self) -> dict[str, float]:
        """Bounds for numbers that a store rounds: the next numbers outwards fit as well."""
        sides = [(_SIDES[op], float(bound)) for op, bound in (self.bounds or {}).items()]
        return {"min" if side < 0 else "max": math.nextafter(bound, side) for side, bound in sides}

    def names(self, fields: FieldMap) -> tuple[str, ...]:
        """Return the names of the field, the first one to be asked, without the root that they lie under."""
        if self.field == "heading":
            return fields.heading_path
        known = self.field in ("doc_id", *_NUMBERS)
        return getattr(fields, self.field) if known else (self.field.removeprefix(_PREFIX),)

    def paths(self, fields: FieldMap) -> tuple[str, ...]:
        """Return the same under their root."""
        names = self.names(fields)
        return names if fields.root is None else tuple(f"{fields.root}.{name}" for name in names)


ROUNDED: Mapping[str, Any] = {"min": math.ceil, "max": math.floor, "above": math.floor, "below": math.ceil}
"""What makes a bound a whole number, for fields that hold no others."""

_SIDES = {"min": -math.inf, "above": -math.inf, "max": math.inf, "below": math.inf}

OUTWARDS: Mapping[str, Any] = {"min": math.floor, "max": math.ceil, "above": math.floor, "below": math.ceil}
"""What makes a bound a whole number that lets through what the bound does."""

SQL_TESTS = {
    "min": "{0} >= {1}", "max": "{0} <= {1}", "above": "{0} > {1}", "below": "{0} < {1}",
    "contains": "strpos({0}, {1}) > 0", "starts": "starts_with({0}, {1})", "ends": "right({0}, length({1})) = {1}",
}  # fmt: skip
"""Operators in SQL, of a value and a bound."""

_HOLDS: Mapping[str, Any] = {
    "min": lambda value, bound: value >= bound,
    "max": lambda value, bound: value <= bound,
    "above": lambda value, bound: value > bound,
    "below": lambda value, bound: value < bound,
    "contains": lambda value, bound: bound in value,
    "starts": str.startswith,
    "ends": str.endswith,
}


@dataclass(frozen=True, slots=True)
class Group:
    """Conditions that must hold together, or one of them, or (`not`) that do not hold together."""

    kind: Literal["all", "any", "not"]
    parts: tuple[Group | FieldTest, ...]


def read_where(where: Where | None) -> Group | None:
    """Return a filter, read; None where there is none.

    Raises
    ------
    StoreError
        As of the embedded store.

    Examples
    --------
    >>> read_where({"page": [3, None]})
    Group(kind='all', parts=(FieldTest(field='page', values=(3,), missing=True, bounds=None, titles=()),))
    """
    compile_where(where)  # one rule for bad input
    return None if not where else _group("all", where)


def _group(kind: Literal["all", "any", "not"], where: Mapping[str, Any]) -> Group:
    parts: list[Group | FieldTest] = []
    for field, wanted in where.items():
        if field == "not":
            parts.append(_group("not", wanted))
        elif field in ("all", "any"):
            parts.append(Group("all" if field == "all" else "any", tuple(_group("all", one) for one in wanted)))
        else:
            parts.append(_test(field, wanted))
    return Group(kind, tuple(parts))


def _test(field: str, wanted: Any) -> FieldTest:
    if field == "heading":
        return FieldTest(field, titles=(wanted,) if isinstance(wanted, str) else tuple(wanted))
    if isinstance(wanted, Mapping):
        return FieldTest(field, bounds={op: one + 0 if isinstance(one, bool) else one for op, one in wanted.items()})
    given = wanted if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
    values = [_of_kind(field, value) for value in given if value is not None]
    return FieldTest(field, tuple(value for value in values if value is not None), None in given)


def _of_kind(field: str, value: Any) -> Value | None:
    """Return a value as the field holds it, as SQLite compares them; None where it never does."""
    if field in _TEXTS and not isinstance(value, str):
        return str(int(value) if isinstance(value, bool) else value)
    made: Value | None = number_of(value) if field in _NUMBERS else value
    return made


def fits(part: Group | FieldTest, passage: Passage, chunk: Chunk) -> bool:
    """Say whether a record fits; `chunk` is what was made of `passage`."""
    if isinstance(part, FieldTest):
        return part.fits(_value(part.field, passage, chunk))
    each = (fits(inner, passage, chunk) for inner in part.parts)
    return any(each) if part.kind == "any" else all(each) == (part.kind == "all")


def _value(field: str, passage: Passage, chunk: Chunk) -> Any:
    match field:
        case "doc_id":
            return passage.doc_id
        case "page" | "timestamp":
            return getattr(chunk.metadata, field)
        case "heading":
            return chunk.metadata.heading_path
    found = look_up_path(passage.metadata, field.removeprefix(_PREFIX))
    if found is None:  # metadata of a chunk's own may lie in a mapping, or in JSON, of that name
        found = look_up_path(passage.metadata, field)
    return str(found) if field == "source" and isinstance(found, int) else found


# ---- translation


class Pushed(NamedTuple, Generic[T]):
    """A condition in the language of a store: None stands for all records; it may find more if it is not `exact`."""

    condition: T | None
    exact: bool = True


class Dialect(Generic[T]):
    """The language of a store's filters."""

    def test(self, test: FieldTest) -> Pushed[T]:
        """Translate one test; what the store cannot be asked is `Pushed(None, False)`."""
        raise NotImplementedError  # what a subclass must say

    def any_of(self, conditions: Sequence[T]) -> T:
        """Join conditions of which one must hold."""
        raise NotImplementedError

    def all_of(self, conditions: Sequence[T]) -> T:
        """Join conditions that must hold together."""
        raise NotImplementedError

    def negate(self, condition: T) -> T | None:
        """Return the condition that another one does not hold, also where its field is missing; None: there is none."""
        return None

    def translate(self, part: Group | FieldTest | None) -> T | None:
        """Return a condition that all records hold that fit; None where it is all records."""
        return None if part is None else self._push(part).condition

    def _push(self, part: Group | FieldTest) -> Pushed[T]:
        if isinstance(part, FieldTest):
            return self.test(part)
        pushed = [self._push(inner) for inner in part.parts]
        known = [each.condition for each in pushed if each.condition is not None]
        exact = all(each.exact for each in pushed)
        if part.kind == "any":
            whole = len(known) == len(pushed)
            return Pushed(self.any_of(known), exact) if whole else Pushed(None, False)
        together = self.all_of(known) if known else None
        if part.kind == "all":
            return Pushed(together, exact)
        negated = self.negate(together) if exact and together is not None else None
        return Pushed(negated, negated is not None)
