"""Writing fields into rows of a PostgreSQL table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg.sql import SQL, Composed
from psycopg.types.json import Jsonb

from retrivex.errors import StoreError

from .pgvector_table import Field, Table, Values, name


def updates(
    table: Table, id: Field, changes: Mapping[str, Mapping[str, Any]]
) -> list[tuple[Composed, Sequence[Values]]]:
    """Return one statement for all rows in which the same fields change, with what each row binds.

    Raises
    ------
    StoreError
        If the table has no column for a field.
    """
    alike: dict[tuple[str, ...], list[tuple[str, Mapping[str, Any]]]] = {}
    for row_id, fields in changes.items():
        if fields:
            alike.setdefault(tuple(sorted(fields)), []).append((row_id, fields))
    return [_update(table, id, paths, rows) for paths, rows in alike.items()]


def _update(
    table: Table, id: Field, paths: Sequence[str], rows: Sequence[tuple[str, Mapping[str, Any]]]
) -> tuple[Composed, Sequence[Values]]:
    columns: dict[str, Composed] = {}
    inside: set[str] = set()
    for i, path in enumerate(paths):
        field = table.field(path)
        if field is None:
            raise StoreError(
                f"the table has no column for {path!r}: ALTER TABLE ... ADD COLUMN it, or name a place that is there "
                "with fields=FieldMap(...)"
            )
        column = path if not field.inside else path.split(".")[0]
        if not field.inside:
            columns[column] = Composed([SQL("%({})s").format(SQL(f"value_{i}"))])
            continue
        inside.add(path)
        before = columns.get(column, SQL("coalesce(t.{}::jsonb, '{{}}')").format(name(column)))
        columns[column] = SQL("jsonb_set({}, {}, {})").format(
            before, SQL(f"%(path_{i})s::text[]"), SQL(f"%(value_{i})s")
        )
    assigned = [
        SQL("{} = {}::{}").format(name(column), value, SQL(table.columns[column].type))
        for column, value in columns.items()
    ]
    statement = SQL("UPDATE {} AS t SET {} WHERE {} = %(id)s::text::{}").format(
        table.name, SQL(", ").join(assigned), id.compared, SQL(id.type)
    )
    return statement, [_bound(paths, inside, row_id, fields) for row_id, fields in rows]


def _bound(paths: Sequence[str], inside: set[str], row_id: str, fields: Mapping[str, Any]) -> Values:
    bound: Values = {"id": row_id}
    for i, path in enumerate(paths):
        bound[f"value_{i}"] = Jsonb(fields[path]) if path in inside else fields[path]
        if path in inside:
            bound[f"path_{i}"] = path.split(".")[1:]
    return bound
