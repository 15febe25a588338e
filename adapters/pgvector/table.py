"""A PostgreSQL table: its columns and indexes, and the SQL expressions that read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

from psycopg.sql import SQL, Composable, Composed, Identifier, Literal

from retrivex.errors import StoreError

from ..base.collection import Scopes
from ..base.fields import FieldMap
from ..base.scopes import scope_alternatives

Values: TypeAlias = dict[str, Any]

UNREADABLE = frozenset({"bytea", "tsvector", "vector", "halfvec", "sparsevec", "bit"})
"""Types of columns that are no metadata."""

LARGEST = {"smallint": 2**15 - 1, "integer": 2**31 - 1, "bigint": 2**63 - 1}
TEXTS = frozenset({"text", "character varying", "bpchar", "citext"})

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")  # 007 is a text


@dataclass(frozen=True, slots=True)
class Column:
    """A column: `type` as PostgreSQL writes it, `kind` its bare name, `schema` where the type lives."""

    type: str
    kind: str
    schema: str

    @property
    def compared(self) -> str:
        """The type that values are compared in, so that an index is of use; text where any value might be an error."""
        return self.type if self.type in LARGEST or self.type in TEXTS or self.type == "uuid" else "text"

    def holds(self, value: str) -> bool:
        """Whether there can be such a value at all: asking for one that cannot is an error in PostgreSQL."""
        if self.type == "uuid":
            return _uuid(value) is not None
        if self.type in LARGEST:
            return _WHOLE.fullmatch(value) is not None and -LARGEST[self.type] <= int(value) <= LARGEST[self.type]
        return "\0" not in value and _is_unicode(value)


def _uuid(value: str) -> UUID | None:
    try:
        return UUID(value)
    except ValueError:
        return None


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return False
    return True


_JSON_TEXT = Column("text", "text", "pg_catalog")


@dataclass(frozen=True, slots=True)
class Field:
    """The location of a value: an expression over the row `t`, and the column or type that it is compared as."""

    expression: Composed
    column: Column = _JSON_TEXT
    inside: tuple[str, ...] = ()
    """Keys, where it is in JSON; its text is compared then."""

    @property
    def type(self) -> str:
        """The type that its values are compared in."""
        return self.column.compared

    @property
    def compared(self) -> Composed:
        """The expression in that type."""
        if self.inside or self.type == self.column.type:
            return self.expression
        return SQL("{}::text").format(self.expression)

    def holds(self, value: str) -> bool:
        """Whether there can be such a value at all."""
        return self.column.holds(value)

    def among(self, name: str, values: Iterable[str]) -> tuple[Composed, Values]:
        """Return the condition that this is one of `values`, and what it binds under `name`."""
        bound = [value for value in values if self.holds(value)]
        return SQL("{} = ANY({})").format(self.compared, self.array(name)), {name: bound}

    def array(self, name: str) -> Composed:
        """Return the bound array `name`, of this type."""
        return SQL("%({})s::text[]::{}[]").format(SQL(name), SQL(self.type))


@dataclass(frozen=True, slots=True)
class Table:
    """A table as the catalogue of PostgreSQL describes it.

    Parameters
    ----------
    name : with its schema, quoted
    columns : by name
    methods : of its indexes, as PostgreSQL writes them
    version : of pgvector, None where it is not installed
    """

    name: Composable
    columns: Mapping[str, Column]
    methods: frozenset[str]
    version: tuple[int, ...] | None

    def field(self, path: str | None) -> Field | None:
        """Return where the value at `path` is: a column, or keys inside one of JSON; None where there is none."""
        if path is None:
            return None
        if path in self.columns:
            return Field(SQL("t.{}").format(name(path)), self.columns[path])
        column, *keys = path.split(".")
        if not keys or column not in self.columns or self.columns[column].kind not in ("json", "jsonb"):
            return None
        steps = [SQL(" -> {}").format(_write_literal(key)) for key in keys[:-1]]
        text = SQL("(t.{}{} ->> {})").format(name(column), SQL("").join(steps), _write_literal(keys[-1]))
        return Field(Composed([text]), inside=tuple(keys))

    def require(self, path: str | None, what: str) -> Field:
        """Return where a value is that has to be there.

        Raises
        ------
        StoreError
            If there is no such column.
        """
        found = self.field(path)
        if found is None:
            raise StoreError(
                f"the table has no {path!r} for {what}, only {', '.join(self.columns)}: "
                "name its columns with fields=FieldMap(...); a dot steps into JSON"
            )
        return found

    def row(self, fields: FieldMap, id_name: str) -> Composed:
        """Return the expression that makes one JSON text of what is read of a row `t`."""
        if fields.root is None:
            kept = [key for key, column in self.columns.items() if column.kind not in UNREADABLE and key != id_name]
        else:
            kept = [key for key in self.columns if key == fields.root or key in {n.split(".")[0] for n in fields.text}]
        if not kept:
            raise StoreError(
                f"the table has none of {', '.join(fields.text)}, only {', '.join(self.columns)}: "
                "name the column of the text with fields=FieldMap(text=...)"
            )
        # as text, char(n) is without the blanks that fill it up
        shapes = {key: "t.{0}::text AS {0}" if self.columns[key].kind == "bpchar" else "t.{}" for key in kept}
        listed = SQL(", ").join(SQL(shape).format(name(key)) for key, shape in shapes.items())
        return SQL("row_to_json((SELECT r FROM (SELECT {}) AS r))::text").format(listed)

    def visible(self, fields: FieldMap, scopes: Scopes) -> tuple[Composed, Values]:
        """Return the condition that a row may be seen; a table without any of the fields holds rows without a scope."""
        found = [field for path in fields.paths("scope") if (field := self.field(path)) is not None]
        bound: Values = {}

        def is_among(field: Field, names: Sequence[str]) -> Composed:
            condition, values = field.among(f"scopes_{len(bound)}", names)
            bound.update(values)
            return condition

        seen = scope_alternatives(found, scopes, is_among, lambda field: SQL("{} IS NULL").format(field.expression))
        either: list[Composable] = [SQL("({})").format(SQL(" AND ").join(all_)) for all_ in seen]
        if not found and None in scopes:
            either = [SQL("TRUE")]
        return SQL("({})").format(SQL(" OR ").join(either or [SQL("FALSE")])), bound


LEARN = SQL(
    "SELECT 'column', a.attname::text, format_type(y.oid, -1), y.typname::text, n.nspname::text "
    "FROM pg_attribute a JOIN pg_type y ON y.oid = a.atttypid JOIN pg_namespace n ON n.oid = y.typnamespace "
    "WHERE a.attrelid = to_regclass(%(table)s) AND a.attnum > 0 AND NOT a.attisdropped "
    "UNION ALL SELECT 'index', m.amname::text, NULL, NULL, NULL "
    "FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam "
    "WHERE i.indrelid = to_regclass(%(table)s) AND i.indisvalid AND i.indpred IS NULL "
    "UNION ALL SELECT 'version', extversion, NULL, NULL, NULL FROM pg_extension WHERE extname = 'vector'"
)
"""Everything that has to be known of a table, in one statement."""


def learned(shown: str, quoted: Composable, rows: Iterable[tuple[Any, ...]]) -> Table:
    """Return the table that the rows of `LEARN` describe.

    Raises
    ------
    StoreError
        If there is no such table.
    """
    catalogue: dict[str, list[tuple[Any, ...]]] = {}
    for kind, *values in rows:
        catalogue.setdefault(kind, []).append(tuple(values))
    columns = {
        # psycopg reads `%` in a statement as a placeholder, also inside names of types
        column: Column(type_.replace("%", "%%"), kind, schema)
        for column, type_, kind, schema in catalogue.get("column", [])
    }
    if not columns:
        raise StoreError(
            f"there is no table {shown!r} in reach of the connection: one in another schema is named with "
            "schema='...', beside the table's own name"
        )
    methods = frozenset(index[0] for index in catalogue.get("index", []))
    versions = [tuple(map(int, re.findall(r"\d+", one[0]))) for one in catalogue.get("version", [])]
    version = versions[0] if versions else None
    return Table(quoted, columns, methods, version)


def name(part: str) -> Identifier:
    """Return a quoted name; psycopg reads `%` in a statement as a placeholder, also inside names."""
    return Identifier(part.replace("%", "%%"))


def shown(part: str) -> str:
    """Return a name as it is written in SQL, for people."""
    return '"' + part.replace('"', '""') + '"'


def _write_literal(key: str) -> Literal:
    # keys are the user's configuration, and stand in the text so that indexes on expressions are found
    return Literal(key.replace("%", "%%"))
