"""Writing fields into records of a Milvus collection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pymilvus import MilvusClient

from retrivex.errors import StoreError

from .milvus_filters import Filter, Schema
from .milvus_query import MilvusQuery

_BATCH = 1000  # records that are read, changed and upserted at a time


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
        raise StoreError(f"{query.name} makes ids by itself and would change them: keep the fields in a side-car")
    if len(client.list_partitions(collection, **options)) > 1:
        raise StoreError(
            f"{query.name} has several partitions, and an upsert would move records: use the places file beside it"
        )
    ids = list(changes)
    for start in range(0, len(ids), _BATCH):
        written = Filter(schema)
        asked = written.one_of(schema.key, query.ids(ids[start : start + _BATCH]))
        values = written.values
        rows = client.query(collection, filter=asked, filter_params=values, output_fields=["*"], **options)
        data = [_changed(dict(row), changes[str(row[schema.key])], schema) for row in rows]
        if data:
            client.upsert(collection, data, **options)


def _changed(row: dict[str, Any], change: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    for path, value in change.items():
        here = row
        *parents, last = [path] if path in schema.types else path.split(".")
        for parent in parents:
            here[parent] = dict(here.get(parent) or {})
            here = here[parent]
        here[last] = value
    return row
