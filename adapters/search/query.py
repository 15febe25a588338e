"""Queries that Elasticsearch and OpenSearch both understand; every value is JSON, none is inserted into a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from retrivex.adapters.base.collection import Scopes
from retrivex.model.window import Window

Clause: TypeAlias = dict[str, Any]

MOST_CLAUSES = 1000
"""In one search: a cluster refuses more than `indices.query.bool.max_clause_count`, which is never less than 1,024."""


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


def in_windows(
    windows: Sequence[Window], doc_id: Sequence[str], chunk_id: Sequence[str], *, is_number: bool, most: int
) -> list[Clause]:
    """Match records of the windows: one query, or several of at most `most` clauses each.

    Documents of which the same numbers are wanted share a clause.
    """
    packed: list[list[Clause]] = [[]]
    room = most
    for clause, cost in _clauses(windows, doc_id, chunk_id, is_number, most):
        if cost > room:
            packed.append([])
            room = most
        packed[-1].append(clause)
        room -= cost
    return [any_of(clauses) for clauses in packed if clauses]


def _clauses(
    windows: Sequence[Window], doc_id: Sequence[str], chunk_id: Sequence[str], is_number: bool, most: int
) -> Iterator[tuple[Clause, int]]:
    wanted: dict[str, list[tuple[int, int]]] = {}
    for window in windows:
        wanted.setdefault(window.doc_id, []).append((window.start, window.end))
    alike: dict[tuple[tuple[int, int], ...], list[str]] = {}
    for name, found in wanted.items():
        alike.setdefault(tuple(found), []).append(name)
    for ranges, names in alike.items():
        size = most - len(doc_id)
        for at in range(0, len(ranges), size):
            some = ranges[at : at + size]
            numbers = any_of(_ranges(some, chunk_id[0])) if is_number else named(chunk_id, _digits(some))
            cost = len(doc_id) + (len(some) if is_number else len(chunk_id))
            yield all_of([named(doc_id, names), numbers]), cost


def _ranges(ranges: Sequence[tuple[int, int]], path: str) -> list[Clause]:
    return [{"range": {path: {"gte": start, "lt": end}}} for start, end in ranges]


def _digits(ranges: Sequence[tuple[int, int]]) -> list[str]:
    """List the numbers: among texts, 10 comes before 9."""
    return [str(n) for start, end in ranges for n in range(start, end)]
