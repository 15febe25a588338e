"""Filters with the question as SQL; every value is bound, and so are keys inside JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from psycopg.sql import SQL, Composable, Composed

from ..base.fields import FieldMap
from ..base.where import SQL_TESTS, Dialect, FieldTest, Pushed
from .table import LARGEST, TEXTS, Column, Table, Values, name

_NUMBERS = frozenset(LARGEST)  # fractions are compared as they are read: in JSON, where what is not finite is a text
_ITEMS = SQL(
    "EXISTS (SELECT 1 FROM jsonb_array_elements("
    "CASE jsonb_typeof({0}) WHEN 'array' THEN {0} ELSE jsonb_build_array({0}) END) AS i(v) WHERE {1})"
)
_TEXT = SQL("CASE WHEN jsonb_typeof(i.v) = 'string' THEN (i.v #>> '{{}}') END")
_NUMBER = SQL("CASE WHEN jsonb_typeof(i.v) = 'number' THEN (i.v #>> '{{}}')::numeric END")
_TRUTH = SQL("CASE WHEN jsonb_typeof(i.v) = 'boolean' THEN i.v::text END")


class SqlDialect(Dialect[Composable]):
    """Filters of PostgreSQL; `values` are what they bind.

    Parameters
    ----------
    table : what is known of it
    fields : names in it
    """

    def __init__(self, table: Table, fields: FieldMap) -> None:
        self._table, self._fields = table, fields
        self.values: Values = {}

    def test(self, test: FieldTest) -> Pushed[Composable]:
        """Translate one test."""
        given = [*test.texts, *(one for one in (test.bounds or {}).values() if isinstance(one, str)), *test.titles]
        paths = [*test.paths(self._fields), test.field]
        if any("\0" in text for text in (*given, *paths)):  # no text of PostgreSQL has one
            return Pushed(None, False)
        for path in paths:
            if path in self._table.columns:
                return self._column(test, path, self._table.columns[path])
            column, dot, key = path.partition(".")
            if dot and column in self._table.columns:
                is_json = self._table.columns[column].kind in ("json", "jsonb")
                return self._json(test, self._inner(column, key)) if is_json else Pushed(None, False)
        return Pushed(SQL("TRUE" if test.missing else "FALSE"))

    def _column(self, test: FieldTest, path: str, column: Column) -> Pushed[Composable]:
        here = SQL("t.{}").format(name(path))
        if test.titles or column.type not in (TEXTS | _NUMBERS):
            return self._json(test, SQL("to_jsonb({})").format(here))
        is_text = column.type in TEXTS
        if test.bounds is not None:
            if test.is_of_texts != is_text:
                return Pushed(SQL("FALSE"))
            return Pushed(self._within(test, SQL("{}::text" if is_text else "{}").format(here)))
        held = [value for value in (test.texts if is_text else test.numbers) if column.holds(str(value))]
        among = SQL("{} = ANY({}::{}[])").format(here, self._bind(list(map(str, held))), SQL(column.type))
        missing = [SQL("{} IS NULL").format(here)] if test.missing else []
        return Pushed(self.any_of([among, *missing]), column.type not in ("citext", "bpchar"))

    def _inner(self, column: str, key: str) -> Composed:
        """Return what a key holds in a column of JSON: one that has the dots itself, or keys one inside another."""
        here = SQL("t.{}::jsonb").format(name(column))
        return SQL("coalesce({0} -> {1}, {0} #> {2}::text[])").format(here, self._bind(key), self._bind(key.split(".")))

    def _json(self, test: FieldTest, value: Composed) -> Pushed[Composable]:
        """Return the condition on JSON: a list holds by any of its items, what is missing is null."""
        if test.titles:
            places = [
                SQL("{} ->> {} = {}").format(value, SQL(str(at)), self._bind(title))
                for at, title in enumerate(test.titles)
            ]
            other = SQL("jsonb_typeof({}) IS DISTINCT FROM 'array'").format(value)
            return Pushed(self.any_of([other, self.all_of(places)]), False)
        either: list[Composable] = []
        if test.bounds is not None:
            either.append(self._within(test, _TEXT if test.is_of_texts else _NUMBER))
        elif test.texts:
            either.append(SQL("{} = ANY({}::text[])").format(_TEXT, self._bind(test.texts)))
        if test.numbers:
            either.append(SQL("{} = ANY({}::numeric[])").format(_NUMBER, self._bind(list(map(str, test.numbers)))))
        if test.truths:
            either.append(SQL("{} = ANY({}::text[])").format(_TRUTH, self._bind([str(t).lower() for t in test.truths])))
        if test.missing:
            either.append(SQL("jsonb_typeof(i.v) = 'null'"))
        return Pushed(_ITEMS.format(value, self.any_of(either)))

    def _within(self, test: FieldTest, value: Composable) -> Composable:
        """Return the condition that a value is within bounds: texts in the order of their characters."""
        shape = SQL('({}) COLLATE "C"' if test.is_of_texts else "({})").format(value)
        kind: Callable[[Composable], Composed] = SQL("{}::text" if test.is_of_texts else "{}::text::numeric").format
        bounds = (test.bounds or {}).items()
        return self.all_of([SQL(SQL_TESTS[op]).format(shape, kind(self._bind(str(bound)))) for op, bound in bounds])

    def _bind(self, value: Any) -> Composed:
        key = f"where_{len(self.values)}"
        self.values[key] = value
        return SQL("%({})s").format(SQL(key))

    def any_of(self, conditions: Sequence[Composable]) -> Composable:
        """Join conditions of which one must hold."""
        return SQL("({})").format(SQL(" OR ").join(conditions or [SQL("FALSE")]))

    def all_of(self, conditions: Sequence[Composable]) -> Composable:
        """Join conditions that must hold together."""
        return SQL("({})").format(SQL(" AND ").join(conditions))

    def negate(self, condition: Composable) -> Composable:
        """Return the condition that the other one does not hold."""
        return SQL("({} IS NOT TRUE)").format(condition)
