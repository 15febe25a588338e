"""Requests as Qdrant filters, with ids and field names in Qdrant's notation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from qdrant_client import models

from retrivex.errors import StoreError
from retrivex.model.window import Window

from ..base.collection import Scopes, by_range
from ..base.fields import FieldMap, whole_digits
from ..base.where import Dialect, FieldTest, Pushed

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")


def among(ids: Iterable[str], scopes: Scopes, fields: FieldMap) -> models.Filter:
    """Return the filter for points with one of these ids."""
    named = models.HasIdCondition(has_id=[point_id(id) for id in ids])
    return models.Filter(must=[named, *of_scopes(scopes, fields)])


def inside(windows: Sequence[Window], scopes: Scopes, fields: FieldMap) -> models.Filter:
    """Return the filter for points in one of the windows: a clause for each range, with its documents."""
    document, number = (key_of(name, fields) for name in ("doc_id", "chunk_id"))
    clauses: list[models.Condition] = [
        models.Filter(
            must=[_one_of(doc_ids, document), models.FieldCondition(key=number, range=models.Range(gte=start, lt=end))]
        )
        for (start, end), doc_ids in by_range(windows).items()
    ]
    # all documents once more: an index on them alone is a great deal faster than none
    named = _one_of(sorted({window.doc_id for window in windows}), document)
    return models.Filter(must=[named, *of_scopes(scopes, fields)], should=clauses)


def of_scopes(scopes: Scopes, fields: FieldMap) -> list[models.Condition]:
    """Return what a point's scope must be: `is_empty` is a missing field, null or an empty list."""
    if not fields.scope:
        return []
    key = key_of("scope", fields)
    names = sorted(scope for scope in scopes if scope is not None)
    either: list[models.Condition] = [_one_of(names, key)] if names else []
    if None in scopes:
        either.append(models.IsEmptyCondition(is_empty=models.PayloadField(key=key)))
    return [models.Filter(should=either)]


class QdrantDialect(Dialect[models.Condition]):
    """Filters of Qdrant, which compares texts for equality alone."""

    def __init__(self, fields: FieldMap) -> None:
        self._fields = fields

    def test(self, test: FieldTest) -> Pushed[models.Condition]:
        """Translate one test."""
        first = test.paths(self._fields)[0]
        paths = dict.fromkeys((first, test.field if test.field.startswith("metadata.") else first))
        if test.is_of_texts or any(mark in path for path in paths for mark in '"\\'):
            return Pushed(None, False)
        # a key may have the dots itself
        names = [(json_path(path), path if _PLAIN_KEY.fullmatch(path) else f'"{path}"') for path in paths]
        keys = dict.fromkeys(key for both in names for key in both)
        if test.titles:  # of a list, or one text; what has its titles elsewhere is checked later
            held = [_holds_any(key, [title]) for title in test.titles for key in keys]
            return Pushed(self.any_of([self.all_of(held), *map(_is_nowhere, keys)]), False)
        either = [condition for key in keys for condition in self._holds(test, key)]
        if test.missing:
            either.append(self.all_of(list(map(_is_nowhere, keys))))
        # what is missing may be an empty list
        return Pushed(self.any_of(either), not test.missing and not test.is_rounded)

    def _holds(self, test: FieldTest, key: str) -> list[models.Condition]:
        limits = [models.Range(gte=value, lte=value) for value in test.numbers]
        if test.bounds is not None:
            bounds: Mapping[str, Any] = test.loosened if test.is_rounded else test.bounds
            limits = [models.Range(**{_BOUNDS[op]: value for op, value in bounds.items()})]
        wholes = [value for value in test.numbers if isinstance(value, int)]
        return [
            *(_holds_any(key, values) for values in (test.texts, wholes) if values),
            *(models.FieldCondition(key=key, range=limit) for limit in limits),
            *(models.FieldCondition(key=key, match=models.MatchValue(value=truth)) for truth in test.truths),
        ]

    def any_of(self, conditions: Sequence[models.Condition]) -> models.Condition:
        """Join conditions of which one must hold."""
        return models.Filter(should=list(conditions)) if conditions else models.HasIdCondition(has_id=[])

    def all_of(self, conditions: Sequence[models.Condition]) -> models.Condition:
        """Join conditions that must hold together."""
        return models.Filter(must=list(conditions))

    def negate(self, condition: models.Condition) -> models.Condition:
        """Return the condition that the other one does not hold."""
        return models.Filter(must_not=[condition])


_BOUNDS = {"min": "gte", "max": "lte", "above": "gt", "below": "lt"}


def _holds_any(key: str, values: list[Any]) -> models.Condition:
    return models.FieldCondition(key=key, match=models.MatchAny(any=values))


def _is_nowhere(key: str) -> models.Condition:
    field = models.PayloadField(key=key)
    return models.Filter(should=[models.IsEmptyCondition(is_empty=field), models.IsNullCondition(is_null=field)])


def _one_of(doc_ids: list[str], key: str) -> models.Condition:
    """Return a condition on the document, which may be kept as a number."""
    as_text = models.FieldCondition(key=key, match=models.MatchAny(any=doc_ids))
    numbers = [int(doc_id) for doc_id in doc_ids if whole_digits(doc_id)]
    if not numbers:
        return as_text
    return models.Filter(should=[as_text, models.FieldCondition(key=key, match=models.MatchAny(any=numbers))])


def key_of(field: str, fields: FieldMap) -> str:
    """Return the path of a field as Qdrant reads it; there must be one."""
    return json_path(fields.paths(field)[0])


def json_path(path: str) -> str:
    """Quote the keys of a path that Qdrant would not read as they are: `metadata."file name"`."""
    return ".".join(key if _PLAIN_KEY.fullmatch(key) else f'"{key}"' for key in path.split("."))


def point_id(id: str) -> int | str:
    """Return an id as Qdrant writes it: a whole number, or a UUID in lower case with hyphens.

    Raises
    ------
    StoreError
        If it is neither.
    """
    if whole_digits(id):
        return int(id)
    try:
        return str(UUID(id))
    except ValueError:
        raise StoreError(
            f"id {id!r} is neither a UUID nor a whole number, and Qdrant has no others: use make_id=uuid5_id"
        ) from None
