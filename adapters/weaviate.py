"""Weaviate: neighbours and hits out of a collection that exists already."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime
from threading import Thread
from typing import Any, TypeVar

import numpy as np

from retrivex.encoder import Encoder
from retrivex.errors import StoreError

from .collection import ByIds, ByWindows, Collection, Failure, Nearest, Record, Records, Request, Scan
from .documents import as_int
from .fields import LAYOUTS, FieldMap, LayoutName, MakeId, field_map
from .vector_store import Embed, VectorChunkStore, VectorRetriever

try:
    from grpc import StatusCode
    from weaviate import WeaviateAsyncClient, WeaviateClient
    from weaviate.classes.config import DataType, Property, Tokenization
    from weaviate.classes.query import Filter, MetadataQuery
    from weaviate.collections.classes.filters import FilterReturn
    from weaviate.exceptions import (
        UnexpectedStatusCodeError,
        WeaviateBaseError,
        WeaviateConnectionError,
        WeaviateTimeoutError,
    )

    from .weaviate_properties import Properties, by_scopes, by_windows, read_properties
except ImportError as error:
    hint = "pip install 'retrivex-rag[weaviate]'"
    raise ImportError(f"retrivex.adapters.weaviate needs weaviate-client: {hint}") from error

__all__ = ["WEAVIATE_LAYOUTS", "FieldMap", "WeaviateChunkStore", "WeaviateCollection", "WeaviateRetriever"]

WEAVIATE_LAYOUTS: Mapping[LayoutName, FieldMap] = {
    # All three write metadata as properties, flat: langchain-weaviate (add_texts: the text under text_key, which its
    # examples call `text`), llama-index-vector-stores-weaviate (get_data_object: text, _node_content) and
    # weaviate-haystack (_to_data_object: content, meta flattened, the id as _original_id).
    **LAYOUTS,
    "langchain": FieldMap(doc_id=("source", "doc_id", "file_path"), text=("text", "page_content", "content")),
}

MOST_RECORDS = 10_000
"""That one request gives: QUERY_MAXIMUM_RESULTS of a server, unless it was set otherwise."""

_OVERFETCH = 4

T = TypeVar("T")


class WeaviateCollection(Collection):
    """A collection of Weaviate, asked through a WeaviateClient, a WeaviateAsyncClient, or both (version 4).

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
    four times as many hits are asked for.
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
        if client is None and async_client is None:
            raise StoreError("client is None: give a WeaviateClient, or async_client=WeaviateAsyncClient(...)")
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
        query, known = self._sync.query, self._known
        call, arguments = self._call(request, known)
        return self._records(_within(lambda: getattr(query, call)(**arguments), self._timeout_s), request, known)

    async def aask(self, request: Request) -> Records:
        """Do the same through the async client."""
        assert self._async is not None
        if self._known is None:
            config = await asyncio.wait_for(self._async.config.get(), self._timeout_s)
            self._known = self._checked(read_properties(config))
        call, arguments = self._call(request, self._known)
        answer = await asyncio.wait_for(getattr(self._async.query, call)(**arguments), self._timeout_s)
        return self._records(answer, request, self._known)

    def _call(self, request: Request, known: Properties) -> tuple[str, dict[str, Any]]:
        """Return the method of the client and its arguments; without a limit a server gives ten records."""
        arguments: dict[str, Any] = {"limit": self._limit(request, known), "include_vector": self._include}
        match request:
            case ByIds(ids, scopes):
                # as the client's own fetch_objects_by_ids, which takes no other filter beside the ids
                wanted = Filter.any_of([Filter.by_id().equal(_uuid(id_, self.name)) for id_ in ids])
                return "fetch_objects", arguments | {"filters": self._both(wanted, self._scopes(scopes, known))}
            case ByWindows(windows, scopes):
                doc_id, chunk_id = (self._property(name, known) for name in ("doc_id", "chunk_id"))
                wanted = by_windows(windows, doc_id, chunk_id, known)
                return "fetch_objects", arguments | {"filters": self._both(wanted, self._scopes(scopes, known))}
            case Nearest(vector, _, scopes):
                asked = {"near_vector": vector.tolist(), "return_metadata": MetadataQuery(distance=True)}
                if self._vector_name is not None:
                    asked["target_vector"] = self._vector_name
                return "near_vector", arguments | asked | {"filters": self._scopes(scopes, known)}
            case Scan(after):
                return "fetch_objects", arguments | {"after": after}

    def _limit(self, request: Request, known: Properties) -> int:
        match request:
            case ByIds(ids):
                return len(ids)
            case ByWindows(windows):  # room for places that are kept twice
                return min(MOST_RECORDS, 2 * sum(len(window) for window in windows) + 100)
            case Nearest(k=k, scopes=scopes):
                if k > MOST_RECORDS:
                    raise StoreError(f"k is {k}: Weaviate gives at most {MOST_RECORDS}")
                unfiltered = self.fields.path("scope") in known.types and self._scopes(scopes, known) is None
                return min(MOST_RECORDS, _OVERFETCH * k) if unfiltered else k
            case Scan(limit=limit):
                return min(MOST_RECORDS, limit)

    def _scopes(self, scopes: frozenset[str | None], known: Properties) -> FilterReturn | None:
        return by_scopes(scopes, self.fields.path("scope"), known)

    @staticmethod
    def _both(wanted: FilterReturn, scopes: FilterReturn | None) -> FilterReturn:
        return wanted if scopes is None else Filter.all_of([wanted, scopes])

    def _property(self, name: str, known: Properties) -> str:
        path = self.fields.path(name)
        if path is None or path not in known.types:
            raise StoreError(
                f"{self.name} has no property {path!r}: it has {', '.join(known.types)}; name it with "
                f"fields=FieldMap({name}=...), or say how ids are made with make_id=uuid5_id"
            )
        return path

    def _records(self, answer: Any, request: Request, known: Properties) -> Records:
        records = [self._record(found, known) for found in answer.objects]
        match request:
            case Nearest(k=k, scopes=scopes):
                return Records(
                    [record for record in records if _scope_of(self._read_field(record, "scope")) in scopes][:k]
                )
            case Scan():
                return Records(records, records[-1].id if len(records) == self._limit(request, known) else None)
            case ByWindows(windows):
                if len(records) == self._limit(request, known):
                    why = self.missing_index() or "its places are kept several times: say batch_limit=100"
                    asked = sum(map(len, windows))
                    gave = f"{self.name} gave {len(records)} records for {asked} chunks"
                    raise StoreError(f"{gave}, maybe not all: {why}")
                return Records(self._inside(records, request))
        return Records(records)

    def _inside(self, records: Sequence[Record], request: ByWindows) -> list[Record]:
        """Leave out what matched by its words alone: an index of words finds `a b` for `b a`."""
        wanted = {(window.doc_id, n) for window in request.windows for n in range(window.start, window.end)}
        return [
            record
            for record in records
            if (str(self._read_field(record, "doc_id")), as_int(self._read_field(record, "chunk_id"))) in wanted
        ]

    def _read_field(self, record: Record, name: str) -> Any:
        inner = record.payload if self.fields.root is None else record.payload.get(self.fields.root)
        return self.fields.read(inner, name) if isinstance(inner, Mapping) else None

    def _record(self, found: Any, known: Properties) -> Record:
        distance = None if found.metadata is None else found.metadata.distance
        score = None
        if distance is not None:  # a cosine distance is 1 - cosine, that of dot products has a minus already
            score = 1.0 - distance if known.metrics.get(self._vector_name or "default") == "cosine" else -distance
        vectors = {name: vector for name, vector in (found.vector or {}).items() if vector}
        vector = vectors.get(self._vector_name or "default")
        made = None if vector is None else np.asarray(vector, dtype=np.float32)
        payload = {name: _plain(value) for name, value in found.properties.items() if value is not None}
        return Record(str(found.uuid), payload, score, made)

    # ---- what it is

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
        known = self._known
        if known is None:
            return None
        doc_id, chunk_id = (self.fields.path(name) for name in ("doc_id", "chunk_id"))
        wrong = []
        if doc_id in known.types and doc_id not in known.exact:
            wrong.append(
                f"{doc_id!r} is indexed by its words, which finds other documents too, and none by a name without words"
            )
        wrong += [
            f"{name!r} has no index for filters"
            for name in (doc_id, chunk_id)
            if name in known.types.keys() - known.filterable
        ]
        if not wrong:
            return None
        return (
            f"{self.name}: {'; '.join(wrong)}. This is decided when a property is made: Property(name={doc_id!r}, "
            f"data_type=DataType.TEXT, tokenization=Tokenization.FIELD), Property(name={chunk_id!r}, "
            "data_type=DataType.INT, index_range_filters=True); or ask by ids with make_id=uuid5_id"
        )

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
        for path in values.keys() - self._known.types.keys():
            self._sync.config.add_property(_property_for(path, values[path]))
        for id_, change in changes.items():
            self._sync.data.update(_uuid(id_, self.name), properties=dict(change))
        self._known = self._read()

    def _read(self) -> Properties:
        assert self._sync is not None
        config = self._sync.config
        try:
            return self._checked(read_properties(_within(lambda: config.get(), self._timeout_s)))
        except (WeaviateBaseError, TimeoutError) as error:
            shown = f"{type(error).__name__}: {error}"
            raise StoreError(f"{self.name}: its configuration cannot be read ({shown})") from error

    def _checked(self, known: Properties) -> Properties:
        if self._vector_name is not None and self._vector_name not in known.metrics:
            raise StoreError(
                f"vector_name is {self._vector_name!r}: {self.name} has {', '.join(known.metrics) or 'no vectors'}"
            )
        if self._vector_name is None and len(known.metrics) == 1:
            named = next(iter(known.metrics))
            self._vector_name = None if named == "default" else named
        return known


def _within(call: Callable[[], T], timeout_s: float) -> T:
    """Return the answer of a call, or raise TimeoutError; the thread it runs in is a daemon and is not waited for."""
    answer: Future[T] = Future()

    def work() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            answer.set_exception(error)

    Thread(target=work, name="retrivex-weaviate", daemon=True).start()
    return answer.result(timeout_s)


def _code(error: BaseException | None) -> Any:
    """Return the gRPC status that an error comes from."""
    while error is not None:
        code = getattr(error, "code", None)
        if callable(code):
            return code()
        error = error.__cause__ or error.__context__
    return None


def _plain(value: Any) -> Any:
    """Return a date or UUID as the text that it is in JSON."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, uuid.UUID) else value


def _uuid(id_: str, name: str) -> str:
    try:
        return str(uuid.UUID(id_))
    except ValueError as error:
        raise StoreError(f"make_id gave {id_!r}: the ids of {name} are UUIDs; take uuid5_id") from error


def _property_for(name: str, value: Any) -> Property:
    if isinstance(value, str):
        return Property(name=name, data_type=DataType.TEXT, tokenization=Tokenization.FIELD)
    if isinstance(value, bool):
        return Property(name=name, data_type=DataType.BOOL)
    if isinstance(value, int):
        return Property(name=name, data_type=DataType.INT, index_range_filters=True)
    return Property(name=name, data_type=DataType.NUMBER if isinstance(value, float) else DataType.TEXT_ARRAY)


class WeaviateChunkStore(VectorChunkStore):
    """Neighbours out of a collection of Weaviate, in one request.

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
        fields: FieldMap | LayoutName = "retrivex",
        make_id: MakeId | None = None,
        async_client: WeaviateAsyncClient | None = None,
        tenant: str | None = None,
        vector_name: str | None = None,
        timeout_s: float = 10.0,
        retries: int = 2,
        batch_limit: int | None = None,
        with_vectors: bool = False,
    ) -> None:
        asked = WeaviateCollection(
            client,
            collection,
            async_client=async_client,
            fields=fields,
            vector_name=vector_name,
            tenant=tenant,
            timeout_s=timeout_s,
            with_vectors=with_vectors,
        )
        super().__init__(asked, make_id=make_id, retries=retries, batch_limit=batch_limit)


class WeaviateRetriever(VectorRetriever):
    """Hits out of a collection of Weaviate, nearest first.

    Parameters are those of `WeaviateCollection` and `VectorRetriever`. Scores: cosines and dot products as they are,
    other distances with a minus.
    """

    def __init__(
        self,
        client: WeaviateClient | None,
        collection: str,
        embed: Encoder | Embed,
        *,
        fields: FieldMap | LayoutName = "retrivex",
        async_client: WeaviateAsyncClient | None = None,
        tenant: str | None = None,
        vector_name: str | None = None,
        timeout_s: float = 10.0,
        retries: int = 2,
        with_vectors: bool = False,
    ) -> None:
        asked = WeaviateCollection(
            client,
            collection,
            async_client=async_client,
            fields=fields,
            vector_name=vector_name,
            tenant=tenant,
            timeout_s=timeout_s,
            with_vectors=with_vectors,
        )
        super().__init__(asked, embed, retries=retries)


def _scope_of(value: Any) -> str | None:
    """Return a scope as it is compared on arrival; a list or a number is one, too, under its text."""
    return None if value is None else str(value)
