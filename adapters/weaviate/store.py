"""Weaviate: chunk store and retriever over an existing collection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import weaviate
from weaviate import WeaviateAsyncClient, WeaviateClient

from retrivex.errors import StoreError

from ..base.clients import split_url
from ..base.collection import ByWindows, ClientCollection, Records, Request, Steps
from ..base.fields import LAYOUTS, FieldMap, LayoutName
from ..base.store import ClientChunkStore, ClientRetriever
from .properties import Properties, property_for, read_properties
from .query import MOST_RECORDS, WeaviateQuery, as_uuid

WEAVIATE_LAYOUTS: Mapping[LayoutName, FieldMap] = {
    # All three write metadata as properties, flat: langchain-weaviate (add_texts: the text under text_key, which its
    # examples call `text`), llama-index-vector-stores-weaviate (get_data_object: text, _node_content) and
    # weaviate-haystack (_to_data_object: content, meta flattened, the id as _original_id).
    **LAYOUTS,
    "langchain": FieldMap(doc_id=("source", "doc_id", "file_path"), text=("text", "page_content", "content")),
}
"""What frameworks write into Weaviate."""


class WeaviateCollection(ClientCollection):
    """A Weaviate collection, accessed through clients of version 4; other parameters as in `ClientCollection`.

    Parameters
    ----------
    client, async_client : WeaviateClient and WeaviateAsyncClient, connected
    tenant : of a collection with multi-tenancy
    options : `fields` (properties within objects can be read and not be filtered by), `vector_name`, `with_vectors`,
        `timeout_s`. The client has a time-out of its own, and asks a server that is down again for a minute: nobody
        waits for it longer than `timeout_s`

    Notes
    -----
    The configuration is read when this is made; with an async client alone, before its first request.

    `scope` is part of a filter where the server can apply it exactly: the property has tokenization "field", and, for
    records without a scope, the collection `index_null_state=True`. Where it cannot, what comes back is checked, and
    four times as many hits are asked for; `warnings` says so where that was not enough.
    """

    batch_limit = MOST_RECORDS // 2 - 50
    searches = frozenset({"vectors", "words", "hybrid"})
    title = "Weaviate"
    kinds = ("WeaviateClient",), ("WeaviateAsyncClient",)
    give = "a WeaviateClient", "a WeaviateAsyncClient"
    layouts = WEAVIATE_LAYOUTS
    _limits_itself = False

    def __init__(
        self,
        client: WeaviateClient | None,
        collection: str,
        *,
        async_client: WeaviateAsyncClient | None = None,
        tenant: str | None = None,
        **options: Any,
    ) -> None:
        self._tenant = tenant
        self._known: WeaviateQuery | None = None
        super().__init__(client, collection, async_client=async_client, **options)

    def _of(self, client: Any) -> Any:
        found = client.collections.get(self._collection)
        return found if self._tenant is None else found.with_tenant(self._tenant)

    # ---- asking

    def _steps(self, request: Request) -> Steps[Records]:
        known = self._known or (yield from self._learn())
        method, arguments = known.call(request)
        answer = yield lambda client: getattr(self._of(client).query, method)(**arguments)
        if isinstance(request, ByWindows) and len(answer.objects) == known.limit(request):
            raise StoreError(
                f"{self.name} gave {len(answer.objects)} records for {sum(map(len, request.windows))} chunks, maybe "
                "not all: its places are kept several times (say batch_limit=100), or documents indexed by their words"
            )
        return known.records(answer, request)

    def _learn(self) -> Steps[WeaviateQuery]:
        """Read the configuration of the collection."""
        self._known = known = self._query(read_properties((yield lambda client: self._of(client).config.get())))
        return known

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
        collection = self._of(self._sync)
        for path in values.keys() - self._known.known.types.keys():
            collection.config.add_property(property_for(path, values[path]))
        for id_, change in changes.items():
            collection.data.update(as_uuid(id_, self.name), properties=dict(change))
        self._run(self._learn())

    def _query(self, known: Properties) -> WeaviateQuery:
        name = self._vector_name
        if name is not None and name not in known.metrics:
            raise StoreError(f"vector_name is {name!r}: {self.name} has {', '.join(known.metrics) or 'no vectors'}")
        if name is None and len(known.metrics) == 1:
            only = next(iter(known.metrics))
            name = None if only == "default" else only
        include: bool | list[str] = (
            [self._vector_name] if self._with_vectors and self._vector_name else self._with_vectors
        )
        return WeaviateQuery(self.fields, known, self.name, name, include)


class WeaviateChunkStore(ClientChunkStore):
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

    kind = WeaviateCollection


class WeaviateRetriever(ClientRetriever):
    """Finds hits in a Weaviate collection, nearest first.

    Parameters are those of `WeaviateCollection` and `VectorRetriever`. Scores: cosines and dot products as they are,
    other distances with a minus.
    """

    kind = WeaviateCollection
