"""Chroma: chunk store and retriever over an existing collection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from retrivex.adapters.base.clients import either_client, is_url, split_url
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
from retrivex.adapters.base.documents import as_int
from retrivex.adapters.base.fields import LAYOUTS, FieldMap, LayoutName, MakeId, colon_id, field_map, uuid5_id
from retrivex.adapters.base.layouts import DEFAULT_LAYOUT, LayoutFinder, StorageLayout, candidate_layouts
from retrivex.adapters.base.store import Embed, VectorChunkStore, VectorRetriever
from retrivex.encoders.encoder import Encoder
from retrivex.errors import StoreError, StoreTimeoutError, install_hint
from retrivex.timeouts import call_in_time

from .filters import METADATA, ScopeFilter, all_of, of_windows

try:
    import chromadb
    import httpx
    from chromadb.api import AsyncClientAPI, ClientAPI
    from chromadb.api.models.AsyncCollection import AsyncCollection
    from chromadb.api.models.Collection import Collection as SyncCollection
    from chromadb.errors import InternalError, NotFoundError, RateLimitError

    from .answers import TEXT, hits_of, page_of, pages_of, records_of, scored, space_of
except ImportError as error:
    raise ImportError(f"retrivex.adapters.chroma needs chromadb: {install_hint('chroma')}") from error

__all__ = [
    "CHROMA_LAYOUTS",
    "ChromaChunkStore",
    "ChromaCollection",
    "ChromaOptions",
    "ChromaRetriever",
    "FieldMap",
    "colon_id",
    "uuid5_id",
]

T = TypeVar("T")

_OVERFETCH = 4  # hits asked for instead of one, where the filter cannot be sent
_ROUNDS = 3  # requests for a question, where those hits belong to others
_MOST_COMPARED = 300  # records compared one by one where the index finds too few; Chroma Cloud gives no more

Asked: TypeAlias = tuple[Literal["query", "get"], dict[str, Any]]
"""The method of a collection, and its arguments."""


def _make_field_map(fields: FieldMap) -> FieldMap:
    """Return names in flat metadata, beside a text that has no name; where there is none, one of the metadata is it."""
    if fields.root == METADATA and TEXT in fields.text:
        return fields
    return replace(fields, root=METADATA, text=(TEXT, *(f"{METADATA}.{name}" for name in fields.text)))


# langchain-chroma 1.1, llama-index-vector-stores-chroma 0.6 and chroma-haystack 5.0 write their metadata flat
CHROMA_LAYOUTS: Mapping[LayoutName, FieldMap] = {layout: _make_field_map(fields) for layout, fields in LAYOUTS.items()}
"""What frameworks write into Chroma."""


class ChromaOptions(TypedDict, total=False):
    """Arguments that `ChromaCollection`, `ChromaChunkStore` and `ChromaRetriever` share."""

    async_client: AsyncClientAPI | None
    fields: FieldMap | LayoutName
    with_vectors: bool
    timeout_s: float


class ChromaCollection(Collection):
    """One collection of a Chroma server, of Chroma Cloud, or of an embedded client.

    Parameters
    ----------
    client : `HttpClient`, `PersistentClient`, `EphemeralClient`, `CloudClient` or an `AsyncHttpClient`, awaited
    collection : its name
    async_client : one more, so that both `fetch` and `afetch` have their own
    fields : names of metadata; the text is Chroma's document, and in records without one what `text` names
    with_vectors : read the vectors of neighbours too, for continuity by embeddings
    timeout_s : longest wait for an answer; Chroma's own clients wait for ever

    Raises
    ------
    StoreError
        If an argument breaks its rule, or there is no such collection.

    Notes
    -----
    The collection is looked up by one more request: when this is made with a sync client, with the first request
    otherwise, and again when it was made anew under the same name.

    Chroma can ask for a scope, and not for records without one. Where the caller may see those, what belongs to others
    is left out here, four times as many hits are asked for, and again, at most twice, without the scopes that were in
    the way. Where there are still fewer than `k`, a warning says so. `FieldMap(scope=())`: no record has a scope.

    Chroma's index (HNSW) may not reach every record, above all where many vectors are the same. Where it finds fewer
    records than asked for, one more request reads up to 300 that match; those that it did not find are compared here,
    and a warning says so.
    """

    batch_limit = 5000  # Chroma itself writes at most 5,461 at once

    def __init__(
        self,
        client: ClientAPI | AsyncClientAPI,
        collection: str,
        *,
        async_client: AsyncClientAPI | None = None,
        fields: FieldMap | LayoutName = "retrivex",
        with_vectors: bool = False,
        timeout_s: float = 10.0,
    ) -> None:
        give = "a client of chromadb", "what `await AsyncHttpClient(...)` gives"
        self._client: ClientAPI | None
        self._async_client: AsyncClientAPI | None
        self._client, self._async_client = either_client(client, async_client, _kind, give)
        self.is_sync, self.is_async = self._client is not None, self._async_client is not None
        if not isinstance(collection, str):
            raise StoreError(f"collection is {type(collection).__name__}: give its name")
        self.name = f"Chroma collection {collection!r}"
        self.fields = _make_field_map(field_map(fields, CHROMA_LAYOUTS))
        self._collection = collection
        self._with_vectors = with_vectors
        if isinstance(timeout_s, bool) or not isinstance(timeout_s, (int, float)) or not timeout_s > 0:
            raise StoreError(f"timeout_s is {timeout_s!r}: it must be a number of seconds above 0")
        self._timeout_s = timeout_s
        self._layouts = LayoutFinder()
        self._others: dict[Any, None] = {}  # scopes that were in the way of a question
        self._opened: SyncCollection | None = None
        self._async_opened: AsyncCollection | None = None
        self._open_at_once()

    def ask(self, request: Request) -> Records:
        """Answer a request."""
        if _sees_nothing(request):
            return Records()
        return self._wait_for(lambda: self._ask(request))

    async def aask(self, request: Request) -> Records:
        """Answer a request through the async client."""
        if _sees_nothing(request):
            return Records()
        async with asyncio.timeout(self._timeout_s):
            opened = self._async_opened
            if opened is None:
                assert self._async_client is not None
                opened = await self._async_client.get_collection(self._collection, embedding_function=None)
                self._async_opened = opened
            return await self._aanswer(opened, request)

    @staticmethod
    def connect(address: str, api_key: str | None) -> ClientAPI:
        """Return a client of the server at a URL, or of the local folder."""
        if not is_url(address):
            return chromadb.PersistentClient(path=address)
        host, port, secure = split_url(address)
        headers = {"X-Chroma-Token": api_key} if api_key else None
        return chromadb.HttpClient(host, port, secure, headers=headers)

    def failure(self, error: Exception) -> Failure:
        """Say what an error of Chroma or of its connection means."""
        if isinstance(error, NotFoundError):
            # made anew under its name while we held the old one: looked up again, once
            known = self._opened is not None or self._async_opened is not None
            self._opened = self._async_opened = None
            return "down" if known else "refused"
        if isinstance(error, (TimeoutError, httpx.TimeoutException)):
            return "timeout"
        if isinstance(error, (httpx.TransportError, InternalError, RateLimitError, OSError)):
            return "down"
        answered = error.__context__  # an answer that is not Chroma's own, such as a proxy's
        status = answered.response.status_code if isinstance(answered, httpx.HTTPStatusError) else 0
        if status in (408, 504):
            return "timeout"
        return "down" if status == 429 or status >= 500 else "refused"

    def write(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        """Set metadata; lists only where the version of Chroma keeps them."""
        ids = list(changes)
        metadatas = [
            {path.removeprefix(f"{METADATA}."): value for path, value in fields.items()} for fields in changes.values()
        ]
        if ids:
            self._wait_for(lambda: self._open().update(ids=ids, metadatas=metadatas))  # type: ignore[arg-type]

    # ---- the collection

    def _open_at_once(self) -> None:
        if not self.is_sync:
            return
        try:
            self._wait_for(self._open)
        except NotFoundError as error:
            raise StoreError(f"{self.name} is not there ({error})") from error
        except (StoreTimeoutError, httpx.TransportError, InternalError, RateLimitError, OSError):
            return  # down just now: the first request looks again, and says so if it still is

    def _open(self) -> SyncCollection:
        if self._opened is None:
            assert self._client is not None
            # without its embedding function: vectors are ours, and making one may need a key
            self._opened = self._client.get_collection(self._collection, embedding_function=None)
        return self._opened

    def _ask(self, request: Request) -> Records:
        opened = self._open()
        if isinstance(request, ByWindows):
            return self._layouts.ask(
                self._candidates, lambda layout: self._read_found(opened.get(**self._get(request, layout)), request)
            )
        if not isinstance(request, Nearest):
            return self._read_found(opened.get(**self._get(request)), request)
        asking = self._nearest(request, space_of(opened))
        answer: Mapping[str, Any] | None = None
        try:
            while True:
                method, arguments = asking.send(answer)
                answer = getattr(opened, method)(**arguments)
        except StopIteration as done:
            records: Records = done.value
            return records

    async def _aanswer(self, opened: AsyncCollection, request: Request) -> Records:
        if isinstance(request, ByWindows):

            async def ask(layout: StorageLayout) -> Records:
                return self._read_found(await opened.get(**self._get(request, layout)), request)

            return await self._layouts.aask(self._candidates, ask)
        if not isinstance(request, Nearest):
            return self._read_found(await opened.get(**self._get(request)), request)
        asking = self._nearest(request, space_of(opened))
        answer: Mapping[str, Any] | None = None
        try:
            while True:
                method, arguments = asking.send(answer)
                answer = await getattr(opened, method)(**arguments)
        except StopIteration as done:
            records: Records = done.value
            return records

    def _wait_for(self, call: Callable[[], T]) -> T:
        try:
            return call_in_time(call, self._timeout_s)
        except StoreTimeoutError as error:
            raise StoreTimeoutError(
                f"{self.name} did not answer in time (no answer within timeout_s={self._timeout_s:g})"
            ) from error

    # ---- requests

    @property
    def _scope_filter(self) -> ScopeFilter:
        return ScopeFilter(self.fields, self._others)

    @property
    def _candidates(self) -> list[StorageLayout]:
        # metadata are flat: a dot in a name is a letter
        return [layout for layout in candidate_layouts(self.fields) if not layout.whole]

    def _get(self, request: ByIds | ByWindows | Scan, layout: StorageLayout = DEFAULT_LAYOUT) -> dict[str, Any]:
        asked: dict[str, Any] = {"include": self._list_included(["documents", "metadatas"])}
        if isinstance(request, Scan):
            return asked | pages_of(request)
        scopes = self._scope_filter.conditions(request.scopes)
        if isinstance(request, ByIds):
            return {**asked, "ids": list(request.ids), "where": all_of(scopes)}
        return {**asked, "where": all_of([of_windows(self.fields, request.windows, layout), *scopes])}

    def _query(self, request: Nearest) -> dict[str, Any]:
        narrowed = self._scope_filter
        return {
            "include": self._list_included(["documents", "metadatas", "distances"]),
            "query_embeddings": [request.vector],
            "n_results": request.k * (_OVERFETCH if narrowed.is_partial(request.scopes) else 1),
            "where": all_of([*narrowed.conditions(request.scopes), *narrowed.out_of_the_way(request.scopes)]),
        }

    def _list_included(self, wanted: list[str]) -> list[str]:
        return [*wanted, "embeddings"] if self._with_vectors else wanted

    # ---- answers

    def _read_found(self, answer: Mapping[str, Any], request: ByIds | ByWindows | Scan) -> Records:
        found = records_of(answer)
        if isinstance(request, Scan):
            return page_of(self.name, found, request)
        if isinstance(request, ByWindows):
            places = {(window.doc_id, n) for window in request.windows for n in range(window.start, window.end)}
            found = [record for record in found if self._place(record) in places]
        return Records(self._scope_filter.visible(found, request.scopes))

    def _place(self, record: Record) -> tuple[str, int | None]:
        metadata = record.payload[METADATA]
        return str(metadata.get(self.fields.doc_id[0])), as_int(metadata.get(self.fields.chunk_id[0]))

    def _nearest(self, request: Nearest, space: str) -> Generator[Asked, Any, Records]:
        """Ask for hits, for all that match if the index lost some, and again where those of others are in the way."""
        visible = self._scope_filter.visible
        for _ in range(_ROUNDS):
            asked = self._query(request)
            found = hits_of((yield "query", asked), space)
            reached = visible(found, request.scopes)
            if len(reached) >= request.k:
                return Records(reached[: request.k])
            lost, is_whole = [], False
            if len(found) < asked["n_results"]:
                everything = self._all_that_match(asked)
                matching = records_of((yield "get", everything))
                is_whole = len(matching) < everything["limit"]
                lost = self._find_lost(found, matching, request.vector, space)
            compared = visible(lost, request.scopes)
            seen = sorted([*reached, *compared], key=_by_score)[: request.k]
            if is_whole or len(seen) == request.k or not self._scope_filter.learn([*found, *lost], request.scopes):
                break
        warnings = []
        if compared:
            warnings.append(self._explain_lost(len(reached), len(compared), is_whole))
        if len(seen) < request.k and not is_whole:
            warnings.append(self._shortage(len(seen), len(found) + len(lost), request.k))
        return Records(seen, warnings=tuple(warnings))

    def _all_that_match(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "where": asked["where"],
            "limit": max(_MOST_COMPARED, asked["n_results"]),
            "include": ["documents", "metadatas", "embeddings"],
        }

    def _find_lost(
        self, found: Sequence[Record], matching: Sequence[Record], vector: NDArray[np.float32], space: str
    ) -> list[Record]:
        """Return the records that match and were not found, with their scores."""
        known = {record.id for record in found}
        lost = scored([record for record in matching if record.id not in known], vector, space)
        return lost if self._with_vectors else [replace(record, vector=None) for record in lost]

    def _explain_lost(self, reached: int, compared: int, is_whole: bool) -> str:
        return (
            f"{self.name}: the index found {reached} of {'' if is_whole else 'at least '}{reached + compared} records "
            "that may be seen; the others were compared one by one. With many equal vectors or a small max_neighbors, "
            "hnsw does not reach all: make the collection anew without duplicates, or with a larger max_neighbors"
        )

    def _shortage(self, seen: int, found: int, k: int) -> str:
        return (
            f"{self.name}: of {found} records only {seen} may be seen, so that there are fewer hits than k={k}: Chroma "
            "cannot ask for records without a scope. Give all records one, or keep those without in another collection"
        )


class ChromaChunkStore(VectorChunkStore):
    """Fetches neighbours from a collection; parameters as in `ChromaCollection` and `VectorChunkStore`.

    Chroma has no index to add: give ids that follow from document and number, and say with `make_id` how. Without them
    a question takes ten to thirty times as long.

    Examples
    --------
    ::

        collection.add(ids=[colon_id(doc_id, n) for n in range(len(texts))], documents=texts, ...)
        store = ChromaChunkStore(client, "docs", make_id=colon_id)
    """

    def __init__(
        self,
        client: ClientAPI | AsyncClientAPI,
        collection: str,
        *,
        make_id: MakeId | None = None,
        retries: int = 2,
        batch_limit: int | None = None,
        **options: Unpack[ChromaOptions],
    ) -> None:
        asked = ChromaCollection(client, collection, **options)
        super().__init__(asked, make_id=make_id, retries=retries, batch_limit=batch_limit)


class ChromaRetriever(VectorRetriever):
    """Finds hits in a collection; parameters as in `ChromaCollection` and `VectorRetriever`."""

    def __init__(
        self,
        client: ClientAPI | AsyncClientAPI,
        collection: str,
        embed: Encoder | Embed,
        *,
        retries: int = 2,
        **options: Unpack[ChromaOptions],
    ) -> None:
        super().__init__(ChromaCollection(client, collection, **options), embed, retries=retries)


def _by_score(record: Record) -> float:
    return -(record.score or 0.0)


def _sees_nothing(request: Request) -> bool:
    """Say whether the caller may see no scope at all: Chroma refuses an empty list."""
    return not isinstance(request, Scan) and not request.scopes


def _kind(client: Any) -> Literal["sync", "async"] | None:
    if isinstance(client, ClientAPI):
        return "sync"
    return "async" if isinstance(client, AsyncClientAPI) else None
