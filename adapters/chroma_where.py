"""Conditions on Chroma's metadata."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from retrivex.intervals import Window

from .collection import Scopes
from .fields import FieldMap

Where: TypeAlias = dict[str, Any]

_MOST_ROWS = 2000  # that one alternative may find: more rows are slower than more alternatives


def of_windows(fields: FieldMap, windows: Sequence[Window]) -> Where:
    """Return the condition that finds all chunks of windows; it may find more, which has to be left out afterwards.

    Ranges take Chroma ten times as long as lists of numbers, and time grows with the square of the alternatives. So
    windows at like places share one: their documents in a list, their numbers in another.
    """
    doc, number = fields.doc_id[0], fields.chunk_id[0]
    each = [
        {"$and": [{doc: {"$in": sorted(documents)}}, {number: {"$in": sorted(numbers)}}]}
        for documents, numbers in _groups(windows)
    ]
    return each[0] if len(each) == 1 else {"$or": each}


def of_scopes(fields: FieldMap, scopes: Scopes) -> list[Where]:
    """Return what can be asked of a scope: nothing where records without one may be seen, which Chroma cannot find."""
    if not fields.scope or None in scopes:
        return []
    return [{fields.scope[0]: {"$in": sorted(scope for scope in scopes if scope is not None)}}]


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
