"""Writing fields into rows of a LanceDB table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from retrivex.errors import StoreError

from .lancedb_columns import Column, Columns


def merge_fields(
    name: str, table: Any, columns: Columns, ids: Column, changes: Mapping[str, Mapping[str, Any]]
) -> None:
    """Set columns of the rows with these ids, in one merge for all rows that get the same ones; new ones are added.

    Raises
    ------
    StoreError
        If a field lies in a struct, or a new one is neither text nor number.
    """
    alike: dict[tuple[str, ...], dict[str, Mapping[str, Any]]] = {}
    for id, values in changes.items():
        alike.setdefault(tuple(sorted(values)), {})[id] = values
    for paths, rows in alike.items():
        types = {path: _type(name, path, rows.values(), columns, table.schema) for path in paths}
        new = [pa.field(path, types[path]) for path in paths if path not in table.schema.names]
        if new:
            table.add_columns(pa.schema(new))
        merged = {path: pa.array([values[path] for values in rows.values()], types[path]) for path in paths}
        merged[ids.path[0]] = pa.array(list(rows)).cast(ids.type)
        table.merge_insert(ids.path[0]).when_matched_update_all().execute(pa.table(merged))


def _type(name: str, path: str, rows: Iterable[Mapping[str, Any]], columns: Columns, schema: pa.Schema) -> pa.DataType:
    if path in schema.names:
        return schema.field(path).type
    if path in columns.named or "." in path:
        raise StoreError(
            f"{name} has {path!r} in a struct, where LanceDB cannot set it: name a column of its own with "
            "fields=FieldMap(...)"
        )
    return _type_of(next((row[path] for row in rows if row[path] is not None), None), path)


def _type_of(value: Any, path: str) -> pa.DataType:
    """Return the type of a new column for values like this.

    Raises
    ------
    StoreError
        If it is neither a text nor a number.
    """
    for kind, made in ((bool, pa.bool_()), (int, pa.int64()), (float, pa.float64()), (str, pa.string())):
        if isinstance(value, kind):
            return made
    raise StoreError(f"{path!r} is {value!r}: a new column takes texts and numbers")
