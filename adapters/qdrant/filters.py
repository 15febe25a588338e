"""Requests as Qdrant filters, with ids and field names in Qdrant's notation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from uuid import UUID

from qdrant_client import models

from retrivex.errors import StoreError
from retrivex.model.window import Window

from ..base.collection import Scopes, by_range
from ..base.fields import FieldMap, whole_digits

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
