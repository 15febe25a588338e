"""Filters for Milvus: field names from its schema, values bound as parameters or quoted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from retrivex.errors import StoreError

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
    metrics : of the vector fields that have an index
    indexed : columns, and paths into JSON, that have an index
    lite : whether it is Milvus Lite, which knows no templates and no index on JSON
    """

    key: str
    types: Mapping[str, str]
    nullable: frozenset[str]
    dynamic: bool
    auto_id: bool
    vector: str | None
    metrics: Mapping[str, str]
    indexed: frozenset[tuple[str, ...]]
    lite: bool

    def name(self, path: str, *, root: str | None = None, whole: bool = False) -> str | None:
        """Return a field as a filter calls it; None where no record can have it.

        With `whole`, what comes after `root`, or after the name of a column, is one key, dots and all.
        """
        if re.search(r"[\x00-\x1f\"'\\\[\]]", path):
            raise StoreError(f"fields names {path!r}: Milvus filters by no name with quotes, brackets or backslashes")
        first, *keys = self._keys(path, root, whole=whole)
        if first in self.types:
            return first + _keys(keys) if not keys or self.types[first] == "JSON" else None
        if not self.dynamic:
            return None
        plain = not keys and re.fullmatch(r"[A-Za-z_]\w*", first, re.ASCII) and first.lower() not in _WORDS
        return first if plain else "$meta" + _keys([first, *keys])

    def _keys(self, path: str, root: str | None, *, whole: bool) -> list[str]:
        if path in self.types or not whole:
            return [path] if path in self.types else path.split(".")
        head = root or path.partition(".")[0]
        inside = path.startswith(f"{head}.") and (root is not None or head in self.types)
        return [head, path[len(head) + 1 :]] if inside else [path]

    def is_indexed(self, name: str) -> bool:
        """Say whether a field, called as in a filter, has an index."""
        return _parts(name) in self.indexed

    def has_columns(self, described: Mapping[str, Any]) -> bool:
        """Say whether a collection, as the server describes it, has these columns and no others."""
        return self.types.keys() == {column["name"] for column in described["fields"]}

    def searched_by(self, vector: str) -> Schema:
        """Return the same with another vector field."""
        return replace(self, vector=vector)

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
    described: Mapping[str, Any], types: Mapping[str, str], indexes: Sequence[Mapping[str, Any]], version: str
) -> Schema:
    """Read what a server says of a collection and its indexes."""
    floats = [name for name, type_ in types.items() if type_ == "FLOAT_VECTOR"]
    key = next(column for column in described["fields"] if column.get("is_primary"))
    return Schema(
        key=key["name"],
        types=types,
        nullable=frozenset(column["name"] for column in described["fields"] if column.get("nullable")),
        dynamic=bool(described.get("enable_dynamic_field")),
        auto_id=bool(key.get("auto_id") or described.get("auto_id")),
        vector=floats[0] if len(floats) == 1 else None,
        metrics={index["field_name"]: str(index["metric_type"]) for index in indexes if index.get("metric_type")},
        indexed=frozenset(path for index in indexes for path in _name_indexed(index)),
        lite=version.startswith("milvus_lite"),
    )


def _name_indexed(index: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return what an index covers, by both names that its path may have: with the column and without."""
    within = index.get("params")
    path = index.get("json_path") or (within.get("json_path") if isinstance(within, Mapping) else None)
    if not path:
        return [(index["field_name"],)]
    return [_parts(path), (index["field_name"], *_parts(path))]


def _parts(name: str) -> tuple[str, ...]:
    """Split `metadata["source"]`, or `/source`."""
    return tuple(part for part in re.split(r"[\[\]\"'/]+", name) if part and part != "$meta")


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

    def value(self, given: str | int | Sequence[str] | Sequence[int]) -> str:
        """Return what stands for a value."""
        if self._lite:
            return _write_literal(given)
        name = f"v{len(self.values)}"
        self.values[name] = given if isinstance(given, (str, int)) else list(given)
        return f"{{{name}}}"

    def one_of(self, name: str, values: Sequence[str] | Sequence[int]) -> str:
        """Return the condition that a field has one of these values, of which there is at least one."""
        if len(values) == 1:
            return f"{name} == {self.value(values[0])}"
        if self._lite and "[" in name:  # Lite compares a path into JSON with one value at a time
            return any_of([f"{name} == {self.value(value)}" for value in values])
        return f"{name} in {self.value(values)}"


def _write_literal(given: Any) -> str:
    if isinstance(given, str):
        return f'"{given.translate(_ESCAPES)}"'
    return str(given) if isinstance(given, int) else f"[{','.join(map(_write_literal, given))}]"


def any_of(terms: Sequence[str]) -> str:
    """Join conditions by `or`, as a balanced tree: parsers give up on a thousand levels."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return f"({any_of(terms[:half])} or {any_of(terms[half:])})"
