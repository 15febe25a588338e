"""Requests as filters of one Milvus collection, and the records that are written to it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pymilvus import MilvusClient

from retrivex.errors import StoreError
from retrivex.model.window import Window

from ..base.collection import ByIds, ByWindows, Nearest, Request, Scan, Scopes, by_range
from ..base.fields import FieldMap, whole_digits
from ..base.scopes import scope_alternatives
from .filters import Filter, MilvusDialect, Schema, any_of

_BATCH = 1000  # records that are read, changed and upserted at a time
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class MilvusQuery:
    """Filters over one collection.

    Parameters
    ----------
    name : of the collection, for errors
    fields : names in it
    schema : what is known of it

    Raises
    ------
    StoreError
        If a field is needed that no record can have.
    """

    name: str
    fields: FieldMap
    schema: Schema

    def filter(self, request: Request) -> dict[str, Any]:
        """Return the filter of a request, and its values, as arguments of the client."""
        written = Filter(self.schema)
        terms = [term for term in self._terms(request, written) if term]
        asked = " and ".join(terms)
        # what only a part names that is left to the check is not sent
        return {"filter": asked, "filter_params": {k: v for k, v in written.values.items() if f"{{{k}}}" in asked}}

    def ids(self, ids: Sequence[str]) -> Sequence[str] | Sequence[int]:
        """Return ids as the collection keeps them."""
        if self.schema.types[self.schema.key] == "VARCHAR":
            return ids
        numbers = [int(id_) for id_ in ids if re.fullmatch(r"-?\d{1,19}", id_, re.ASCII)]
        if len(numbers) < len(ids):
            raise StoreError(f"make_id gave {ids[0]!r}: the ids of {self.name} are whole numbers")
        return numbers

    def _terms(self, request: Request, written: Filter) -> list[str]:
        match request:
            case ByIds(ids, scopes):
                return [written.one_of(self.schema.key, self.ids(ids)), self._scopes(scopes, written)]
            case ByWindows(windows, scopes):
                return [self._windows(windows, written), self._scopes(scopes, written)]
            case Nearest(scopes=scopes, where=where):
                wanted = MilvusDialect(self.schema, self.fields, written).translate(where)
                return [self._scopes(scopes, written), wanted or ""]
            case Scan(after):
                return [] if after is None else [f"{self.schema.key} > {written.value(after)}"]

    def _windows(self, windows: Sequence[Window], written: Filter) -> str:
        """Put documents of the same range together: most have few."""
        doc_id, number = self._field("doc_id"), self._field("chunk_id")
        path = self.fields.paths("doc_id")[0]
        as_text = self.schema.types.get(self.fields.paths("chunk_id")[0]) == "VARCHAR"
        terms = [
            f"({self._one_of(path, doc_id, names, written)} and {_filter_range(number, span, written, as_text)})"
            for span, names in by_range(windows).items()
        ]
        return any_of(terms)

    def _one_of(self, path: str, called: str, names: Sequence[str], written: Filter) -> str:
        """Return the condition that a field holds one of these names, which may be kept as numbers."""
        numbers = [int(name) for name in names if whole_digits(name) and int(name) <= _LARGEST]
        kind = self.schema.types.get(path)
        if kind == "VARCHAR" or (kind is None and not numbers):
            return written.one_of(called, names)
        as_number = [written.one_of(called, numbers)] if numbers else [f"{called} in []"]
        return as_number[0] if kind is not None else any_of([written.one_of(called, names), *as_number])

    def _field(self, name: str) -> str:
        path = self.fields.path(name)
        found = None if path is None else self.schema.name(path)
        if found is None:
            raise StoreError(
                f"{self.name} has no field {path!r}: its columns are {', '.join(self.schema.types)}; name it with "
                f"fields=FieldMap({name}=...), or say how ids are made with make_id=..."
            )
        return found

    def _scopes(self, scopes: Scopes, written: Filter) -> str:
        names = {self.schema.name(path): path for path in self.fields.paths("scope")}
        known = [name for name in names if name is not None]

        def is_missing(name: str) -> str | None:
            if names[name] not in self.schema.types:  # `is null` asks for the whole JSON and not for a key of it
                return f"not exists {name}"
            return f"{name} is null" if names[name] in self.schema.nullable else None

        def is_among(name: str, values: Sequence[str]) -> str:
            return self._one_of(names[name], name, values, written)

        alternatives = scope_alternatives(known, scopes, is_among, is_missing)
        return any_of([f"({' and '.join(all_)})" for all_ in alternatives]) if alternatives else ""


def _filter_range(number: str, span: tuple[int, int], written: Filter, as_text: bool) -> str:
    start, end = span
    if as_text:
        return written.one_of(number, [str(n) for n in range(start, end)])
    return f"{number} >= {written.value(start)} and {number} < {written.value(end)}"


# ---- writing


def write_fields(
    client: MilvusClient,
    collection: str,
    query: MilvusQuery,
    changes: Mapping[str, Mapping[str, Any]],
    options: Mapping[str, Any],
) -> None:
    """Read whole records, change and upsert them; `options` go with every request.

    Raises
    ------
    StoreError
        If the server makes the ids, as an upsert would give every record a new one, or there are several partitions.
    """
    schema = query.schema
    if schema.auto_id:
        raise StoreError(f"{query.name} makes ids by itself and would change them: give the pieces as chunk store")
    if len(client.list_partitions(collection, **options)) > 1:
        raise StoreError(
            f"{query.name} has several partitions, and an upsert would move records: give the pieces as chunk store"
        )
    ids = list(changes)
    for start in range(0, len(ids), _BATCH):
        written = Filter(schema)
        asked = written.one_of(schema.key, query.ids(ids[start : start + _BATCH]))
        values = written.values
        rows = client.query(collection, filter=asked, filter_params=values, output_fields=["*"], **options)
        data = [_apply_change(dict(row), changes[str(row[schema.key])], schema) for row in rows]
        if data:
            client.upsert(collection, data, **options)


def _apply_change(row: dict[str, Any], change: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    for path, value in change.items():
        here = row
        *parents, last = [path] if path in schema.types else path.split(".")
        for parent in parents:
            here[parent] = dict(here.get(parent) or {})
            here = here[parent]
        here[last] = value
    return row
