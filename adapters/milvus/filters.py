"""Filters for Milvus: field names from its schema, values bound as parameters or quoted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pymilvus import DataType, FunctionType

from retrivex.errors import StoreError

from ..base.fields import FieldMap
from ..base.where import ROUNDED, Dialect, FieldTest, Pushed

_WORDS = frozenset({"and", "or", "not", "in", "like", "exists", "is", "null", "isnull", "isnotnull", "true", "false"})
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


@dataclass(frozen=True, slots=True)
class Schema:
    """The parts of a collection's schema that requests need.

    Parameters
    ----------
    key : name of the primary key
    types : of the columns, by name, as Milvus calls them
    nullable : columns that may be empty
    dynamic : whether there are fields beside the columns
    auto_id : whether the server makes the ids
    vector : the field of the nearest neighbours; None where that is not clear
    words : the field of sparse vectors that a BM25 function fills; None where there is none
    metrics : of the vector fields that have an index
    lite : whether it is Milvus Lite, which knows no templates
    """

    key: str
    types: Mapping[str, str]
    nullable: frozenset[str]
    dynamic: bool
    auto_id: bool
    vector: str | None
    words: str | None
    metrics: Mapping[str, str]
    lite: bool

    def name(self, path: str) -> str | None:
        """Return a field as a filter calls it; None where no record can have it."""
        if re.search(r"[\x00-\x1f\"'\\\[\]]", path):
            raise StoreError(f"fields names {path!r}: Milvus filters by no name with quotes, brackets or backslashes")
        first, *keys = [path] if path in self.types else path.split(".")
        if first in self.types:
            return first + _keys(keys) if not keys or self.types[first] == "JSON" else None
        if not self.dynamic:
            return None
        plain = not keys and re.fullmatch(r"[A-Za-z_]\w*", first, re.ASCII) and first.lower() not in _WORDS
        return first if plain else "$meta" + _keys([first, *keys])

    @property
    def vectors(self) -> frozenset[str]:
        """Columns that hold vectors, of any kind."""
        return frozenset(name for name, type_ in self.types.items() if type_.endswith("VECTOR"))

    @property
    def output(self) -> list[str]:
        """All fields but the vectors."""
        columns = [name for name in self.types if name not in self.vectors]
        return [*columns, *(["$meta"] if self.dynamic else [])]


def parse_schema(
    described: Mapping[str, Any], indexes: Sequence[Mapping[str, Any]], version: str, vector_name: str | None
) -> Schema:
    """Read what a server says of a collection and its indexes.

    Raises
    ------
    StoreError
        If there are no float vectors of that name.
    """
    types = {column["name"]: DataType(column["type"]).name for column in described["fields"]}
    floats = [name for name, type_ in types.items() if type_ == "FLOAT_VECTOR"]
    if vector_name is not None and vector_name not in floats:
        raise StoreError(f"vector_name is {vector_name!r}: there is no such field of float vectors")
    functions = [{**made, "type": FunctionType(made["type"])} for made in described.get("functions") or ()]
    key = next(column for column in described["fields"] if column.get("is_primary"))
    return Schema(
        key=key["name"],
        types=types,
        nullable=frozenset(column["name"] for column in described["fields"] if column.get("nullable")),
        dynamic=bool(described.get("enable_dynamic_field")),
        auto_id=bool(key.get("auto_id") or described.get("auto_id")),
        vector=vector_name or (floats[0] if len(floats) == 1 else None),
        words=next((made["output_field_names"][0] for made in functions if "BM25" in made["type"].name), None),
        metrics={index["field_name"]: str(index["metric_type"]) for index in indexes if index.get("metric_type")},
        lite=version.startswith("milvus_lite"),
    )


def _keys(keys: Iterable[str]) -> str:
    return "".join(f'["{key}"]' for key in keys)


class Filter:
    """A filter under construction, with values as parameters, or quoted for Milvus Lite, which has no parameters.

    Parameters
    ----------
    schema : of the collection that is filtered
    """

    def __init__(self, schema: Schema) -> None:
        self.values: dict[str, Any] = {}
        self._lite = schema.lite

    def value(self, given: str | float | Sequence[str] | Sequence[int] | Sequence[float]) -> str:
        """Return what stands for a value."""
        if self._lite:
            return _write_literal(given)
        name = f"v{len(self.values)}"
        self.values[name] = given if isinstance(given, (str, int, float)) else list(given)
        return f"{{{name}}}"

    def one_of(self, name: str, values: Sequence[str] | Sequence[int] | Sequence[float]) -> str:
        """Return the condition that a field has one of these values, of which there is at least one."""
        if len(values) == 1:
            return f"{name} == {self.value(values[0])}"
        if self._lite and "[" in name:  # Lite compares a path into JSON with one value at a time
            return any_of([f"{name} == {self.value(value)}" for value in values])
        return f"{name} in {self.value(values)}"


def _write_literal(given: Any) -> str:
    if isinstance(given, str):
        return f'"{given.translate(_ESCAPES)}"'
    if isinstance(given, bool):
        return str(given).lower()
    return repr(given) if isinstance(given, (int, float)) else f"[{','.join(map(_write_literal, given))}]"


_BOUNDS = {"min": ">=", "max": "<=", "above": ">", "below": "<"}
_NUMBERS = frozenset({"INT8", "INT16", "INT32", "INT64", "FLOAT", "DOUBLE"})


class MilvusDialect(Dialect[str]):
    """Filters of Milvus; which records a `not` finds beside those that it should depends on the version.

    Parameters
    ----------
    schema : of the collection
    fields : names in it
    written : takes the values
    """

    def __init__(self, schema: Schema, fields: FieldMap, written: Filter) -> None:
        self._schema, self._fields, self._written = schema, fields, written

    def test(self, test: FieldTest) -> Pushed[str]:
        """Translate one test."""
        paths = test.paths(self._fields)
        path = next((one for one in paths if one in self._schema.types), paths[0])
        column, *inside = test.field.split(".")
        if inside and column in self._schema.types and path.partition(".")[0] not in self._schema.types:
            if self._schema.dynamic:  # it may be beside the column, too
                return Pushed(None, False)
            path = test.field
        try:
            name = self._schema.name(path)
        except StoreError:  # a key that no filter can name
            return Pushed(None, False)
        if name is None:
            return Pushed(None if test.missing else self._never, False)
        kind = self._schema.types.get(path, "JSON")
        either = self._among(test, name, kind) if test.bounds is None else self._within(test, name, kind)
        if either is None or test.titles or (test.missing and kind != "JSON" and path not in self._schema.nullable):
            return Pushed(None, False)
        if test.missing:
            either.append(f"not exists {name}" if kind == "JSON" else f"{name} is null")
        return Pushed(any_of([f"({one})" for one in either]) if either else self._never, False)

    @property
    def _never(self) -> str:
        return f"{self._schema.key} in []"

    def _among(self, test: FieldTest, name: str, kind: str) -> list[str] | None:
        """Return the conditions of which one holds; None where a field of that kind cannot be asked."""
        is_whole = kind.startswith("INT")
        numbers = [value for value in test.numbers if isinstance(value, int) or not is_whole]
        if not is_whole and (kind != "JSON" or float in map(type, numbers)):
            numbers = [float(value) for value in numbers]
        # Lite looks for items of a list one key deep
        if kind not in ("JSON", "VARCHAR", "BOOL", *_NUMBERS) or (self._schema.lite and name.count("[") > 1):
            return None
        kinds: list[tuple[bool, list[Any]]] = [
            (kind == "VARCHAR", test.texts), (kind in _NUMBERS, numbers), (kind == "BOOL", list(test.truths))
        ]  # fmt: skip
        asked = [given for known, given in kinds if given and (known or kind == "JSON")]
        alone = self._schema.lite and kind == "JSON"  # Lite looks for no list among several values
        parts = [part for given in asked for part in ([[one] for one in given] if alone else [given])]
        either = [self._written.one_of(name, part) for part in parts]
        listed = asked if kind == "JSON" else []
        return [*either, *(f"json_contains_any({name}, {self._written.value(given)})" for given in listed)]

    def _within(self, test: FieldTest, name: str, kind: str) -> list[str] | None:
        rounds = kind == "FLOAT" or (test.is_rounded and kind in ("DOUBLE", "JSON"))
        bounds: Mapping[str, Any] = test.loosened if rounds and not test.is_of_texts else test.bounds or {}
        if kind not in ("JSON", "VARCHAR", *_NUMBERS) or not _BOUNDS.keys() >= bounds.keys():
            return None
        if kind != "JSON" and test.is_of_texts != (kind == "VARCHAR"):
            return []
        rounded = {op: ROUNDED[op](one) if kind.startswith("INT") else one for op, one in bounds.items()}
        each = " and ".join(f"{name} {_BOUNDS[op]} {self._written.value(one)}" for op, one in rounded.items())
        return [each, *(f"{name} == {self._written.value(truth)}" for truth in test.truths if kind == "JSON")]

    def any_of(self, conditions: Sequence[str]) -> str:
        """Join conditions of which one must hold."""
        return any_of(conditions)

    def all_of(self, conditions: Sequence[str]) -> str:
        """Join conditions that must hold together."""
        return f"({' and '.join(conditions)})"


def any_of(terms: Sequence[str]) -> str:
    """Join conditions by `or`, as a balanced tree: parsers give up on a thousand levels."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return f"({any_of(terms[:half])} or {any_of(terms[half:])})"
