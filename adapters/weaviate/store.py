"""Weaviate: chunk store and retriever over an existing collection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypedDict, TypeVar, Unpack

from retrivex.adapters.base.clients import check_clients, split_url
from retrivex.adapters.base.collection import ByWindows, Collection, Failure, Records, Request
from retrivex.adapters.base.fields import LAYOUTS, FieldMap, LayoutName, MakeId, field_map
from retrivex.adapters.base.store import Embed, VectorChunkStore, VectorRetriever
from retrivex.encoders.encoder import Encoder
from retrivex.errors import StoreError, StoreTimeoutError, install_hint
from retrivex.timeouts import call_in_time

try:
    import weaviate
    from grpc import StatusCode
    from weaviate import WeaviateAsyncClient, WeaviateClient
    from weaviate.exceptions import (
        UnexpectedStatusCodeError,
        WeaviateBaseError,
        WeaviateConnectionError,
        WeaviateTimeoutError,
    )

    from .properties import Properties, property_for, read_properties
    from .query import MOST_RECORDS, WeaviateQuery, as_uuid
except ImportError as error:
    raise ImportError(f"retrivex.adapters.weaviate needs weaviate-client: {install_hint('weaviate')}") from error

__all__ = ["WEAVIATE_LAYOUTS", "FieldMap", "WeaviateChunkStore", "WeaviateCollection", "WeaviateRetriever"]

WEAVIATE_LAYOUTS: Mapping[LayoutName, FieldMap] = {
    # All three write metadata as properties, flat: langchain-weaviate (add_texts: the text under text_key, which its
    # examples call `text`), llama-index-vector-stores-weaviate (get_data_object: text, _node_content) and
    # weaviate-haystack (_to_data_object: content, meta flattened, the id as _original_id).
    **LAYOUTS,
    "langchain": FieldMap(doc_id=("source", "doc_id", "file_path"), text=("text", "page_content", "content")),
}

T = TypeVar("T")


class WeaviateOptions(TypedDict, total=False):
    """Arguments that `WeaviateCollection`, `WeaviateChunkStore` and `WeaviateRetriever` share."""

    async_client: WeaviateAsyncClient | None
    fields: FieldMap | LayoutName
    vector_name: str | None
    tenant: str | None
    timeout_s: float
    with_vectors: bool


class WeaviateCollection(Collection):
    """A Weaviate collection, accessed through a WeaviateClient, a WeaviateAsyncClient, or both (version 4).

    Parameters
    ----------
    client : WeaviateClient or None, connected; stays yours and is never closed
    collection : its name
    async_client : WeaviateAsyncClient or None, connected
    fields : FieldMap, or the name of a layout; properties within objects can be read and not be filtered by
    vector_name : the named vector that is searched; None where there is one
    tenant : of a collection with multi-tenancy
    timeout_s : for one request, in seconds. The client has one of its own, and asks a server that is down again for a
        minute: nobody waits for it longer than this.
    with_vectors : whether chunks come with their vectors, for `continuity` and similarity: more to send

    Raises
    ------
    StoreError
        If the configuration of the collection cannot be read, or an argument breaks its rule.

    Notes
    -----
    The configuration is read when this is made; with an async client alone, before its first request.

    `scope` is part of a filter where the server can apply it exactly: the property has tokenization "field", and, for
    records without a scope, the collection `index_null_state=True`. Where it cannot, what comes back is checked, and
    four times as many hits are asked for; `warnings` says so where that was not enough.
    """

    batch_limit = MOST_RECORDS // 2 - 50

    def __init__(
        self,
        client: WeaviateClient | None,
        collection: str,
        *,
        async_client: WeaviateAsyncClient | None = None,
        fields: FieldMap | LayoutName = "retrivex",
        vector_name: str | None = None,
        tenant: str | None = None,
        timeout_s: float = 10.0,
        with_vectors: bool = False,
    ) -> None:
        check_clients(client, async_client, _kind, ("a WeaviateClient", "a WeaviateAsyncClient"))
        if not isinstance(timeout_s, (int, float)) or isinstance(timeout_s, bool) or not 0 < timeout_s < 1e6:
            raise StoreError(f"timeout_s is {timeout_s!r}: it must be a number of seconds above 0")
        self.fields = field_map(fields, WEAVIATE_LAYOUTS)
        self.name = f"Weaviate {collection!r}"
        self.is_sync, self.is_async = client is not None, async_client is not None
        self._timeout_s, self._vector_name, self._tenant = timeout_s, vector_name, tenant
        self._include: bool | list[str] = [vector_name] if with_vectors and vector_name else with_vectors
        self._sync = None if client is None else client.collections.get(collection)
        self._async = None if async_client is None else async_client.collections.get(collection)
        if tenant is not None:
            self._sync = None if self._sync is None else self._sync.with_tenant(tenant)
            self._async = None if self._async is None else self._async.with_tenant(tenant)
        self._known = None if self._sync is None else self._read()

    # ---- asking

    def ask(self, request: Request) -> Records:
        """Answer a request with one search."""
        assert self._sync is not None
        assert self._known is not None
        asked, known = self._sync.query, self._known
        call, arguments = known.call(request)
        answer = _wait_for(lambda: getattr(asked, call)(**arguments), self._timeout_s)
        return self._records(answer, request, known)

    async def aask(self, request: Request) -> Records:
        """Do the same through the async client."""
        assert self._async is not None
        if self._known is None:
            config = await asyncio.wait_for(self._async.config.get(), self._timeout_s)
            self._known = self._query(read_properties(config))
        known = self._known
        call, arguments = known.call(request)
        answer = await asyncio.wait_for(getattr(self._async.query, call)(**arguments), self._timeout_s)
        return self._records(answer, request, known)

    def _records(self, answer: Any, request: Request, known: WeaviateQuery) -> Records:
        if isinstance(request, ByWindows) and len(answer.objects) == known.limit(request):
            why = self.missing_index() or "its places are kept several times: say batch_limit=100"
            gave = f"{self.name} gave {len(answer.objects)} records for {sum(map(len, request.windows))} chunks"
            raise StoreError(f"{gave}, maybe not all: {why}")
        return known.records(answer, request)

    # ---- what it is

    @staticmethod
    def connect(address: str, api_key: str | None) -> WeaviateClient:
        """Return a connected client of the server at a URL, with gRPC at port 50051."""
        host, port, secure = split_url(address)
        key = weaviate.auth.AuthApiKey(api_key) if api_key else None
        return weaviate.connect_to_custom(
            http_host=host, http_port=port, http_secure=secure, grpc_host=host, grpc_port=50051, grpc_secure=secure,
            auth_credentials=key,
        )  # fmt: skip

    def failure(self, error: Exception) -> Failure:
        """Say what an error of weaviate-client means; it hides the code of a search in the cause."""
        if isinstance(error, (TimeoutError, WeaviateTimeoutError)):
            return "timeout"
        if isinstance(error, WeaviateConnectionError):
            return "down"
        if isinstance(error, UnexpectedStatusCodeError):
            return "down" if error.status_code in (429, 502, 503, 504) else "refused"
        code = _code(error)
        if code is StatusCode.DEADLINE_EXCEEDED:
            return "timeout"
        return "down" if code in (StatusCode.UNAVAILABLE, StatusCode.RESOURCE_EXHAUSTED) else "refused"

    def missing_index(self) -> str | None:
        """Say what is wrong with the properties that `ByWindows` filters by."""
        return None if self._known is None else self._known.missing_index()

    async def amissing_index(self) -> str | None:
        """Say the same: the configuration has been read by then."""
        return self.missing_index()

    def write(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        """Set properties of objects, one request for each; properties that the collection lacks are made first.

        Raises
        ------
        StoreError
            If a path leads into an object: Weaviate sets properties as a whole.
        """
        if self._sync is None or self._known is None:
            raise StoreError(f"{self.name} has only an async client: pass a sync client to write")
        values = {path: value for change in changes.values() for path, value in change.items()}
        inner = [path for path in values if "." in path]
        if inner:
            raise StoreError(f"{inner[0]!r} leads into an object: {self.name} sets properties as a whole")
        for path in values.keys() - self._known.known.types.keys():
            self._sync.config.add_property(property_for(path, values[path]))
        for id_, change in changes.items():
            self._sync.data.update(as_uuid(id_, self.name), properties=dict(change))
        self._known = self._read()

    def _read(self) -> WeaviateQuery:
        assert self._sync is not None
        config = self._sync.config
        try:
            return self._query(read_properties(_wait_for(lambda: config.get(), self._timeout_s)))
        except (WeaviateBaseError, TimeoutError) as error:
            shown = f"{type(error).__name__}: {error}"
            raise StoreError(f"{self.name}: its configuration cannot be read ({shown})") from error

    def _query(self, known: Properties) -> WeaviateQuery:
        name = self._vector_name
        if name is not None and name not in known.metrics:
            raise StoreError(f"vector_name is {name!r}: {self.name} has {', '.join(known.metrics) or 'no vectors'}")
        if name is None and len(known.metrics) == 1:
            only = next(iter(known.metrics))
            name = None if only == "default" else only
        return WeaviateQuery(self.fields, known, self.name, name, self._include)


def _kind(client: Any) -> Literal["sync", "async"] | None:
    if isinstance(client, WeaviateClient):
        return "sync"
    return "async" if isinstance(client, WeaviateAsyncClient) else None


def _wait_for(call: Callable[[], T], timeout_s: float) -> T:
    """Return the answer of a call, or raise TimeoutError."""
    try:
        return call_in_time(call, timeout_s)
    except StoreTimeoutError as error:
        raise TimeoutError(f"no answer within {timeout_s:g} s") from error


def _code(error: BaseException | None) -> Any:
    """Return the gRPC status that an error comes from."""
    while error is not None:
        code = getattr(error, "code", None)
        if callable(code):
            return code()
        error = error.__cause__ or error.__context__
    return None


class WeaviateChunkStore(VectorChunkStore):
    """Fetches neighbours from a Weaviate collection, in one request.

    Parameters are those of `WeaviateCollection` and `VectorChunkStore`.

    Examples
    --------
    By ids, where they were made of document and number::

        store = WeaviateChunkStore(client, "Guide", make_id=uuid5_id)

    By a filter otherwise, which wants properties that are made for it::

        client.collections.create("Guide", properties=[
            Property(name="doc_id", data_type=DataType.TEXT, tokenization=Tokenization.FIELD),
            Property(name="chunk_id", data_type=DataType.INT, index_range_filters=True),
            Property(name="scope", data_type=DataType.TEXT, tokenization=Tokenization.FIELD),
        ], inverted_index_config=Configure.inverted_index(index_null_state=True))
        store = WeaviateChunkStore(client, "Guide")
    """

    def __init__(
        self,
        client: WeaviateClient | None,
        collection: str,
        *,
        make_id: MakeId | None = None,
        retries: int = 2,
        batch_limit: int | None = None,
        **options: Unpack[WeaviateOptions],
    ) -> None:
        asked = WeaviateCollection(client, collection, **options)
        super().__init__(asked, make_id=make_id, retries=retries, batch_limit=batch_limit)


class WeaviateRetriever(VectorRetriever):
    """Finds hits in a Weaviate collection, nearest first.

    Parameters are those of `WeaviateCollection` and `VectorRetriever`. Scores: cosines and dot products as they are,
    other distances with a minus.
    """

    def __init__(
        self,
        client: WeaviateClient | None,
        collection: str,
        embed: Encoder | Embed,
        *,
        retries: int = 2,
        **options: Unpack[WeaviateOptions],
    ) -> None:
        super().__init__(WeaviateCollection(client, collection, **options), embed, retries=retries)
