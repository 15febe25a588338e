"""Filters for Milvus: field names from its schema, values bound as parameters or quoted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pymilvus import DataType

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
    lite : whether it is Milvus Lite, which knows no templates
    """

    key: str
    types: Mapping[str, str]
    nullable: frozenset[str]
    dynamic: bool
    auto_id: bool
    vector: str | None
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
    key = next(column for column in described["fields"] if column.get("is_primary"))
    return Schema(
        key=key["name"],
        types=types,
        nullable=frozenset(column["name"] for column in described["fields"] if column.get("nullable")),
        dynamic=bool(described.get("enable_dynamic_field")),
        auto_id=bool(key.get("auto_id") or described.get("auto_id")),
        vector=vector_name or (floats[0] if len(floats) == 1 else None),
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
