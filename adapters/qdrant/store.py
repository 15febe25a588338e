"""Qdrant: chunk store and retriever over an existing collection."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypedDict, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from retrivex.adapters.base.clients import either_client, is_url
from retrivex.adapters.base.collection import (
    ByIds,
    ByWindows,
    Collection,
    Failure,
    Nearest,
    Record,
    Records,
    Request,
    Scan,
)
from retrivex.adapters.base.fields import LAYOUTS, FieldMap, LayoutName, MakeId, colon_id, field_map, uuid5_id
from retrivex.adapters.base.layouts import DEFAULT_LAYOUT, LayoutFinder, StorageLayout, candidate_layouts
from retrivex.adapters.base.store import Embed, VectorChunkStore, VectorRetriever
from retrivex.encoders.encoder import Encoder
from retrivex.errors import StoreError, describe_cause, install_hint
from retrivex.model.chunk import Chunk

from .filters import among, inside, json_path, key_of, of_scopes, point_id

try:
    import grpc
    import httpx
    from qdrant_client import AsyncQdrantClient, QdrantClient, models
    from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse
except ImportError as error:
    raise ImportError(f"retrivex.adapters.qdrant needs qdrant-client: {install_hint('qdrant')}") from error

__all__ = [
    "QDRANT_LAYOUTS",
    "FieldMap",
    "QdrantChunkStore",
    "QdrantCollection",
    "QdrantOptions",
    "QdrantRetriever",
    "colon_id",
    "uuid5_id",
]

T = TypeVar("T")

# As written by langchain-qdrant 1.1 (page_content beside metadata), llama-index-vector-stores-qdrant 0.10 (flat, the
# node as JSON in _node_content, and an index on doc_id) and qdrant-haystack 13 (content beside meta).
QDRANT_LAYOUTS: Mapping[LayoutName, FieldMap] = {
    **LAYOUTS,
    "langchain": LAYOUTS["langchain"].under("metadata"),
    "llamaindex": replace(LAYOUTS["llamaindex"], doc_id=("doc_id", "ref_doc_id", "document_id")),
    "haystack": LAYOUTS["haystack"].under("meta"),
}
"""What frameworks write into Qdrant."""

_POINTS_AT_ONCE = 500
_COPIES = 8  # records of one place that are read: documents that were put in again under new ids
_DISTANCES = (models.Distance.EUCLID, models.Distance.MANHATTAN)  # a smaller score is a nearer one


class QdrantOptions(TypedDict, total=False):
    """Arguments that `QdrantCollection`, `QdrantChunkStore` and `QdrantRetriever` share."""

    async_client: AsyncQdrantClient | None
    fields: FieldMap | LayoutName
    vector_name: str | None
    with_vectors: bool
    timeout_s: float | None


class QdrantCollection(Collection):
    """A Qdrant collection.

    Parameters
    ----------
    client : existing client, sync or async; it stays open
    collection : name of an existing collection
    async_client : for `afetch` and `aretrieve`, beside a sync `client`; both ask the same server
    fields : a FieldMap, or the layout of the framework that wrote the collection
    vector_name : which of several named vectors questions are compared with
    with_vectors : read the vectors of records as well, for scoring and continuity by embeddings
    timeout_s : of one request, rounded up to whole seconds, as Qdrant counts them; None leaves it to the client

    Raises
    ------
    StoreError
        If an argument breaks its rule.

    Notes
    -----
    The scope is part of every filter, "has none" included, so that nothing foreign leaves the server. In local mode
    (`:memory:` or a path) what is asked for by id is looked up first, and its scope looked at here: a filter walks
    through the whole collection there. The first question asks for the collection's metric as well, once.
    """

    batch_limit = 5000

    def __init__(
        self,
        client: QdrantClient | AsyncQdrantClient,
        collection: str,
        *,
        async_client: AsyncQdrantClient | None = None,
        fields: FieldMap | LayoutName = "retrivex",
        vector_name: str | None = None,
        with_vectors: bool = False,
        timeout_s: float | None = None,
    ) -> None:
        give = "a QdrantClient", "an AsyncQdrantClient"
        self._sync: QdrantClient | None
        self._async: AsyncQdrantClient | None
        self._sync, self._async = either_client(client, async_client, _kind, give)
        if timeout_s is not None and not timeout_s > 0:
            raise StoreError(f"timeout_s is {timeout_s!r}: it must be more than 0 seconds, or None")
        self.is_sync, self.is_async = self._sync is not None, self._async is not None
        self.fields = field_map(fields, QDRANT_LAYOUTS)
        self.name = f"Qdrant collection {collection!r}"
        self._vector_name = vector_name
        self._with_vectors: bool | list[str] = [vector_name] if with_vectors and vector_name else with_vectors
        self._layouts = LayoutFinder()
        self._sign: float | None = None  # of scores; the metric is asked for when the first question comes
        self._where: dict[str, Any] = {"collection_name": collection}
        self._in_time = {} if timeout_s is None else {"timeout": math.ceil(timeout_s)}

    # ---- asking

    def ask(self, request: Request) -> Records:
        """Answer a request."""
        client = self._sync
        assert client is not None
        if _sees_nothing(request):
            return Records()
        if isinstance(request, Nearest):
            if self._sign is None:
                self._sign = self._sign_of(client.get_collection(**self._where))
            return Records(self._score_points(client.query_points(**self._make_knn(request)).points))
        if isinstance(request, ByIds) and _is_local(client):
            return self._filter_visible(client.retrieve(**self._retrieve(request)), request)
        if isinstance(request, ByWindows):

            def ask(layout: StorageLayout) -> Records:
                try:
                    return self._read_found(*client.scroll(**self._scroll(request, layout)), request)
                except (UnexpectedResponse, grpc.RpcError) as error:
                    return self._answer_refused(layout, error)

            return self._layouts.ask(candidate_layouts(self.fields), ask)
        return self._read_found(*client.scroll(**self._scroll(request)), request)

    async def aask(self, request: Request) -> Records:
        """Answer a request through the async client."""
        client = self._async
        assert client is not None
        if _sees_nothing(request):
            return Records()
        if isinstance(request, Nearest):
            if self._sign is None:
                self._sign = self._sign_of(await self._wait_for(client.get_collection(**self._where)))
            return Records(
                self._score_points((await self._wait_for(client.query_points(**self._make_knn(request)))).points)
            )
        if isinstance(request, ByIds) and _is_local(client):
            return self._filter_visible(await self._wait_for(client.retrieve(**self._retrieve(request))), request)
        if isinstance(request, ByWindows):

            async def ask(layout: StorageLayout) -> Records:
                try:
                    return self._read_found(
                        *await self._wait_for(client.scroll(**self._scroll(request, layout))), request
                    )
                except (UnexpectedResponse, grpc.RpcError) as error:
                    return self._answer_refused(layout, error)

            return await self._layouts.aask(candidate_layouts(self.fields), ask)
        return self._read_found(*await self._wait_for(client.scroll(**self._scroll(request))), request)

    async def _wait_for(self, answer: Awaitable[T]) -> T:
        """Wait no longer than is asked of Qdrant: older async clients do not give up by themselves."""
        return await asyncio.wait_for(answer, self._in_time.get("timeout"))

    @staticmethod
    def connect(address: str, api_key: str | None) -> QdrantClient:
        """Return a client of the server at a URL, or of the local folder."""
        return QdrantClient(url=address, api_key=api_key) if is_url(address) else QdrantClient(path=address)

    def failure(self, error: Exception) -> Failure:
        """Say what an error of the client means, over HTTP or gRPC."""
        match error:
            case (
                TimeoutError()
                | ResponseHandlingException(source=httpx.TimeoutException())
                | UnexpectedResponse(status_code=408)
            ):
                return "timeout"
            case ResponseHandlingException(source=httpx.TransportError()) | ResourceExhaustedResponse():
                return "down"
            case UnexpectedResponse(status_code=int(status)):
                return "down" if status == 429 or status >= 500 else "refused"
            case grpc.RpcError():
                return _GRPC_FAILURES.get(error.code(), "refused")
        return "refused"

    # ---- requests as the client takes them

    def _retrieve(self, request: ByIds) -> dict[str, Any]:
        ids = [point_id(id) for id in request.ids]
        return {**self._where, **self._in_time, "ids": ids, "with_vectors": self._with_vectors}

    def _scroll(self, request: ByIds | ByWindows | Scan, layout: StorageLayout = DEFAULT_LAYOUT) -> dict[str, Any]:
        asked = {**self._where, **self._in_time, "with_payload": True, "with_vectors": self._with_vectors}
        match request:
            case ByIds(ids, scopes):
                return {**asked, "scroll_filter": among(ids, scopes, self.fields), "limit": len(ids)}
            case ByWindows(windows, scopes):
                most = _COPIES * sum(map(len, windows))
                return {**asked, "scroll_filter": inside(windows, scopes, self.fields, layout), "limit": most}
            case Scan(after, limit):
                return {**asked, "offset": after, "limit": limit}

    def _make_knn(self, request: Nearest) -> dict[str, Any]:
        return {
            **self._where,
            **self._in_time,
            "query": request.vector.tolist(),
            "using": self._vector_name,
            "query_filter": models.Filter(must=of_scopes(request.scopes, self.fields)),
            "limit": request.k,
            "with_payload": True,
            "with_vectors": self._with_vectors,
        }

    # ---- answers

    def _filter_visible(self, points: Iterable[models.Record], request: ByIds) -> Records:
        """Return those that the caller may see: `retrieve` has no filter."""
        found = self._read_found(points, None, request).records
        return Records([record for record in found if self._scope(record) in request.scopes])

    def _scope(self, record: Record) -> str | None:
        root = self.fields.root
        metadata = record.payload if root is None else record.payload.get(root)
        scope = self.fields.read(metadata, "scope") if isinstance(metadata, Mapping) else None
        return None if scope is None else str(scope)

    def _read_found(self, points: Iterable[models.Record], after: Any, request: Request) -> Records:
        if isinstance(request, ByWindows) and after is not None:
            raise StoreError(
                f"{self.name} keeps chunks of these windows more than {_COPIES} times: take copies out of it, or give "
                "make_id=... if their ids follow from document and number"
            )
        asked = {str(point_id(id)): id for id in request.ids} if isinstance(request, ByIds) else {}
        return Records([self._record(point, asked.get(str(point.id))) for point in points], after)

    def _answer_refused(self, layout: StorageLayout, error: Exception) -> Records:
        """Answer for places kept in another way than expected, which strict mode looks for by an index alone."""
        if layout == DEFAULT_LAYOUT or self.failure(error) != "refused":
            raise error
        what = "texts" if layout.as_text else "numbers"
        named = ", and names with a dot as one key" if layout.whole else ""
        return Records(
            warnings=(
                f"{self.name}: nothing found; chunk numbers as {what}{named} were not looked for "
                f"({describe_cause(error)})",
            )
        )

    def _score_points(self, points: Iterable[models.ScoredPoint]) -> list[Record]:
        assert self._sign is not None
        return [self._record(point, None, self._sign * point.score) for point in points]

    def _record(self, point: models.Record | models.ScoredPoint, id: str | None, score: float | None = None) -> Record:
        return Record(id or str(point.id), point.payload or {}, score, _vector(point.vector, self._vector_name))

    def _sign_of(self, info: models.CollectionInfo) -> float:
        vectors = info.config.params.vectors
        if isinstance(vectors, Mapping):
            known = vectors.get(self._vector_name or "")
            if known is None:
                raise StoreError(
                    f"{self.name} has the vectors {', '.join(map(repr, vectors))}: vector_name is "
                    f"{self._vector_name!r}, give one of them"
                )
            return -1.0 if known.distance in _DISTANCES else 1.0
        return -1.0 if vectors is not None and vectors.distance in _DISTANCES else 1.0

    # ---- indexes and writing

    def missing_index(self) -> str | None:
        """Say how to index the document and the chunk number; local mode has no indexes."""
        client = self._sync
        if client is None or _is_local(client):
            return None
        try:
            indexed = client.get_collection(**self._where).payload_schema
        except (ResponseHandlingException, UnexpectedResponse, ResourceExhaustedResponse, grpc.RpcError):
            return None  # nobody knows; the first request will say what is wrong
        return self._advice(indexed)

    async def amissing_index(self) -> str | None:
        """Say the same, asking through the async client."""
        client = self._async
        if client is None or _is_local(client):
            return None
        try:
            indexed = (await client.get_collection(**self._where)).payload_schema
        except (ResponseHandlingException, UnexpectedResponse, ResourceExhaustedResponse, grpc.RpcError):
            return None  # as above
        return self._advice(indexed)

    def _advice(self, indexed: Mapping[str, Any]) -> str | None:
        types = {"doc_id": models.PayloadSchemaType.KEYWORD, "chunk_id": models.PayloadSchemaType.INTEGER}
        missing = [field for field in types if key_of(field, self.fields) not in indexed]
        if not missing:
            return None
        commands = "; ".join(
            f"client.create_payload_index({self._where['collection_name']!r}, {key_of(field, self.fields)!r}, "
            f"field_schema={types[field].value!r})"
            for field in missing
        )
        return (
            f"{self.name} is searched from end to end for neighbours, which takes seconds where it is large: {commands}"
        )

    def put(
        self,
        doc_ids: Sequence[str],
        chunks: Sequence[Chunk],
        vectors: NDArray[np.float32],
        counts: Sequence[str] | None = None,
    ) -> None:
        """Write whole documents in place of what the collection has of them; it is made where it is missing.

        New points come before old ones go: a chunk that stays is there all the time.
        """
        assert self._sync is not None
        client, names = self._sync, self.fields
        if not client.collection_exists(**self._where):
            if not chunks:
                return
            size = models.VectorParams(size=vectors.shape[1], distance=models.Distance.COSINE)
            client.create_collection(**self._where, vectors_config=size)
            if not _is_local(client):
                kinds = (("doc_id", models.PayloadSchemaType.KEYWORD), ("chunk_id", models.PayloadSchemaType.INTEGER))
                for name, kind in kinds:
                    client.create_payload_index(**self._where, field_name=names.paths(name)[0], field_schema=kind)
        ids = [uuid5_id(*chunk.key) for chunk in chunks]
        each: Sequence[str | None] = counts or [None] * len(ids)
        points = [
            models.PointStruct(id=id, vector=vector.tolist(), payload=names.payload(chunk, count))
            for id, chunk, vector, count in zip(ids, chunks, vectors, each, strict=True)
        ]
        for start in range(0, len(points), _POINTS_AT_ONCE):
            client.upsert(**self._where, points=points[start : start + _POINTS_AT_ONCE], wait=True)
        of_documents = models.FieldCondition(key=names.paths("doc_id")[0], match=models.MatchAny(any=list(doc_ids)))
        stale = models.Filter(must=[of_documents], must_not=[models.HasIdCondition(has_id=list(ids))])
        client.delete(**self._where, points_selector=models.FilterSelector(filter=stale), wait=True)

    def write(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        """Set fields of points, in one request; other fields stay as they are."""
        assert self._sync is not None
        operations: list[Any] = []
        for id, values in changes.items():
            inner: dict[str | None, dict[str, Any]] = {}
            for path, value in values.items():
                parent, _, name = path.rpartition(".")
                inner.setdefault(parent or None, {})[name] = value
            for key, payload in inner.items():
                at = None if key is None else json_path(key)
                change = models.SetPayload(payload=payload, points=[point_id(id)], key=at)
                operations.append(models.SetPayloadOperation(set_payload=change))
        if operations:
            self._sync.batch_update_points(**self._where, update_operations=operations)


class QdrantChunkStore(VectorChunkStore):
    """Fetches neighbours from a Qdrant collection; parameters as in `QdrantCollection` and `VectorChunkStore`.

    Parameters
    ----------
    make_id : `uuid5_id`, or your own `(doc_id, n) -> id`; Qdrant's ids are UUIDs and whole numbers. None asks with a
        filter, which needs two indexes::

            client.create_payload_index("manuals", "doc_id", field_schema="keyword")
            client.create_payload_index("manuals", "chunk_id", field_schema="integer")
    """

    def __init__(
        self,
        client: QdrantClient | AsyncQdrantClient,
        collection: str,
        *,
        make_id: MakeId | None = None,
        retries: int = 2,
        batch_limit: int | None = None,
        **options: Unpack[QdrantOptions],
    ) -> None:
        asked = QdrantCollection(client, collection, **options)
        super().__init__(asked, make_id=make_id, retries=retries, batch_limit=batch_limit)


class QdrantRetriever(VectorRetriever):
    """Finds hits in a Qdrant collection; parameters as in `QdrantCollection` and `VectorRetriever`."""

    def __init__(
        self,
        client: QdrantClient | AsyncQdrantClient,
        collection: str,
        embed: Encoder | Embed,
        *,
        retries: int = 2,
        **options: Unpack[QdrantOptions],
    ) -> None:
        super().__init__(QdrantCollection(client, collection, **options), embed, retries=retries)


_GRPC_FAILURES: Mapping[Any, Failure] = {
    grpc.StatusCode.DEADLINE_EXCEEDED: "timeout",
    grpc.StatusCode.UNAVAILABLE: "down",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "down",
    grpc.StatusCode.INTERNAL: "down",
}


def _is_local(client: QdrantClient | AsyncQdrantClient) -> bool:
    try:
        return client.http is None
    except NotImplementedError:
        return True


def _kind(client: Any) -> Literal["sync", "async"] | None:
    if isinstance(client, QdrantClient):
        return "sync"
    return "async" if isinstance(client, AsyncQdrantClient) else None


def _sees_nothing(request: Request) -> bool:
    """Say whether the caller may see no scope at all: an empty list of conditions would mean everything."""
    return not isinstance(request, Scan) and not request.scopes


def _vector(given: Any, name: str | None) -> NDArray[np.float32] | None:
    found = given.get(name or "") if isinstance(given, Mapping) else given
    if found is None or isinstance(found, models.SparseVector):
        return None
    vector = np.asarray(found, dtype=np.float32)
    return vector if vector.ndim == 1 else None
