"""The columns of a LanceDB table, struct columns included, as SQL filters and as values to write."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from retrivex.errors import StoreError
from retrivex.model.chunk import Chunk, with_lists
from retrivex.model.window import Window

from ..base.collection import Scopes, by_range
from ..base.fields import FieldMap
from ..base.scopes import scope_alternatives
from ..base.where import ROUNDED, SQL_TESTS, Dialect, FieldTest, Pushed

_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")  # 007 is a text


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or a field of a struct column.

    Parameters
    ----------
    path : names from the outside in
    type : of its values
    """

    path: tuple[str, ...]
    type: pa.DataType

    @property
    def sql(self) -> str:
        """Return it as SQL names it; a backtick in a name is doubled."""
        return ".".join("`" + name.replace("`", "``") + "`" for name in self.path)

    @property
    def is_text(self) -> bool:
        """Say whether its values are texts, also where each is kept once and numbered (a dictionary)."""
        kept = self.type.value_type if pa.types.is_dictionary(self.type) else self.type
        return bool(pa.types.is_string(kept) or pa.types.is_large_string(kept) or pa.types.is_string_view(kept))

    @property
    def is_number(self) -> bool:
        """Say whether its values are numbers that the engine compares: it knows no floats of 16 bits."""
        return bool(pa.types.is_integer(self.type) or pa.types.is_float32(self.type) or pa.types.is_float64(self.type))

    def holds(self, value: int | float) -> bool:
        """Say whether a column of whole numbers can hold a number: the engine refuses to compare it with others."""
        signed = pa.types.is_signed_integer(self.type)
        most = 2 ** (self.type.bit_width - signed)
        return type(value) is int and (-most if signed else 0) <= value < most

    @property
    def is_struct(self) -> bool:
        """Say whether it holds fields."""
        return bool(pa.types.is_struct(self.type))

    def is_one_of(self, values: Iterable[str]) -> str:
        """Return the condition that it holds one of these; a text that is no number is in no column of numbers."""
        wanted = list(values)
        shown = [quoted(v) for v in wanted] if self.is_text else [v for v in wanted if _WHOLE_NUMBER.fullmatch(v)]
        return f"{self.sql} IN ({', '.join(shown)})" if shown else "FALSE"

    def is_in_range(self, start: int, end: int) -> str:
        """Return the condition that it holds a number from `start` to before `end`, which may be kept as text."""
        if self.is_text:
            return self.is_one_of(str(n) for n in range(start, end))
        last = end - 1
        if pa.types.is_integer(self.type):  # the engine refuses to compare a column with what it cannot hold
            last = min(last, 2 ** (self.type.bit_width - pa.types.is_signed_integer(self.type)) - 1)
        return f"{self.sql} >= {start} AND {self.sql} <= {last}" if start <= last else "FALSE"

    def inner(self, keys: Sequence[str]) -> Column | None:
        """Return the field to which these keys lead through structs; None where there is none."""
        here = self
        for key in keys:
            at = here.type.get_field_index(key) if here.is_struct else -1
            if at < 0:
                return None
            here = Column((*here.path, key), here.type.field(at).type)
        return here

    def value(self, row: Mapping[str, Any]) -> Any:
        """Return what a row holds in it."""
        found: Any = row
        for key in self.path:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found


@dataclass(frozen=True, slots=True)
class Columns:
    """All columns of a table.

    Parameters
    ----------
    outer : those that are no vectors, by name
    vectors : names of those that are
    named : every column as fields name it: where they have no root, a struct's fields count as columns, after columns
        of the same name and later structs; where they have one, only the fields of that struct
    """

    outer: Mapping[str, Column]
    vectors: tuple[str, ...]
    named: Mapping[str, tuple[Column, ...]]
    is_flat: bool

    def find(self, fields: FieldMap, field: str) -> Column | None:
        """Return the column of `field`: the first of its names that there is; None where there is none."""
        return next(iter(self.all(fields, field)), None)

    def all(self, fields: FieldMap, field: str) -> list[Column]:
        """Return all columns that may hold `field`; the first one with a value counts."""
        return [column for name in getattr(fields, field) for column in self.find_columns(name)]

    def find_columns(self, name: str) -> list[Column]:
        """Return the columns of a name, in which a dot steps into a struct."""
        first, *keys = name.split(".")
        stepped = [column.inner(keys) for column in self.named.get(first, ())] if keys else []
        return [*self.named.get(name, ()), *(column for column in stepped if column is not None)]

    def payload(self, row: Mapping[str, Any], fields: FieldMap) -> dict[str, Any]:
        """Return a row as fields name its columns; of columns with the same name, the first one with a value counts."""
        if not self.is_flat:
            return dict(row)
        made = {name: value for name, value in row.items() if name not in self.outer or not self.outer[name].is_struct}
        for name in reversed([name for name in self.outer if name in row and self.outer[name].is_struct]):
            for key, value in (row[name] or {}).items():
                if made.get(key) is None:
                    made[key] = value
        for name in fields.dotted:
            for column in reversed(
                self.find_columns(name)
            ):  # structs are gone by now, and nobody may miss a scope in one
                if (value := column.value(row)) is not None:
                    made[name] = value
        return made


def read_columns(schema: pa.Schema, root: str | None) -> Columns:
    """Return the columns of a table, as fields under `root` are named."""
    columns = {field.name: Column((field.name,), field.type) for field in schema}
    outer = {name: column for name, column in columns.items() if not pa.types.is_fixed_size_list(column.type)}
    named = {name: (column,) for name, column in outer.items()} if root is None else {}
    for name, column in reversed(outer.items()):
        for field in column.type if column.is_struct and root in (None, name) else ():
            named[field.name] = (*named.get(field.name, ()), Column((name, field.name), field.type))
    vectors = tuple(name for name in columns if name not in outer)
    return Columns(outer, vectors, named, root is None)


def quoted(text: str) -> str:
    """Return a text as SQL writes it: DataFusion knows no other escape than the doubled quote.

    LanceDB takes filters as SQL and has no parameters for them; its expression objects know neither NULL nor structs.
    """
    return "'" + text.replace("'", "''") + "'"


def of_scopes(scopes: Scopes, columns: Sequence[Column]) -> str:
    """Return the condition that a row has one of these scopes; a table without a column has rows without one."""
    if not columns:
        return "TRUE" if None in scopes else "FALSE"
    seen = scope_alternatives(columns, scopes, Column.is_one_of, lambda column: f"{column.sql} IS NULL")
    return _join_any([" AND ".join(all_) for all_ in seen])


def inside(windows: Sequence[Window], document: Column, number: Column) -> str:
    """Return the condition that a row lies in one of the windows: one clause for each range of numbers."""
    clauses = [
        f"({document.is_one_of(doc_ids)} AND {number.is_in_range(start, end)})"
        for (start, end), doc_ids in by_range(windows).items()
    ]
    # all documents once more: most rows are done with there
    return f"{document.is_one_of(sorted({window.doc_id for window in windows}))} AND {_join_any(clauses)}"


def _join_any(conditions: Sequence[str]) -> str:
    """Join with OR, halves in brackets: a thousand in a row would be nested a thousand deep by the parser."""
    if not conditions:
        return "FALSE"
    if len(conditions) == 1:
        return f"({conditions[0]})"
    half = len(conditions) // 2
    return f"({_join_any(conditions[:half])} OR {_join_any(conditions[half:])})"


class SqlDialect(Dialect[str]):
    """Filters in the SQL of LanceDB.

    Parameters
    ----------
    columns : of the table
    fields : names of them
    """

    def __init__(self, columns: Columns, fields: FieldMap) -> None:
        self._columns, self._fields = columns, fields

    def test(self, test: FieldTest) -> Pushed[str]:
        """Translate one test."""
        found = [column for name in test.names(self._fields) for column in self._columns.find_columns(name)]
        if not found and "metadata" not in self._columns.outer:
            return Pushed("TRUE" if test.missing else "FALSE")
        if not found or (len(found) > 1 and test.field.startswith("metadata.")):  # in JSON, or in one of several places
            return Pushed(None, False)
        column = found[0]
        root, *inside = column.path
        asked = {*test.names(self._fields)} - {*self._fields.dotted} if self._columns.is_flat and inside else ()
        if ".".join(column.path) in asked:
            raise StoreError(
                f"where names {test.field!r}, a path into the struct {root!r}, whose fields count as columns: "
                f"write 'metadata.{'.'.join(inside)}', or give fields=FieldMap(..., root={root!r})"
            )
        is_list = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
        item = Column(column.path, column.type.value_type) if is_list else column
        values = None if test.bounds or (is_list and test.missing) else _literals(item, test)  # it may hold a null
        if test.titles and is_list:
            places = enumerate(test.titles, 1)
            either = [" AND ".join(f"array_element({column.sql}, {at}) = {quoted(title)}" for at, title in places)]
        elif test.bounds and not is_list and (item.is_text or item.is_number):
            either = [_within(item, test)] if item.is_text == test.is_of_texts else []
        elif values is None or test.titles:
            return Pushed(None, False)
        else:
            either = [f"{column.sql} IN ({', '.join(values)})"] if values and not is_list else []
            either += [f"array_has({column.sql}, {value})" for value in values if is_list]
        if test.missing:
            either.append(f"{column.sql} IS NULL")
        return Pushed(_join_any(either), not test.is_rounded or pa.types.is_signed_integer(item.type))

    def any_of(self, conditions: Sequence[str]) -> str:
        """Join conditions of which one must hold."""
        return _join_any(conditions)

    def all_of(self, conditions: Sequence[str]) -> str:
        """Join conditions that must hold together."""
        return f"({' AND '.join(conditions)})"

    def negate(self, condition: str) -> str:
        """Return the condition that the other one does not hold."""
        return f"({condition} IS NOT TRUE)"


def _literals(column: Column, test: FieldTest) -> list[str] | None:
    """Return values as SQL writes them, without those that the column cannot hold; None: nobody knows which."""
    if column.is_text:
        return [quoted(text) for text in test.texts]
    if pa.types.is_boolean(column.type):
        return [str(truth).upper() for truth in test.truths]
    if pa.types.is_floating(column.type) and column.is_number:
        return [repr(float(value)) for value in test.numbers]
    return [str(value) for value in test.numbers if column.holds(value)] if column.is_number else None


def _within(column: Column, test: FieldTest) -> str:
    bounds: Mapping[str, Any] = test.loosened if test.is_rounded else test.bounds or {}
    whole = {op: ROUNDED[op](bound) for op, bound in (test.bounds or {}).items() if pa.types.is_integer(column.type)}
    is_whole = bool(whole) and all(map(column.holds, whole.values()))
    as_double = f"nullif(CAST({column.sql} AS DOUBLE), CAST('NaN' AS DOUBLE))"  # which is the largest number there
    sql = column.sql if is_whole or column.is_text else as_double
    shown = {
        op: quoted(value) if isinstance(value, str) else repr(value if is_whole else float(value))
        for op, value in (whole if is_whole else bounds).items()
    }
    return " AND ".join(SQL_TESTS[op].format(sql, value) for op, value in shown.items())


# ---- writing


def merge_fields(
    name: str, table: Any, columns: Columns, ids: Column, changes: Mapping[str, Mapping[str, Any]]
) -> None:
    """Set columns of the rows with these ids, in one merge for all rows that get the same ones; new ones are added.

    Raises
    ------
    StoreError
        If a field lies in a struct, a column cannot hold its values, or a new one is neither text nor number.
    """
    alike: dict[tuple[str, ...], dict[str, Mapping[str, Any]]] = {}
    for id, values in changes.items():
        alike.setdefault(tuple(sorted(values)), {})[id] = values
    for paths, rows in alike.items():
        types = {path: _type(name, path, rows.values(), columns, table.schema) for path in paths}
        merged = {path: pa.array([values[path] for values in rows.values()], types[path]) for path in paths}
        new = [pa.field(path, types[path]) for path in paths if path not in table.schema.names]
        if new:
            table.add_columns(pa.schema(new))
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
    return pa.array([row[path] for row in rows]).type


_TYPES = {
    **dict.fromkeys(("chunk_id", "char_start", "char_end", "page", "chunk_count"), pa.int64()),
    **dict.fromkeys(("doc_id", "parent_id", "scope", "prefix", "links"), pa.string()),
    "timestamp": pa.float64(),
    "heading_path": pa.list_(pa.string()),
}


def rows_of_chunks(
    id_field: str,
    ids: Sequence[str],
    chunks: Sequence[Chunk],
    vectors: NDArray[np.float32],
    fields: FieldMap,
    counts: Sequence[str] | None = None,
) -> pa.Table:
    """Return chunks as the rows of a table: every field has a column, and metadata of their own are JSON in one.

    Parameters
    ----------
    id_field : column of ids
    ids, chunks : in the same order
    vectors : shape (n, d)
    fields : names of the columns; the first of each
    counts : in the same order; None: without their column
    """
    payloads = [fields.payload(_without_own(chunk)) for chunk in chunks]
    columns = {id_field: pa.array(list(ids), pa.string())}
    columns[fields.text[0]] = pa.array([chunk.text for chunk in chunks], pa.string())
    for name, kind in _TYPES.items():
        column = getattr(fields, name)[0]
        columns[column] = pa.array([payload.get(column) for payload in payloads], kind)
    own = [chunk.metadata.custom_metadata for chunk in chunks]
    columns["metadata"] = pa.array([json.dumps(with_lists(one)) if one else None for one in own], pa.string())
    if counts is not None:
        columns[fields.counts[0]] = pa.array(list(counts), pa.string())
    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).ravel())
    columns["vector"] = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1] or 1)
    return pa.table(columns)


def _without_own(chunk: Chunk) -> Chunk:
    """Return a chunk without metadata of its own."""
    return replace(chunk, metadata=replace(chunk.metadata, custom_metadata={}))
