"""Milvus, Zilliz Cloud and Milvus Lite: neighbours and hits out of a collection that exists already."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from retrivex.encoder import Encoder
from retrivex.errors import StoreError
from retrivex.intervals import Window

from .collection import ByIds, ByWindows, Collection, Failure, Nearest, Record, Records, Request, Scan, Scopes
from .fields import LAYOUTS, FieldMap, LayoutName, MakeId, field_map
from .milvus_filters import Filter, Schema, any_of, parse_schema
from .vector_store import Embed, VectorChunkStore, VectorRetriever

try:
    import grpc
    from pymilvus import DataType, MilvusClient
    from pymilvus.exceptions import MilvusException
except ImportError as error:
    hint = "pip install 'retrivex-rag[milvus]'"
    raise ImportError(f"retrivex.adapters.milvus needs pymilvus: {hint}") from error

if TYPE_CHECKING:
    from pymilvus import AsyncMilvusClient  # older versions have none

__all__ = ["MILVUS_LAYOUTS", "FieldMap", "MilvusChunkStore", "MilvusCollection", "MilvusRetriever"]

MILVUS_LAYOUTS: Mapping[LayoutName, FieldMap] = {
    # All three keep metadata flat, as columns or in the dynamic field, and the text under `text`: langchain-milvus
    # (text_field), llama-index-vector-stores-milvus (text_key, the rest of a node in _node_content), milvus-haystack
    # (text_field; a column for every key of the first document's meta).
    name: replace(fields, text=tuple(dict.fromkeys(("text", *fields.text))))
    for name, fields in LAYOUTS.items()
}

MOST_RECORDS = 16_384
"""That one query or search of Milvus gives: its limit for offset + limit."""

_DISTANCES = ("L2", "HAMMING", "JACCARD")
# Milvus' own codes for: not ready, unavailable, out of memory, too many requests, rate limit, node or channel missing
_PASSING = frozenset({1, 2, 3, 4, 8, 503, 901, 902})


class MilvusCollection(Collection):
    """A collection of Milvus, asked through a MilvusClient, an AsyncMilvusClient, or both.

    Values go to the server beside the filter, as filter templates (Milvus 2.5 and later). Milvus Lite knows none:
    there they are quoted. `client.get(ids=...)` is not used, as it pastes ids into a filter unquoted.

    Parameters
    ----------
    client : MilvusClient or None; stays yours and is never closed
    collection : name of a collection that is loaded
    async_client : AsyncMilvusClient of pymilvus 2.6 or later, or None
    fields : FieldMap, or the name of a layout
    vector_name : the field that is searched; None where there is only one of floats
    timeout_s : for one request, in seconds. The client asks again by itself until then where nobody answers.
    with_vectors : whether chunks come with their vectors, for `continuity` and similarity: more to send
    consistency_level : such as "Strong" or "Session"; None takes the collection's own

    Raises
    ------
    StoreError
        If the schema of the collection cannot be read, an argument breaks its rule, or no vector field fits.

    Notes
    -----
    The schema is read when this is made; with an async client alone, before its first request. `scope` is part of every
    filter: a record without the field is one of no scope. A column of its own for it should be nullable. Where neither
    a column nor the dynamic field can hold a scope, nothing is filtered, and what comes back is checked.
    """

    batch_limit = MOST_RECORDS

    def __init__(
        self,
        client: MilvusClient | None,
        collection: str,
        *,
        async_client: AsyncMilvusClient | None = None,
        fields: FieldMap | LayoutName = "retrivex",
        vector_name: str | None = None,
        timeout_s: float = 10.0,
        with_vectors: bool = False,
        consistency_level: str | None = None,
    ) -> None:
        if client is None and async_client is None:
            raise StoreError("client is None: give a MilvusClient, or async_client=AsyncMilvusClient(...)")
        if not isinstance(timeout_s, (int, float)) or isinstance(timeout_s, bool) or not 0 < timeout_s < float("inf"):
            raise StoreError(f"timeout_s is {timeout_s!r}: it must be a number of seconds above 0")
        self.fields = field_map(fields, MILVUS_LAYOUTS)
        self.name = f"Milvus {collection!r}"
        self.is_sync, self.is_async = client is not None, async_client is not None
        self._client, self._async_client, self._collection = client, async_client, collection
        self._vector_name, self._with_vectors = vector_name, with_vectors
        self._timeout_s = float(timeout_s)
        # pymilvus 2.5 and 2.6.0, at least, ask a server that is down 75 times more, unless the time is whole seconds
        self._options: dict[str, Any] = {"timeout": self._timeout_s, "retry_times": 1}
        self._more = {} if consistency_level is None else {"consistency_level": consistency_level}
        self._schema = None if client is None else self._read_schema(client)

    # ---- asking

    def ask(self, request: Request) -> Records:
        """Answer a request with one query or search."""
        assert self._client is not None
        assert self._schema is not None
        call, arguments = self._call(request, self._schema)
        return self._records(getattr(self._client, call)(self._collection, **arguments), request, self._schema)

    async def aask(self, request: Request) -> Records:
        """Do the same through the async client."""
        assert self._async_client is not None
        if self._schema is None:
            self._schema = await self._aread_schema(self._async_client)
        call, arguments = self._call(request, self._schema)
        answer = await getattr(self._async_client, call)(self._collection, **arguments)
        return self._records(answer, request, self._schema)

    def _call(self, request: Request, schema: Schema) -> tuple[str, dict[str, Any]]:
        """Return the method of the client and its arguments."""
        written = Filter(schema)
        vectors = [schema.vector] if self._with_vectors and schema.vector else []
        arguments: dict[str, Any] = {"output_fields": [*schema.output, *vectors], **self._options, **self._more}
        terms = [term for term in self._terms(request, schema, written) if term]
        arguments |= {"filter": " and ".join(terms), "filter_params": written.values}
        match request:
            case Nearest(vector, k):
                if schema.vector is None:
                    raise StoreError(f"{self.name} has no one field of float vectors: name it with vector_name=...")
                if k > MOST_RECORDS:
                    raise StoreError(f"k is {k}: Milvus gives at most {MOST_RECORDS}")
                asked = {"data": [vector.tolist()], "anns_field": schema.vector, "limit": k}
                return "search", arguments | asked
            case Scan(limit=limit):
                # as the client's own iterator: without these two the records are not in order
                ordered = {"iterator": "True", "reduce_stop_for_best": "True"}
                return "query", arguments | {"limit": min(limit, MOST_RECORDS)} | ordered
        return "query", arguments

    def _terms(self, request: Request, schema: Schema, written: Filter) -> list[str]:
        match request:
            case ByIds(ids, scopes):
                return [written.one_of(schema.key, self._ids(ids, schema)), self._scopes(scopes, schema, written)]
            case ByWindows(windows, scopes):
                return [self._windows(windows, schema, written), self._scopes(scopes, schema, written)]
            case Nearest(scopes=scopes):
                return [self._scopes(scopes, schema, written)]
            case Scan(after):
                return [] if after is None else [f"{schema.key} > {written.value(after)}"]

    def _ids(self, ids: Sequence[str], schema: Schema) -> Sequence[str] | Sequence[int]:
        if schema.types[schema.key] == "VARCHAR":
            return ids
        numbers = [int(id_) for id_ in ids if re.fullmatch(r"-?\d{1,19}", id_, re.ASCII)]
        if len(numbers) < len(ids):
            raise StoreError(f"make_id gave {ids[0]!r}: the ids of {self.name} are whole numbers")
        return numbers

    def _windows(self, windows: Sequence[Window], schema: Schema, written: Filter) -> str:
        """Put documents of the same range together: most have few."""
        doc_id, n = (self._field(name, schema) for name in ("doc_id", "chunk_id"))
        documents: dict[tuple[int, int], list[str]] = {}
        for window in windows:
            documents.setdefault((window.start, window.end), []).append(window.doc_id)
        terms = [
            f"({written.one_of(doc_id, names)} and {n} >= {written.value(start)} and {n} < {written.value(end)})"
            for (start, end), names in documents.items()
        ]
        return any_of(terms)

    def _field(self, name: str, schema: Schema) -> str:
        path = self.fields.path(name)
        found = None if path is None else schema.name(path)
        if found is None:
            raise StoreError(
                f"{self.name} has no field {path!r}: its columns are {', '.join(schema.types)}; name it with "
                f"fields=FieldMap({name}=...), or say how ids are made with make_id=..."
            )
        return found

    def _scopes(self, scopes: Scopes, schema: Schema, written: Filter) -> str:
        path = self.fields.path("scope")
        name = None if path is None else schema.name(path)
        if path is None or name is None:
            return ""
        given = sorted(scope for scope in scopes if scope is not None)
        terms = [written.one_of(name, given)] if given else []
        if None in scopes and path not in schema.types:
            terms.append(f"(not exists {name})")  # `is null` asks for the whole JSON and not for a key of it
        elif None in scopes and path in schema.nullable:
            terms.append(f"{name} is null")
        return any_of(terms) if terms else ""

    def _records(self, answer: Any, request: Request, schema: Schema) -> Records:
        if isinstance(request, Nearest):
            sign = -1.0 if schema.metrics.get(schema.vector or "") in _DISTANCES else 1.0
            return Records([_record(hit["entity"], schema, sign * float(hit["distance"])) for hit in answer[0]])
        records = [_record(row, schema) for row in answer]
        ended = not isinstance(request, Scan) or len(records) < min(request.limit, MOST_RECORDS)
        return Records(records, None if ended else answer[-1][schema.key])

    # ---- what it is

    def failure(self, error: Exception) -> Failure:
        """Say what an error of pymilvus means; newer versions ask a server that is down again until time is up."""
        code = error.code if isinstance(error, MilvusException) else None
        if isinstance(error, grpc.RpcError):
            code = error.code()
        if code is grpc.StatusCode.DEADLINE_EXCEEDED or "Retry timeout" in str(error):
            return "timeout"
        return "down" if code in _PASSING or "Retry run out" in str(error) else "refused"

    def missing_index(self) -> str | None:
        """Say which scalar index the filter by windows lacks; Milvus Lite has none on JSON and the dynamic field."""
        schema = self._schema
        if schema is None:
            return None
        lines = [self._index(name, schema) for name in ("doc_id", "chunk_id")]
        wanted = [line for line in lines if line is not None]
        if not wanted:
            return None
        return (
            f"{self.name}: neighbours are found by a filter on fields without an index, which reads every record. Make "
            f"it once: params = client.prepare_index_params(); {'; '.join(wanted)}; "
            f"client.create_index({self._collection!r}, params)"
        )

    def _index(self, name: str, schema: Schema) -> str | None:
        path = self.fields.path(name)
        field = None if path is None else schema.name(path)
        if path is None or field is None or schema.is_indexed(field) or path == schema.key:
            return None
        if path in schema.types:
            return f"params.add_index({path!r}, index_type='INVERTED')"
        if schema.lite:
            return None
        column = field.split("[")[0] if "[" in field else path
        cast = "varchar" if name == "doc_id" else "double"
        params = {"json_path": field, "json_cast_type": cast}
        return f"params.add_index({column!r}, index_type='INVERTED', index_name={'by_' + name!r}, params={params!r})"

    def write(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        """Set fields of records; whole records are read, changed and upserted.

        Raises
        ------
        StoreError
            If the server makes the ids, as an upsert would give every record a new one.
        """
        schema, client = self._schema, self._client
        if schema is None or client is None:
            raise StoreError(f"{self.name} has only an async client: pass a sync client to write")
        if schema.auto_id:
            raise StoreError(f"{self.name} makes ids by itself and would change them: keep the fields in a side-car")
        if len(client.list_partitions(self._collection, **self._options)) > 1:
            raise StoreError(
                f"{self.name} has several partitions, and an upsert would move records: use the places file beside it"
            )
        ids = list(changes)
        for start in range(0, len(ids), 1000):
            written = Filter(schema)
            part = self._ids(ids[start : start + 1000], schema)
            rows = client.query(
                self._collection,
                filter=written.one_of(schema.key, part),
                filter_params=written.values,
                output_fields=["*"],
                **self._options,
            )
            data = [_changed(dict(row), changes[str(row[schema.key])], schema) for row in rows]
            if data:
                client.upsert(self._collection, data, **self._options)

    # ---- its schema

    def _read_schema(self, client: MilvusClient) -> Schema:
        try:
            described = client.describe_collection(self._collection, **self._options)
            names = client.list_indexes(self._collection, **self._options)
            indexes = [client.describe_index(self._collection, name, **self._options) for name in names]
            return self._parsed(described, indexes, client.get_server_version(**self._options))
        except (MilvusException, grpc.RpcError) as error:
            raise StoreError(f"{self.name}: its schema cannot be read ({type(error).__name__}: {error})") from error

    async def _aread_schema(self, client: AsyncMilvusClient) -> Schema:
        described = await client.describe_collection(self._collection, **self._options)
        names = await client.list_indexes(self._collection, **self._options)
        indexes = [await client.describe_index(self._collection, name, **self._options) for name in names]
        return self._parsed(described, indexes, await client.get_server_version(**self._options))

    def _parsed(self, described: Mapping[str, Any], indexes: Sequence[Any], version: Any) -> Schema:
        types = {column["name"]: DataType(column["type"]).name for column in described["fields"]}
        schema = parse_schema(described, types, [dict(index) for index in indexes if index], str(version))
        if self._vector_name is None:
            return schema
        if types.get(self._vector_name) != "FLOAT_VECTOR":
            raise StoreError(f"vector_name is {self._vector_name!r}: {self.name} has no such field of float vectors")
        return schema.searched_by(self._vector_name)


def _record(row: Mapping[str, Any], schema: Schema, score: float | None = None) -> Record:
    payload = {name: _plain(value) for name, value in row.items() if name not in schema.vectors}
    vector = row.get(schema.vector) if schema.vector else None
    made = None if vector is None else np.asarray(vector, dtype=np.float32)
    return Record(str(row[schema.key]), payload, score, made)


def _plain(value: Any) -> Any:
    """Return an array as a list: older clients give what gRPC makes of it."""
    return list(value) if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else value


def _changed(row: dict[str, Any], change: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    for path, value in change.items():
        here = row
        *parents, last = [path] if path in schema.types else path.split(".")
        for parent in parents:
            here[parent] = dict(here.get(parent) or {})
            here = here[parent]
        here[last] = value
    return row


class MilvusChunkStore(VectorChunkStore):
    """Neighbours out of a collection of Milvus, in one request.

    Parameters are those of `MilvusCollection` and `VectorChunkStore`.

    Examples
    --------
    By ids, where they were made of document and number::

        store = MilvusChunkStore(MilvusClient("http://localhost:19530"), "guide", make_id=colon_id)

    By a filter otherwise, which wants an index on both fields::

        params = client.prepare_index_params()
        params.add_index("doc_id", index_type="INVERTED")
        params.add_index("chunk_id", index_type="INVERTED")
        client.create_index("guide", params)
        store = MilvusChunkStore(client, "guide")
    """

    def __init__(
        self,
        client: MilvusClient | None,
        collection: str,
        *,
        fields: FieldMap | LayoutName = "retrivex",
        make_id: MakeId | None = None,
        async_client: AsyncMilvusClient | None = None,
        vector_name: str | None = None,
        timeout_s: float = 10.0,
        retries: int = 2,
        batch_limit: int | None = None,
        with_vectors: bool = False,
        consistency_level: str | None = None,
    ) -> None:
        asked = MilvusCollection(
            client,
            collection,
            async_client=async_client,
            fields=fields,
            vector_name=vector_name,
            timeout_s=timeout_s,
            with_vectors=with_vectors,
            consistency_level=consistency_level,
        )
        super().__init__(asked, make_id=make_id, retries=retries, batch_limit=batch_limit)


class MilvusRetriever(VectorRetriever):
    """Hits out of a collection of Milvus, nearest first.

    Parameters are those of `MilvusCollection` and `VectorRetriever`. The metric is that of the index: cosines and inner
    products are given as they are, (squared) L2 distances with a minus.
    """

    def __init__(
        self,
        client: MilvusClient | None,
        collection: str,
        embed: Encoder | Embed,
        *,
        fields: FieldMap | LayoutName = "retrivex",
        async_client: AsyncMilvusClient | None = None,
        vector_name: str | None = None,
        timeout_s: float = 10.0,
        retries: int = 2,
        with_vectors: bool = False,
        consistency_level: str | None = None,
    ) -> None:
        asked = MilvusCollection(
            client,
            collection,
            async_client=async_client,
            fields=fields,
            vector_name=vector_name,
            timeout_s=timeout_s,
            with_vectors=with_vectors,
            consistency_level=consistency_level,
        )
        super().__init__(asked, embed, retries=retries)
