"""Metadata filters as SQL: field names come from a fixed list, every value is bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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

_BOUNDS = {"min": ">=", "max": "<=", "above": ">", "below": "<"}
# LIKE would read % and _ in the text, and ignore the case of ASCII letters alone
_TEXTS: dict[str, tuple[str, Callable[[str], list[Any]]]] = {
    "contains": ("instr({0}, ?) > 0", lambda text: [text]),
    "starts": ("substr({0}, 1, ?) = ?", lambda text: [len(text), text]),
    "ends": ("substr({0}, -?) = ?", lambda text: [len(text), text]),
}
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

_Test: TypeAlias = Callable[[str], tuple[str, list[Any]]]


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
    conditions, values = _conditions(where or {}, 0)
    count = _count_fields(where or {})
    if count > _MOST_FIELDS:
        raise StoreError(f"where names {count:,} fields: the limit is {_MOST_FIELDS}; ask for fewer")
    if len(values) > _MOST_VALUES:
        raise StoreError(f"where compares {len(values):,} values: the limit is {_MOST_VALUES:,}; ask for fewer at once")
    return "".join(f" AND {condition}" for condition in conditions), values


def _count_fields(where: Mapping[str, Any]) -> int:
    """Return how many fields it names on all levels; a mapping without any counts as one."""
    parts = [part for name in _GROUPS if name in where for part in _parts(where[name], name)]
    return sum(field not in _GROUPS for field in where) + sum(map(_count_fields, parts)) if where else 1


def _parts(wanted: Any, name: str) -> Any:
    return [wanted] if name == "not" else wanted


def _conditions(where: Mapping[str, Any], depth: int) -> tuple[list[str], list[Any]]:
    """Return one condition for each field, in brackets, and the values to bind."""
    made: list[str] = []
    values: list[Any] = []
    for field, wanted in where.items():
        if not isinstance(field, str):
            raise StoreError(f"where names the field {quoted(field)}: fields are {_FIELDS}")
        condition, bound = _group(field, wanted, depth) if field in _GROUPS else _condition(field, wanted)
        made.append(f"({condition})")
        values += bound
    return made, values


def _group(name: str, wanted: Any, depth: int) -> tuple[str, list[Any]]:
    parts = _parts(wanted, name)
    if not isinstance(parts, Sequence) or not parts or not all(isinstance(part, Mapping) for part in parts):
        rule = "a mapping of fields to values" if name == "not" else "a list of mappings of fields to values"
        raise StoreError(f"where {name} is {quoted(wanted)}: give {rule}")
    if depth >= MAX_DEPTH:
        raise StoreError(f"where holds more than {MAX_DEPTH} levels of {', '.join(_GROUPS)}: flatten it")
    made: list[str] = []
    values: list[Any] = []
    for part in parts:
        conditions, bound = _conditions(part, depth + 1)
        made.append(f"({' AND '.join(conditions) or '1'})")
        values += bound
    if name == "not":
        return f"NOT coalesce({made[0]}, 0)", values  # what is not set is NULL, of which NOT is NULL, too
    return (" OR " if name == "any" else " AND ").join(made), values


def _condition(field: str, wanted: Any) -> tuple[str, list[Any]]:
    if field == "heading":
        return _heading_condition(wanted)
    test = _value_test(field, wanted)
    if field in _COLUMNS:
        return test(_COLUMNS[field])
    if field.startswith(_PREFIX):
        return _metadata_condition(utf8(field.removeprefix(_PREFIX), "where names a field that"), wanted, test)
    raise StoreError(f"where names the field {field!r}: fields are {_FIELDS}")


def _heading_condition(wanted: Any) -> tuple[str, list[Any]]:
    titles = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(titles, Sequence) or not titles or not all(isinstance(title, str) for title in titles):
        raise StoreError(f"where heading is {quoted(wanted)}: give a title, or a list of titles from the outermost on")
    if len(titles) > _MOST_FIELDS:
        raise StoreError(f"where heading has {len(titles):,} titles: the limit is {_MOST_FIELDS}; give the first ones")
    sql = " AND ".join("json_extract(c.heading_path, ?) = ?" for _ in titles)
    return sql, [value for depth, title in enumerate(titles) for value in (f"$[{depth}]", utf8(title, "where heading"))]


def _metadata_condition(key: str, wanted: Any, test: _Test) -> tuple[str, list[Any]]:
    # json_each instead of a JSON path: a key is compared as a value, whatever characters it holds
    item_sql, item_values = test("item.atom")
    field_sql, field_values = test("field.atom")
    # a field that is null in JSON has a NULL atom like one that is a list: only the type distinguishes them
    condition = (
        "EXISTS (SELECT 1 FROM json_each(c.custom_metadata) field WHERE field.key = ? AND "
        f"CASE field.type WHEN 'array' THEN EXISTS (SELECT 1 FROM json_each(field.value) item WHERE {item_sql}) "
        f"WHEN 'object' THEN 0 ELSE {field_sql} END)"
    )
    values = [key, *item_values, *field_values]
    if _allows_missing(wanted):
        condition += " OR NOT EXISTS (SELECT 1 FROM json_each(c.custom_metadata) field WHERE field.key = ?)"
        values.append(key)
    return condition, values


def _allows_missing(wanted: Any) -> bool:
    return wanted is None or (isinstance(wanted, Iterable) and not isinstance(wanted, str | Mapping) and None in wanted)


def _value_test(field: str, wanted: Any) -> _Test:
    """Return a function from an SQL expression to the condition on it."""
    if isinstance(wanted, Mapping):
        return _operator_test(field, wanted)
    if isinstance(wanted, list | tuple | set | frozenset):
        return _membership_test([_make_comparable(field, value) for value in wanted])
    return _membership_test([_make_comparable(field, wanted)])


def _operator_test(field: str, wanted: Mapping[str, Any]) -> _Test:
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
    # SQLite sorts every text after every number: without the type, "unknown" would be later than 2020
    kinds = "('text')" if isinstance(operands[0][1], str) else "('integer', 'real')"
    parts = [_operation(name, value) for name, value in operands]
    return lambda sql: (
        " AND ".join([f"typeof({sql}) IN {kinds}", *(condition.format(sql) for condition, _ in parts)]),
        [value for _, values in parts for value in values],
    )


def _operation(name: str, value: Any) -> tuple[str, list[Any]]:
    """Return a condition with {0} in place of what is compared, and the values to bind."""
    if name in _BOUNDS:
        return f"{{0}} {_BOUNDS[name]} ?", [value]
    condition, bind = _TEXTS[name]
    return condition, bind(value)


def _membership_test(wanted: list[Any]) -> _Test:
    present = [value for value in wanted if value is not None]

    def test(sql: str) -> tuple[str, list[Any]]:
        condition = f"{sql} IN ({', '.join('?' * len(present))})"
        return (f"{condition} OR {sql} IS NULL" if len(present) < len(wanted) else condition), present

    return test


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
