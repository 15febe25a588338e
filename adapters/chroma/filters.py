"""Metadata filters for Chroma."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from chromadb import base_types

from retrivex.model.window import Window

from ..base.collection import Scopes
from ..base.fields import FieldMap, whole_digits
from ..base.where import OUTWARDS, Dialect, FieldTest, Pushed

Where: TypeAlias = dict[str, Any]

_MOST_ROWS = 2000  # that one alternative may find: more rows are slower than more alternatives


def of_windows(fields: FieldMap, windows: Sequence[Window]) -> Where:
    """Return the condition that finds all chunks of windows; it may find more, which has to be left out afterwards.

    Ranges take Chroma ten times as long as lists of numbers, and time grows with the square of the alternatives. So
    windows at like places share one: their documents in a list, their numbers in another.
    """
    number = fields.chunk_id[0]
    each = [
        {"$and": [_one_of(fields.doc_id[0], documents), {number: {"$in": sorted(numbers)}}]}
        for documents, numbers in _groups(windows)
    ]
    return each[0] if len(each) == 1 else {"$or": each}


def _one_of(field: str, names: Iterable[str]) -> Where:
    """Return the condition that a field holds one of these names, which may be kept as numbers."""
    wanted = sorted(set(names))
    as_text: Where = {field: {"$in": wanted}}
    numbers = sorted(int(name) for name in wanted if whole_digits(name) and int(name) < 2**63)
    return {"$or": [as_text, {field: {"$in": numbers}}]} if numbers else as_text


def of_scopes(fields: FieldMap, scopes: Scopes) -> list[Where]:
    """Return what Chroma can be asked for: records of these scopes, but not those without a scope."""
    asks = bool(fields.scope) and None not in scopes
    return [_one_of(fields.scope[0], (scope for scope in scopes if scope is not None))] if asks else []


def all_of(conditions: Sequence[Where]) -> Where | None:
    """Return one condition; None where there is none."""
    if len(conditions) > 1:
        return {"$and": list(conditions)}
    return conditions[0] if conditions else None


class ChromaDialect(Dialect[Where]):
    """Filters of Chroma, which compares texts for equality alone, and cannot ask for what has no such field."""

    def __init__(self, fields: FieldMap) -> None:
        self._fields = fields

    def test(self, test: FieldTest) -> Pushed[Where]:
        """Translate one test."""
        name = test.names(self._fields)[0]
        if test.missing or test.titles or test.is_of_texts or not name or name[0] in "$#":
            return Pushed(None, False)
        kinds: list[list[Any]] = [test.texts, test.numbers, list(test.truths)]
        # one number in a list makes a list of fractions of it
        each = [[float(value) for value in values] if float in map(type, values) else values for values in kinds]
        either: list[Where] = [{name: {"$in": values}} for values in each if values]
        if test.bounds is not None:
            limits = [{name: {_BOUNDS[op]: OUTWARDS[op](value)}} for op, value in test.bounds.items()]
            either.append(self.all_of(limits))
        elif _KEEPS_LISTS:
            either += [{name: {"$contains": value}} for values in kinds for value in values]
        never = self.all_of([{name: {"$in": ["x"]}}, {name: {"$nin": ["x"]}}])
        # of fields that hold whole numbers, Chroma compares a fraction as if it were cut
        numbers = [*test.numbers, *(test.bounds or {}).values()]
        return Pushed(self.any_of(either or [never]), all(value == int(value) for value in numbers))

    def any_of(self, conditions: Sequence[Where]) -> Where:
        """Join conditions of which one must hold."""
        return conditions[0] if len(conditions) == 1 else {"$or": list(conditions)}

    def all_of(self, conditions: Sequence[Where]) -> Where:
        """Join conditions that must hold together."""
        return conditions[0] if len(conditions) == 1 else {"$and": list(conditions)}

    def negate(self, condition: Where) -> Where | None:
        """Return the condition that the other one does not hold."""
        # there is no `not`; what excludes values also finds records without the field
        [(name, value)] = condition.items()
        if name in _OPPOSITES:
            parts = [self.negate(part) for part in value]
            return None if None in parts else {_OPPOSITES[name]: parts}
        [(operator, operand)] = value.items()
        return {name: {_OPPOSITES[operator]: operand}} if operator in _OPPOSITES else None


_BOUNDS = {"min": "$gte", "max": "$lte", "above": "$gt", "below": "$lt"}
_OPPOSITES = {"$and": "$or", "$or": "$and", "$in": "$nin", "$nin": "$in", "$contains": "$not_contains"}


_KEEPS_LISTS = hasattr(base_types, "ArrayContainsOperator")
"""Whether this version keeps lists as metadata, and can be asked for one of their items."""


def _groups(windows: Sequence[Window]) -> list[tuple[set[str], set[int]]]:
    """Return documents and numbers which together hold all windows, and not many chunks more."""
    groups: list[tuple[set[str], set[int]]] = []
    for window in sorted(windows, key=lambda window: (window.start, window.end)):
        numbers = range(window.start, window.end)
        if groups:
            documents, known = groups[-1]
            if len(documents | {window.doc_id}) * len(known.union(numbers)) <= _MOST_ROWS:
                documents.add(window.doc_id)
                known.update(numbers)
                continue
        groups.append(({window.doc_id}, set(numbers)))
    return groups
