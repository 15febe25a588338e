"""Queries that Elasticsearch and OpenSearch both understand; every value is JSON, none is inserted into a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from retrivex.model.window import Window

from ..base.collection import Scopes, by_range

Clause: TypeAlias = dict[str, Any]


def named(paths: Sequence[str], values: Sequence[str]) -> Clause:
    """Match records of which one of `paths` holds one of `values`."""
    return any_of([{"terms": {path: list(values)}} for path in paths])


def in_scope(path: str | None, exact: Sequence[str], scopes: Scopes) -> list[Clause]:
    """Match records that `scopes` may see, those without one by the field not being there.

    Parameters
    ----------
    path : the field; None where records have no scope
    exact : the fields to compare its values with
    """
    if path is None:
        return [] if None in scopes else [{"match_none": {}}]
    names = sorted(scope for scope in scopes if scope is not None)
    allowed: list[Clause] = [named(exact, names)] if names else []
    if None in scopes:
        allowed.append({"bool": {"must_not": [{"exists": {"field": path}}]}})
    return [any_of(allowed) if allowed else {"match_none": {}}]


def any_of(clauses: Sequence[Clause]) -> Clause:
    """Match what one of the clauses does."""
    if len(clauses) == 1:
        return clauses[0]
    return {"bool": {"should": list(clauses), "minimum_should_match": 1}}


def all_of(clauses: Sequence[Clause]) -> Clause:
    """Match what all of the clauses do, without counting a score."""
    return {"bool": {"filter": list(clauses)}}


def in_windows(windows: Sequence[Window], doc_id: Sequence[str], chunk_id: Sequence[str], *, is_number: bool) -> Clause:
    """Match records of the windows; documents of which the same numbers are wanted share a clause."""
    return any_of(
        [
            all_of([named(doc_id, names), _in_range(span, chunk_id, is_number=is_number)])
            for span, names in by_range(windows).items()
        ]
    )


def _in_range(span: tuple[int, int], chunk_id: Sequence[str], *, is_number: bool) -> Clause:
    start, end = span
    if is_number:
        return {"range": {chunk_id[0]: {"gte": start, "lt": end}}}
    return named(chunk_id, [str(n) for n in range(start, end)])  # among texts, 10 comes before 9
