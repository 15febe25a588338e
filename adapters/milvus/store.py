"""Milvus, Zilliz Cloud and Milvus Lite: chunk store and retriever over an existing collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import numpy as np

from retrivex.adapters.base.clients import check_clients
from retrivex.adapters.base.collection import ByWindows, Collection, Failure, Nearest, Record, Records, Request, Scan
from retrivex.adapters.base.fields import LAYOUTS, FieldMap, LayoutName, MakeId, field_map
from retrivex.adapters.base.layouts import DEFAULT_LAYOUT, LayoutFinder, StorageLayout
from retrivex.adapters.base.scopes import scope_columns_to_come
from retrivex.adapters.base.store import Embed, VectorChunkStore, VectorRetriever
from retrivex.encoders.encoder import Encoder
from retrivex.errors import StoreError, install_hint

from .filters import Schema, parse_schema

try:
    import grpc
    from pymilvus import DataType, MilvusClient
    from pymilvus.exceptions import MilvusException

    from .query import MilvusQuery, write_fields
except ImportError as error:
    raise ImportError(f"retrivex.adapters.milvus needs pymilvus: {install_hint('milvus')}") from error

if TYPE_CHECKING:
    from pymilvus import AsyncMilvusClient  # older versions have none

__all__ = ["MILVUS_LAYOUTS", "FieldMap", "MilvusChunkStore", "MilvusCollection", "MilvusOptions", "MilvusRetriever"]

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


class MilvusOptions(TypedDict, total=False):
    """Arguments that `MilvusCollection`, `MilvusChunkStore` and `MilvusRetriever` share."""

    async_client: AsyncMilvusClient | None
    fields: FieldMap | LayoutName
    vector_name: str | None
    timeout_s: float
    with_vectors: bool
    consistency_level: str | None


class MilvusCollection(Collection):
    """A Milvus collection, accessed through a MilvusClient, an AsyncMilvusClient, or both.

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
    The schema is read when this is made; with an async client alone, before its first request. While one of the names
    for the scope is no column, `describe_collection` is asked again after every request: a column for scopes may be
    added, and counts at once: what was asked without it is asked anew. `FieldMap(scope=())` or a column of that name
    saves it.

    `scope` is part of every filter: a record without the field is one of no scope. A column of its own for it should be
    nullable. Where neither a column nor the dynamic field can hold a scope, nothing is filtered, and what comes back is
    checked.
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
        check_clients(
            client, async_client, _kind, ("a MilvusClient", "an AsyncMilvusClient (of pymilvus 2.6 or later)")
        )
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
        self._layouts = LayoutFinder()
        self._schema: Schema | None = None
        if client is not None:
            self._read_at_once(client)

    # ---- asking

    def ask(self, request: Request) -> Records:
        """Answer a request with one query or search, and again where the collection had got a column for scopes."""
        assert self._client is not None
        schema = self._schema or self._refresh_schema(self._client)
        while True:
            try:
                answer = self._answer(self._client, request, schema)
            except (MilvusException, StoreError) as error:
                # a collection that was made anew may know nothing of its old columns
                if not self._may_be_old(schema, error) or (newer := self._refresh_schema(self._client)) is schema:
                    raise
            else:
                if not self._may_get_scopes(schema) or (newer := self._refresh_schema(self._client)) is schema:
                    return answer
            schema = newer

    async def aask(self, request: Request) -> Records:
        """Do the same through the async client."""
        assert self._async_client is not None
        schema = self._schema or await self._arefresh_schema(self._async_client)
        while True:
            try:
                answer = await self._aanswer(self._async_client, request, schema)
            except (MilvusException, StoreError) as error:
                if (
                    not self._may_be_old(schema, error)
                    or (newer := await self._arefresh_schema(self._async_client)) is schema
                ):
                    raise
            else:
                if (
                    not self._may_get_scopes(schema)
                    or (newer := await self._arefresh_schema(self._async_client)) is schema
                ):
                    return answer
            schema = newer

    def _answer(self, client: MilvusClient, request: Request, schema: Schema) -> Records:
        def send(layout: StorageLayout) -> Records:
            call, arguments = self._call(request, schema, layout)
            return self._records(getattr(client, call)(self._collection, **arguments), request, schema)

        if isinstance(request, ByWindows):
            return self._layouts.ask(self._query(schema).layouts, send)
        return send(DEFAULT_LAYOUT)

    async def _aanswer(self, client: AsyncMilvusClient, request: Request, schema: Schema) -> Records:
        async def send(layout: StorageLayout) -> Records:
            call, arguments = self._call(request, schema, layout)
            return self._records(await getattr(client, call)(self._collection, **arguments), request, schema)

        if isinstance(request, ByWindows):
            return await self._layouts.aask(self._query(schema).layouts, send)
        return await send(DEFAULT_LAYOUT)

    def _query(self, schema: Schema) -> MilvusQuery:
        return MilvusQuery(self.name, self.fields, schema)

    def _call(self, request: Request, schema: Schema, layout: StorageLayout) -> tuple[str, dict[str, Any]]:
        """Return the method of the client and its arguments."""
        vectors = [schema.vector] if self._with_vectors and schema.vector else []
        arguments: dict[str, Any] = {"output_fields": [*schema.output, *vectors], **self._options, **self._more}
        arguments |= self._query(schema).filter(request, layout)
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

    def _records(self, answer: Any, request: Request, schema: Schema) -> Records:
        if isinstance(request, Nearest):
            sign = -1.0 if schema.metrics.get(schema.vector or "") in _DISTANCES else 1.0
            return Records([_record(hit["entity"], schema, sign * float(hit["distance"])) for hit in answer[0]])
        records = [_record(row, schema) for row in answer]
        ended = not isinstance(request, Scan) or len(records) < min(request.limit, MOST_RECORDS)
        return Records(records, None if ended else answer[-1][schema.key])

    # ---- what it is

    @staticmethod
    def connect(address: str, api_key: str | None) -> MilvusClient:
        """Return a client of the server at a URL, or of the file of Milvus Lite."""
        return MilvusClient(address, token=api_key or "")

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

    async def amissing_index(self) -> str | None:
        """Say the same: the schema has been read by then."""
        return self.missing_index()

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

    def refuses_text(self, path: str) -> str | None:
        """Say why a field cannot take texts of ours: it is not there, holds ids, or is of another type."""
        schema = self._schema
        if schema is None:
            return None  # there is no sync client, as writing says
        if path == schema.key:
            return "it holds the ids"
        if path in schema.types:
            return None if schema.types[path] == "VARCHAR" else f"it is a field of type {schema.types[path]}"
        if schema.name(path) is not None:
            return None
        kind = schema.types.get(path.split(".")[0])
        return (
            "there is no such field, and none can be added" if kind is None else f"it is inside a field of type {kind}"
        )

    def write(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        """Set fields of records; whole records are read, changed and upserted.

        Raises
        ------
        StoreError
            If the server makes the ids, as an upsert would give every record a new one.
        """
        if self._schema is None or self._client is None:
            raise StoreError(f"{self.name} has only an async client: pass a sync client to write")
        write_fields(self._client, self._collection, self._query(self._schema), changes, self._options)

    # ---- its schema

    def _refresh_schema(self, client: MilvusClient) -> Schema:
        """Return the schema as it is now: the one that is known, where its columns are the same."""
        schema = self._schema  # another thread may write meanwhile
        described = client.describe_collection(self._collection, **self._options)
        if schema is not None and schema.has_columns(described):
            return schema
        names = client.list_indexes(self._collection, **self._options)
        indexes = [client.describe_index(self._collection, name, **self._options) for name in names]
        return self._learn(described, indexes, client.get_server_version(**self._options))

    async def _arefresh_schema(self, client: AsyncMilvusClient) -> Schema:
        schema = self._schema
        described = await client.describe_collection(self._collection, **self._options)
        if schema is not None and schema.has_columns(described):
            return schema
        names = await client.list_indexes(self._collection, **self._options)
        indexes = [await client.describe_index(self._collection, name, **self._options) for name in names]
        return self._learn(described, indexes, await client.get_server_version(**self._options))

    def _may_get_scopes(self, schema: Schema) -> bool:
        """Say whether a column for scopes may be added yet: not knowing it would show everybody everything.

        Whether there was one is asked after each answer: what is not there then was not there before.
        """
        # no column of Milvus has a dot in its name
        return any("." not in name for name in scope_columns_to_come(self.fields, schema.types))

    def _may_be_old(self, schema: Schema, error: Exception) -> bool:
        return self._may_get_scopes(schema) and self.failure(error) == "refused"

    def _read_at_once(self, client: MilvusClient) -> None:
        try:
            self._refresh_schema(client)
        except (MilvusException, grpc.RpcError) as error:
            raise StoreError(f"{self.name}: its schema cannot be read ({type(error).__name__}: {error})") from error

    def _learn(self, described: Mapping[str, Any], indexes: Sequence[Any], version: Any) -> Schema:
        types = {column["name"]: DataType(column["type"]).name for column in described["fields"]}
        schema = parse_schema(described, types, [dict(index) for index in indexes if index], str(version))
        if self._vector_name is not None:
            if types.get(self._vector_name) != "FLOAT_VECTOR":
                raise StoreError(
                    f"vector_name is {self._vector_name!r}: {self.name} has no such field of float vectors"
                )
            schema = schema.searched_by(self._vector_name)
        self._schema = schema
        return schema


def _kind(client: Any) -> Literal["sync", "async"] | None:
    if isinstance(client, MilvusClient):
        return "sync"
    # older versions of pymilvus have no such class, or one that cannot describe a collection
    is_async = any(kind.__name__ == "AsyncMilvusClient" for kind in type(client).__mro__)
    return "async" if is_async and hasattr(client, "describe_collection") else None


def _record(row: Mapping[str, Any], schema: Schema, score: float | None = None) -> Record:
    payload = {name: _listify(value) for name, value in row.items() if name not in schema.vectors}
    vector = row.get(schema.vector) if schema.vector else None
    made = None if vector is None else np.asarray(vector, dtype=np.float32)
    return Record(str(row[schema.key]), payload, score, made)


def _listify(value: Any) -> Any:
    """Return an array as a list: older clients give what gRPC makes of it."""
    return list(value) if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else value


class MilvusChunkStore(VectorChunkStore):
    """Fetches neighbours from a Milvus collection, in one request.

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
        make_id: MakeId | None = None,
        retries: int = 2,
        batch_limit: int | None = None,
        **options: Unpack[MilvusOptions],
    ) -> None:
        asked = MilvusCollection(client, collection, **options)
        super().__init__(asked, make_id=make_id, retries=retries, batch_limit=batch_limit)


class MilvusRetriever(VectorRetriever):
    """Finds hits in a Milvus collection, nearest first.

    Parameters are those of `MilvusCollection` and `VectorRetriever`. The metric is that of the index: cosines and inner
    products are given as they are, (squared) L2 distances with a minus.
    """

    def __init__(
        self,
        client: MilvusClient | None,
        collection: str,
        embed: Encoder | Embed,
        *,
        retries: int = 2,
        **options: Unpack[MilvusOptions],
    ) -> None:
        super().__init__(MilvusCollection(client, collection, **options), embed, retries=retries)
