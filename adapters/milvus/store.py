"""Milvus, Zilliz Cloud and Milvus Lite: chunk store and retriever over an existing collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np
from pymilvus import AnnSearchRequest, MilvusClient, RRFRanker
from pymilvus.exceptions import MilvusException

from retrivex.errors import StoreError

from ..base.collection import ClientCollection, Nearest, Record, Records, Request, Scan, Steps
from ..base.failures import Failure
from ..base.fields import LAYOUTS, FieldMap, LayoutName
from ..base.store import FUSION_DEPTH, ClientChunkStore, ClientRetriever
from .filters import Schema, parse_schema
from .query import MilvusQuery, write_fields

if TYPE_CHECKING:
    from pymilvus import AsyncMilvusClient  # older versions have none

MILVUS_LAYOUTS: Mapping[LayoutName, FieldMap] = {
    # All three keep metadata flat, as columns or in the dynamic field, and the text under `text`: langchain-milvus
    # (text_field), llama-index-vector-stores-milvus (text_key, the rest of a node in _node_content), milvus-haystack
    # (text_field; a column for every key of the first document's meta).
    name: replace(fields, text=tuple(dict.fromkeys(("text", *fields.text))))
    for name, fields in LAYOUTS.items()
}
"""What frameworks write into Milvus."""

MOST_RECORDS = 16_384
"""That one query or search of Milvus gives: its limit for offset + limit."""

_DISTANCES = ("L2", "HAMMING", "JACCARD")
# Milvus' own codes for: not ready, unavailable, out of memory, too many requests, rate limit, node or channel missing
_PASSING = frozenset({1, 2, 3, 4, 8, 503, 901, 902})


class MilvusCollection(ClientCollection):
    """A Milvus collection, which is loaded; other parameters as in `ClientCollection`.

    Values go to the server beside the filter, as filter templates (Milvus 2.5 and later). Milvus Lite knows none:
    there they are quoted. `client.get(ids=...)` is not used, as it pastes ids into a filter unquoted.

    Parameters
    ----------
    async_client : AsyncMilvusClient of pymilvus 2.6 or later
    consistency_level : such as "Strong" or "Session"; None takes the collection's own

    Notes
    -----
    The schema is read when this is made; with an async client alone, before its first request. Make a new one after
    adding fields.

    `scope` is part of every filter: a record without the field is one of no scope. A column of its own for it should be
    nullable. Where neither a column nor the dynamic field can hold a scope, nothing is filtered, and what comes back is
    checked.
    """

    batch_limit = MOST_RECORDS
    searches = frozenset({"vectors", "words", "hybrid"})
    title = "Milvus"
    kinds = ("MilvusClient",), ("AsyncMilvusClient",)
    give = "a MilvusClient", "an AsyncMilvusClient (of pymilvus 2.6 or later)"
    layouts = MILVUS_LAYOUTS

    def __init__(
        self,
        client: MilvusClient | None,
        collection: str,
        *,
        async_client: AsyncMilvusClient | None = None,
        consistency_level: str | None = None,
        **options: Any,
    ) -> None:
        self._more = {} if consistency_level is None else {"consistency_level": consistency_level}
        self._schema: Schema | None = None
        super().__init__(client, collection, async_client=async_client, **options)

    # ---- asking

    def _steps(self, request: Request) -> Steps[Records]:
        schema = self._schema or (yield from self._learn())
        method, arguments = self._call(request, schema)
        answer = yield lambda client: getattr(client, method)(self._collection, **arguments)
        return self._records(answer, request, schema)

    @property
    def _options(self) -> dict[str, Any]:
        # pymilvus 2.5 and 2.6.0, at least, ask a server that is down 75 times more, unless the time is whole seconds
        return {"timeout": float(self._timeout_s or 0), "retry_times": 1}

    def _query(self, schema: Schema) -> MilvusQuery:
        return MilvusQuery(self.name, self.fields, schema)

    def _call(self, request: Request, schema: Schema) -> tuple[str, dict[str, Any]]:
        """Return the method of the client and its arguments."""
        vectors = [schema.vector] if self._with_vectors and schema.vector else []
        arguments: dict[str, Any] = {"output_fields": [*schema.output, *vectors], **self._options, **self._more}
        arguments |= self._query(schema).filter(request)
        match request:
            case Nearest(vector, k):
                if schema.vector is None and request.search != "words":
                    raise StoreError(f"{self.name} has no one field of float vectors: name it with vector_name=...")
                if k > MOST_RECORDS:
                    raise StoreError(f"k is {k}: Milvus gives at most {MOST_RECORDS}")
                near = {"data": [vector.tolist()], "anns_field": schema.vector}
                if request.search == "vectors":
                    return "search", arguments | near | {"limit": k}
                if schema.words is None:
                    raise StoreError(f"{self.name} finds words by a BM25 function and its sparse vectors: it has none")
                words = {"data": [request.question], "anns_field": schema.words}
                if request.search == "words":
                    return "search", arguments | words | {"limit": k}
                expr = {"expr": arguments.pop("filter"), "expr_params": arguments.pop("filter_params")}
                limit = min(max(k, FUSION_DEPTH), MOST_RECORDS)
                both = [AnnSearchRequest(**one, param={}, limit=limit, **expr) for one in (near, words)]
                return "hybrid_search", arguments | {"reqs": both, "ranker": RRFRanker(), "limit": k}
            case Scan(limit=limit):
                # as the client's own iterator: without these two the records are not in order
                ordered = {"iterator": "True", "reduce_stop_for_best": "True"}
                return "query", arguments | {"limit": min(limit, MOST_RECORDS)} | ordered
        return "query", arguments

    def _records(self, answer: Any, request: Request, schema: Schema) -> Records:
        if isinstance(request, Nearest):
            sign = -1.0 if schema.metrics.get(schema.vector or "") in _DISTANCES else 1.0
            read = abs if request.search != "vectors" else partial(mul, sign)  # Lite has minus BM25
            return Records([_record(hit["entity"], schema, float(read(hit["distance"]))) for hit in answer[0]])
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
        if not isinstance(error, MilvusException):
            return super().failure(error)
        if "Retry timeout" in str(error):
            return "timeout"
        return "down" if error.code in _PASSING or "Retry run out" in str(error) else "refused"

    def write(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        """Set fields of records; whole records are read, changed and upserted.

        Raises
        ------
        StoreError
            If the server makes the ids, as an upsert would give every record a new one.
        """
        if self._schema is None or self._sync is None:
            raise StoreError(f"{self.name} has only an async client: pass a sync client to write")
        write_fields(self._sync, self._collection, self._query(self._schema), changes, self._options)

    # ---- its schema

    def _learn(self) -> Steps[Schema]:
        of, options = self._collection, self._options
        described = yield lambda client: client.describe_collection(of, **options)
        names = yield lambda client: client.list_indexes(of, **options)
        indexes = []
        for name in names:
            index = yield lambda client, name=name: client.describe_index(of, name, **options)
            indexes += [dict(index)] if index else []
        version = yield lambda client: client.get_server_version(**options)
        self._schema = schema = parse_schema(described, indexes, str(version), self._vector_name)
        return schema


def _record(row: Mapping[str, Any], schema: Schema, score: float | None = None) -> Record:
    payload = {name: _listify(value) for name, value in row.items() if name not in schema.vectors}
    vector = row.get(schema.vector) if schema.vector else None
    made = None if vector is None else np.asarray(vector, dtype=np.float32)
    return Record(str(row[schema.key]), payload, score, made)


def _listify(value: Any) -> Any:
    """Return an array as a list: older clients give what gRPC makes of it."""
    return list(value) if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else value


class MilvusChunkStore(ClientChunkStore):
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

    kind = MilvusCollection


class MilvusRetriever(ClientRetriever):
    """Finds hits in a Milvus collection, nearest first.

    Parameters are those of `MilvusCollection` and `VectorRetriever`. The metric is that of the index: cosines and inner
    products are given as they are, (squared) L2 distances with a minus.
    """

    kind = MilvusCollection
