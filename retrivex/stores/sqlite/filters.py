"""Metadata filters as SQL: field names come from a fixed list, every value is bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from retrivex.errors import StoreError, quoted
from retrivex.stores.sqlite.rows import utf8

Where: TypeAlias = Mapping[str, Any]
"""Field -> value, list of values (any of them) or `{"min": a, "max": b}` (inclusive, either may be left out).

Fields: `doc_id`, `source`, `page`, `timestamp`, `heading` (a title, or a list of titles: the beginning of the
heading path) and `metadata.<key>` for a custom metadata key, whose value may itself be a list. None stands for
"not set". All fields must match.
"""

# c is the chunk, d its document
_COLUMNS = {
    "doc_id": "d.doc_id",
    "source": "d.source",
    "page": "c.page",
    "timestamp": "coalesce(c.timestamp, d.timestamp)",
}
_KINDS = {"doc_id": "text", "source": "text", "page": "number", "timestamp": "number"}
_PREFIX = "metadata."
_MOST_FIELDS = 100  # SQLite takes an expression of 1,000 conditions, and JSON is searched for each
_MOST_VALUES = 30_000  # SQLite binds 32,766 values, some of them the search's own
_FIELDS = f"{', '.join(_COLUMNS)}, heading and {_PREFIX}<key>"

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
    sql, values = "", []
    if where and len(where) > _MOST_FIELDS:
        raise StoreError(f"where names {len(where):,} fields: the limit is {_MOST_FIELDS}; ask for fewer")
    for field, wanted in (where or {}).items():
        if not isinstance(field, str):
            raise StoreError(f"where names the field {quoted(field)}: fields are {_FIELDS}")
        condition, bound = _condition(field, wanted)
        sql += f" AND ({condition})"
        values += bound
    if len(values) > _MOST_VALUES:
        raise StoreError(f"where compares {len(values):,} values: the limit is {_MOST_VALUES:,}; ask for fewer at once")
    return sql, values


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
        return _range_test(field, wanted)
    if isinstance(wanted, list | tuple | set | frozenset):
        return _membership_test([_make_comparable(field, value) for value in wanted])
    return _membership_test([_make_comparable(field, wanted)])


def _range_test(field: str, wanted: Mapping[str, Any]) -> _Test:
    operators, given = {"min": ">=", "max": "<="}, quoted(dict(wanted))
    unknown = [name for name in wanted if name not in operators]
    if unknown or not wanted:
        raise StoreError(
            f"where {field} is {given}: the operators are 'min' and 'max'; for anything else give a value or "
            "a list of values"
        )
    bounds = [(operators[name], _make_comparable(field, value)) for name, value in wanted.items()]
    if any(value is None for _, value in bounds):
        raise StoreError(f"where {field} is {given}: a bound must be a number or a text; leave it out instead")
    texts = {isinstance(value, str) for _, value in bounds}
    if len(texts) > 1 or (field in _KINDS and texts != {_KINDS[field] == "text"}):
        kind = _KINDS.get(field, "number, or each a text")
        raise StoreError(f"where {field} is {given}: each bound must be a {kind}, as nothing else is between")
    # SQLite sorts every text after every number: without the type, "unknown" would be later than 2020
    kinds = "('text')" if isinstance(bounds[0][1], str) else "('integer', 'real')"
    return lambda sql: (
        " AND ".join([f"typeof({sql}) IN {kinds}", *(f"{sql} {sign} ?" for sign, _ in bounds)]),
        [value for _, value in bounds],
    )


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
    raise StoreError(
        f"where {field} asks for {quoted(value)}: only texts, numbers, true, false and None can be compared"
    )
