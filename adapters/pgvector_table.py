"""A table of PostgreSQL: what is known of its columns and indexes, and the statements that ask it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

from psycopg.sql import SQL, Composable, Composed, Identifier, Literal

from retrivex.errors import StoreError

from .collection import Scopes
from .fields import FieldMap

Values: TypeAlias = dict[str, Any]

UNREADABLE = frozenset({"bytea", "tsvector", "vector", "halfvec", "sparsevec", "bit"})
"""Types of columns that are no metadata."""

_LARGEST = {"smallint": 2**15 - 1, "integer": 2**31 - 1, "bigint": 2**63 - 1}


@dataclass(frozen=True, slots=True)
class Column:
    """A column: `type` as PostgreSQL writes it, `kind` its bare name, `schema` where the type lives."""

    type: str
    kind: str
    schema: str


@dataclass(frozen=True, slots=True)
class Field:
    """Where a value is: an expression over the row `t`, and the type it has."""

    expression: Composed
    type: str = "text"
    inside: tuple[str, ...] = ()
    """Keys, where it is in JSON; its text is compared then."""

    def holds(self, value: str) -> bool:
        """Whether there can be such a value at all: asking for one that cannot is an error in PostgreSQL."""
        if self.type == "uuid":
            return _is_uuid(value)
        if self.type in _LARGEST:
            return value.isascii() and value.isdigit() and len(value) < 20 and int(value) <= _LARGEST[self.type]
        return "\0" not in value and _is_unicode(value)

    def among(self, name: str, values: Iterable[str]) -> tuple[Composed, Values]:
        """Return the condition that this is one of `values`, and what it binds under `name`."""
        bound = [value for value in values if self.holds(value)]
        return SQL("{} = ANY({})").format(self.expression, self.array(name)), {name: bound}

    def array(self, name: str) -> Composed:
        """Return the bound array `name`, of this type."""
        return SQL("%({})s::text[]::{}[]").format(SQL(name), SQL(self.type))


@dataclass(frozen=True, slots=True)
class Table:
    """A table as the catalogue describes it.

    Parameters
    ----------
    name : with its schema, quoted
    columns : by name
    indexes : pairs of the method and the first thing it indexes, as PostgreSQL writes both
    version : of pgvector, None where it is not installed
    """

    name: Composable
    columns: Mapping[str, Column]
    indexes: frozenset[tuple[str, str]]
    version: tuple[int, ...] | None

    def field(self, path: str | None) -> Field | None:
        """Return where the value at `path` is: a column, or keys inside one of JSON; None where there is none."""
        if path is None:
            return None
        if path in self.columns:
            return Field(SQL("t.{}").format(name(path)), self.columns[path].type)
        column, *keys = path.split(".")
        if not keys or column not in self.columns or self.columns[column].kind not in ("json", "jsonb"):
            return None
        steps = [SQL(" -> {}").format(_literal(key)) for key in keys[:-1]]
        text = SQL("(t.{}{} ->> {})").format(name(column), SQL("").join(steps), _literal(keys[-1]))
        return Field(Composed([text]), "text", tuple(keys))

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

    def is_indexed(self, field: Field, path: str) -> bool:
        """Whether equality with a field can use an index."""
        wanted = _plain(path if not field.inside else f"{path.split('.')[0]}{_arrows(field.inside)}")
        return any(method in ("btree", "hash") and _plain(first) == wanted for method, first in self.indexes)

    def contains(self, fields: FieldMap) -> str | None:
        """Return the JSONB column whose GIN index finds document and number together; None where there is none."""
        roots = {(fields.path(known) or "").split(".", 1)[0] for known in ("doc_id", "chunk_id")}
        root = next(iter(roots))
        if len(roots) > 1 or root not in self.columns or self.columns[root].kind != "jsonb":
            return None
        return root if any(how == "gin" and _plain(first) == _plain(root) for how, first in self.indexes) else None

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
        listed = SQL(", ").join(SQL("t.{}").format(name(key)) for key in kept)
        return SQL("row_to_json((SELECT r FROM (SELECT {}) AS r))::text").format(listed)

    def visible(self, fields: FieldMap, scopes: Scopes) -> tuple[Composed, Values]:
        """Return the condition that a row may be seen; a table without the field holds rows without a scope."""
        field = self.field(fields.path("scope"))
        if field is None:
            return Composed([SQL("TRUE" if None in scopes else "FALSE")]), {}
        condition, values = field.among("scopes", sorted(scope for scope in scopes if scope is not None))
        if None in scopes:
            condition = SQL("({} OR {} IS NULL)").format(condition, field.expression)
        return condition, values


LEARN = SQL(
    "SELECT 'column', a.attname::text, format_type(a.atttypid, -1), y.typname::text, n.nspname::text "
    "FROM pg_attribute a JOIN pg_type y ON y.oid = a.atttypid JOIN pg_namespace n ON n.oid = y.typnamespace "
    "WHERE a.attrelid = to_regclass(%(table)s) AND a.attnum > 0 AND NOT a.attisdropped "
    "UNION ALL SELECT 'index', m.amname::text, pg_get_indexdef(i.indexrelid, 1, false), NULL, NULL "
    "FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam "
    "WHERE i.indrelid = to_regclass(%(table)s) AND i.indisvalid AND i.indpred IS NULL "
    "UNION ALL SELECT 'version', extversion, NULL, NULL, NULL FROM pg_extension WHERE extname = 'vector'"
)
"""Everything that has to be known of a table, in one statement."""


def learned(shown: str, quoted: Composable, rows: Iterable[tuple[Any, ...]]) -> Table:
    """Return the table that `LEARN` told of.

    Raises
    ------
    StoreError
        If there is no such table.
    """
    columns: dict[str, Column] = {}
    indexes: set[tuple[str, str]] = set()
    version = None
    for kind, first, second, third, fourth in rows:
        if kind == "column":
            columns[first] = Column(second, third, fourth)
        elif kind == "index":
            indexes.add((first, second))
        else:
            version = tuple(int(part) for part in re.findall(r"\d+", first))
    if not columns:
        raise StoreError(
            f"there is no table {shown!r} in reach of the connection: one in another schema is named with "
            "schema='...', beside the table's own name"
        )
    return Table(quoted, columns, frozenset(indexes), version)


def name(part: str) -> Identifier:
    """Return a quoted name; psycopg reads `%` in a statement as a placeholder, also inside names."""
    return Identifier(part.replace("%", "%%"))


def shown(part: str) -> str:
    """Return a name as it is written in SQL, for people."""
    return '"' + part.replace('"', '""') + '"'


def _literal(key: str) -> Literal:
    # keys are the user's configuration, and stand in the text so that indexes on expressions are found
    return Literal(key.replace("%", "%%"))


def _arrows(keys: tuple[str, ...]) -> str:
    quoted = ["'" + key.replace("'", "''") + "'" for key in keys]
    return "".join(f"->{key}" for key in quoted[:-1]) + f"->>{quoted[-1]}"


def _plain(written: str) -> str:
    """Return what an index is on without quotes, casts of keys, brackets and blanks."""
    return re.sub(r'::text|["() ]', "", written)


def _is_uuid(value: str) -> bool:
    try:
        UUID(value)
    except ValueError:
        return False
    return True


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return False
    return True
