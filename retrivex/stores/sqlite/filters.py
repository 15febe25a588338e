"""Metadata filters as SQL: field names come from a fixed list, every value is bound."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from retrivex.errors import StoreError, quoted
from retrivex.stores.sqlite.rows import utf8

Where: TypeAlias = Mapping[str, Any]
"""Field -> value, list of values (any of them) or an object of operators, all of which must hold.

Operators: `min` and `max` (inclusive), `above` and `below` (exclusive), `contains`, `starts` and `ends` (of a text).
Fields: `doc_id`, `source`, `page`, `timestamp`, `heading` (a title, or a list of titles: the beginning of the
heading path) and `metadata.<key>` for a custom metadata key, whose value may itself be a list. None stands for
"not set". All fields must match. `all` and `any` take a list of such mappings, `not` takes one: what it does not match
includes chunks that lack the field.
"""

MAX_DEPTH = 8
"""Levels of `all`, `any` and `not` within one another."""

_BOUNDS = {"min": "{0} >= ?", "max": "{0} <= ?", "above": "{0} > ?", "below": "{0} < ?"}
# LIKE would read % and _ in the text, and ignore the case of ASCII letters alone; the first of two values is the length
_TEXTS = {"contains": "instr({0}, ?) > 0", "starts": "substr({0}, 1, ?) = ?", "ends": "substr({0}, -?) = ?"}
_OPERATORS = f"{', '.join([*_BOUNDS, *list(_TEXTS)[:-1]])} and {list(_TEXTS)[-1]}"
_GROUPS = ("all", "any", "not")

# c is the chunk, d its document
_COLUMNS = {
    "doc_id": "d.doc_id",
    "source": "d.source",
    "page": "c.page",
    "timestamp": "coalesce(c.timestamp, d.timestamp)",
}
_KINDS = {"doc_id": "text", "source": "text", "page": "number", "timestamp": "number"}
_PREFIX = "metadata."
_MOST_FIELDS = 200  # SQLite takes an expression of 1,000 conditions, and JSON is searched for each
_MOST_VALUES = 30_000  # SQLite binds 32,766 values, some of them the search's own
_FIELDS = f"{', '.join(_COLUMNS)}, heading and {_PREFIX}<key>; {', '.join(_GROUPS)} hold others"

_Test: TypeAlias = Callable[[str], str]
"""From an SQL expression to the condition on it, whose values it binds."""


def compile_where(where: Where | None) -> tuple[str, list[Any]]:
    """Return SQL for `where`, to stand after a condition, and the values to bind.

    Raises
    ------
    StoreError
        If a field or an operator is unknown, a value is of a kind that cannot be compared, or there are too many.

    Examples
    --------
    >>> compile_where({"page": {"min": 3}, "doc_id": ["a.md", "b.md"]})
    (" AND (typeof(c.page) IN ('integer', 'real') AND c.page >= ?) AND (d.doc_id IN (?, ?))", [3, 'a.md', 'b.md'])
    """
    if where is not None and not isinstance(where, Mapping):
        raise StoreError(
            f"where is {quoted(where)}: give a mapping of fields to values, e.g. {{'page': 3}}, or None for all"
        )
    made = _Compiler()
    sql = "".join(f" AND {condition}" for condition in made.conditions(where or {}, 0))
    if made.fields > _MOST_FIELDS:
        raise StoreError(f"where names {made.fields:,} fields: the limit is {_MOST_FIELDS}; ask for fewer")
    if len(made.values) > _MOST_VALUES:
        count = f"{len(made.values):,} values"
        raise StoreError(f"where compares {count}: the limit is {_MOST_VALUES:,}; ask for fewer at once")
    return sql, made.values


class _Compiler:
    """Makes the conditions of a filter, and gathers their values in the order of the question marks."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.fields = 0

    def conditions(self, where: Mapping[str, Any], depth: int) -> list[str]:
        """Return one condition for each field, in brackets."""
        made = []
        for field, wanted in where.items():
            if not isinstance(field, str):
                raise StoreError(f"where names the field {quoted(field)}: fields are {_FIELDS}")
            made.append(f"({self._group(field, wanted, depth) if field in _GROUPS else self._field(field, wanted)})")
        return made

    def _group(self, name: str, wanted: Any, depth: int) -> str:
        parts = [wanted] if name == "not" else wanted
        if not isinstance(parts, Sequence) or not parts or not all(isinstance(part, Mapping) for part in parts):
            rule = "a mapping of fields to values" if name == "not" else "a list of mappings of fields to values"
            raise StoreError(f"where {name} is {quoted(wanted)}: give {rule}")
        if depth >= MAX_DEPTH:
            raise StoreError(f"where holds more than {MAX_DEPTH} levels of {', '.join(_GROUPS)}: flatten it")
        self.fields += sum(not part for part in parts)  # a mapping without fields is a condition as well
        made = [f"({' AND '.join(self.conditions(part, depth + 1)) or '1'})" for part in parts]
        if name == "not":
            return f"NOT coalesce({made[0]}, 0)"  # what is not set is NULL, of which NOT is NULL, too
        return (" OR " if name == "any" else " AND ").join(made)

    def _field(self, field: str, wanted: Any) -> str:
        self.fields += 1
        if field == "heading":
            return self._heading(wanted)
        if isinstance(wanted, Mapping):
            test: _Test = partial(self._compare, _operands(field, wanted))
        else:
            test = partial(self._is_among, [_make_comparable(field, value) for value in _values(wanted)])
        if field in _COLUMNS:
            return test(_COLUMNS[field])
        if field.startswith(_PREFIX):
            return self._metadata(utf8(field.removeprefix(_PREFIX), "where names a field that"), wanted, test)
        raise StoreError(f"where names the field {field!r}: fields are {_FIELDS}")

    def _heading(self, wanted: Any) -> str:
        titles = [wanted] if isinstance(wanted, str) else wanted
        if not isinstance(titles, Sequence) or not titles or not all(isinstance(title, str) for title in titles):
            raise StoreError(
                f"where heading is {quoted(wanted)}: give a title, or a list of titles from the outermost on"
            )
        if len(titles) > _MOST_FIELDS:
            raise StoreError(
                f"where heading has {len(titles):,} titles: the limit is {_MOST_FIELDS}; give the first ones"
            )
        for depth, title in enumerate(titles):
            self.values += [f"$[{depth}]", utf8(title, "where heading")]
        return " AND ".join("json_extract(c.heading_path, ?) = ?" for _ in titles)

    def _metadata(self, key: str, wanted: Any, test: _Test) -> str:
        # json_each instead of a JSON path: a key is compared as a value, whatever characters it holds
        self.values.append(key)
        item, field = test("item.atom"), test("field.atom")
        # a field that is null in JSON has a NULL atom like one that is a list: only the type distinguishes them
        condition = (
            "EXISTS (SELECT 1 FROM json_each(c.custom_metadata) field WHERE field.key = ? AND "
            f"CASE field.type WHEN 'array' THEN EXISTS (SELECT 1 FROM json_each(field.value) item WHERE {item}) "
            f"WHEN 'object' THEN 0 ELSE {field} END)"
        )
        if None in _values(wanted):
            self.values.append(key)
            condition += " OR NOT EXISTS (SELECT 1 FROM json_each(c.custom_metadata) field WHERE field.key = ?)"
        return condition

    def _is_among(self, wanted: Sequence[Any], sql: str) -> str:
        present = [value for value in wanted if value is not None]
        self.values += present
        condition = f"{sql} IN ({', '.join('?' * len(present))})"
        return f"{condition} OR {sql} IS NULL" if len(present) < len(wanted) else condition

    def _compare(self, operands: Sequence[tuple[str, Any]], sql: str) -> str:
        # SQLite sorts every text after every number: without the type, "unknown" would be later than 2020
        kinds = "('text')" if isinstance(operands[0][1], str) else "('integer', 'real')"
        parts = [f"typeof({sql}) IN {kinds}"]
        for name, value in operands:
            condition = {**_BOUNDS, **_TEXTS}[name]
            parts.append(condition.format(sql))
            self.values += [value] if condition.count("?") == 1 else [len(value), value]
        return " AND ".join(parts)


def _values(wanted: Any) -> Collection[Any]:
    return wanted if isinstance(wanted, list | tuple | set | frozenset) else [wanted]


def _operands(field: str, wanted: Mapping[str, Any]) -> list[tuple[str, Any]]:
    given = quoted(dict(wanted))
    if not wanted or any(name not in _BOUNDS and name not in _TEXTS for name in wanted):
        raise StoreError(f"where {field} is {given}: the operators are {_OPERATORS}; or give a value or a list")
    operands = [(name, _make_comparable(field, value)) for name, value in wanted.items()]
    if any(value is None for _, value in operands):
        raise StoreError(f"where {field} is {given}: a bound must be a number or a text; leave it out instead")
    if any(name in _TEXTS and not (isinstance(value, str) and value) for name, value in operands):
        raise StoreError(f"where {field} is {given}: {', '.join(_TEXTS)} need a text that is not empty")
    texts = {isinstance(value, str) for _, value in operands}
    if len(texts) > 1 or (field in _KINDS and texts != {_KINDS[field] == "text"}):
        kind = _KINDS.get(field, "number, or each a text")
        raise StoreError(f"where {field} is {given}: each bound must be a {kind}, as nothing else is between")
    return operands


def _make_comparable(field: str, value: Any) -> Any:
    if isinstance(value, str):
        return utf8(value, f"where {field}")
    if value is None or (isinstance(value, int | float) and abs(value) < 2**63):
        return value
    if isinstance(value, int | float):
        rule = "a number must lie between -2**63 and 2**63, about 9.2e18; keep larger ones as texts"
    else:
        rule = "only texts, numbers, true, false and None can be compared"
    raise StoreError(f"where {field} asks for {quoted(value)}: {rule}")
