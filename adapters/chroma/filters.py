"""Metadata filters for Chroma, and the check of scopes that Chroma's filters cannot express."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from retrivex.adapters.base.collection import Record, Scopes
from retrivex.adapters.base.fields import FieldMap
from retrivex.adapters.base.layouts import DEFAULT_LAYOUT, StorageLayout, whole_digits
from retrivex.model.window import Window

Where: TypeAlias = dict[str, Any]

METADATA = "metadata"
"""Of a record here: Chroma keeps the text beside them."""

_MOST_OTHERS = 1000
_MOST_ROWS = 2000  # that one alternative may find: more rows are slower than more alternatives


def of_windows(fields: FieldMap, windows: Sequence[Window], layout: StorageLayout = DEFAULT_LAYOUT) -> Where:
    """Return the condition that finds all chunks of windows; it may find more, which has to be left out afterwards.

    Ranges take Chroma ten times as long as lists of numbers, and time grows with the square of the alternatives. So
    windows at like places share one: their documents in a list, their numbers in another.
    """
    number = fields.chunk_id[0]
    each = [
        {"$and": [_one_of(fields.doc_id[0], documents), {number: {"$in": _encode_numbers(numbers, layout)}}]}
        for documents, numbers in _groups(windows)
    ]
    return each[0] if len(each) == 1 else {"$or": each}


def _one_of(field: str, names: Iterable[str]) -> Where:
    """Return the condition that a field holds one of these names, which may be kept as numbers."""
    wanted = sorted(set(names))
    as_text: Where = {field: {"$in": wanted}}
    numbers = sorted(int(name) for name in wanted if whole_digits(name) and int(name) < 2**63)
    return {"$or": [as_text, {field: {"$in": numbers}}]} if numbers else as_text


def _encode_numbers(numbers: set[int], layout: StorageLayout) -> list[int] | list[str]:
    return [str(n) for n in sorted(numbers)] if layout.as_text else sorted(numbers)


def has_scopes(field: str, scopes: Scopes) -> Where:
    """Return the condition that a record has one of these scopes."""
    return _one_of(field, (scope for scope in scopes if scope is not None))


def has_not(field: str, others: Sequence[Any]) -> list[Where]:
    """Return the conditions that leave out records of these scopes, and none of those without a scope."""
    kinds = {type(scope): [other for other in others if type(other) is type(scope)] for scope in others}
    return [{field: {"$nin": alike}} for alike in kinds.values()]


def all_of(conditions: Sequence[Where]) -> Where | None:
    """Return one condition; None where there is none."""
    if len(conditions) > 1:
        return {"$and": list(conditions)}
    return conditions[0] if conditions else None


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


# ---- whom records belong to


@dataclass(frozen=True, slots=True)
class ScopeFilter:
    """Decides which records are visible, and remembers scopes that took the place of visible hits.

    Parameters
    ----------
    fields : names in records; without one for the scope, everybody sees everything
    others : the scopes remembered, shared between filters of one collection
    """

    fields: FieldMap
    others: dict[Any, None]

    def is_partial(self, scopes: Scopes) -> bool:
        """Say whether Chroma cannot ask for all that `scopes` may see, and gives what belongs to others too."""
        return bool(self.fields.scope) and None in scopes

    def conditions(self, scopes: Scopes) -> list[Where]:
        """Return what Chroma can be asked for."""
        asks = bool(self.fields.scope) and not self.is_partial(scopes)
        return [has_scopes(self.fields.scope[0], scopes)] if asks else []

    def out_of_the_way(self, scopes: Scopes) -> list[Where]:
        """Return the conditions that leave out those others who are known, where Chroma cannot leave out all."""
        others = [scope for scope in list(self.others) if str(scope) not in scopes]
        return has_not(self.fields.scope[0], others) if self.is_partial(scopes) else []

    def visible(self, records: Iterable[Record], scopes: Scopes) -> list[Record]:
        """Return the records that the caller may see."""
        return [record for record in records if self._is_visible(record, scopes)]

    def learn(self, records: Iterable[Record], scopes: Scopes) -> bool:
        """Remember whose records were in the way; say whether there is anybody new, so that it pays to ask again."""
        known = len(self.others)
        for record in records:
            scope = self._scope(record)
            if not self._is_visible(record, scopes) and isinstance(scope, (str, int, float)) and known < _MOST_OTHERS:
                self.others[scope] = None
        return len(self.others) > known

    def _is_visible(self, record: Record, scopes: Scopes) -> bool:
        if not self.fields.scope:
            return True
        scope = self._scope(record)
        return (None if scope is None else str(scope)) in scopes

    def _scope(self, record: Record) -> Any:
        return self.fields.read(record.payload[METADATA], "scope")
