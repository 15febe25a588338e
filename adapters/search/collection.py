"""The index that Elasticsearch and OpenSearch share: the same queries, sent by either client."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, Literal, TypedDict, TypeVar

from retrivex.adapters.base.clients import either_client
from retrivex.adapters.base.collection import ByIds, ByWindows, Collection, Nearest, Record, Records, Request, Scan
from retrivex.adapters.base.fields import FieldMap, LayoutName, field_map
from retrivex.errors import StoreError

from .fields import IndexFields
from .mapping import IndexMapping
from .query import MOST_CLAUSES, Clause, all_of, in_windows
from .requests import Call, Matching, Steps, as_vector, nested, refusal, whole

MOST_HITS = 10_000
"""Of one search: `index.max_result_window`, by default."""

BATCH_LIMIT = 5_000
"""Chunks of one request: half as many as hits, so that a place kept twice loses nothing."""


Sync = TypeVar("Sync")
Async = TypeVar("Async")


class SearchOptions(TypedDict, Generic[Async], total=False):
    """Arguments that `SearchCollection`, its chunk store and its retriever share."""

    async_client: Async | None
    fields: FieldMap | LayoutName
    vector_name: str | None
    with_vectors: bool
    timeout_s: float


class SearchCollection(Collection, Generic[Sync, Async]):
    """An index of Elasticsearch or OpenSearch, accessed through an existing client.

    Parameters
    ----------
    client : existing client, sync or async; it stays open
    index : name of an existing index or alias
    async_client : for `afetch` and `aretrieve`, beside a sync `client`; both see the same server
    fields : a FieldMap, or the layout of the framework that wrote the index
    vector_name : the field of the vector that questions are compared with; None takes the first in `fields` that is
        there
    with_vectors : read the vectors of records as well, for scoring and continuity by embeddings
    timeout_s : of one request

    Raises
    ------
    StoreError
        If an argument breaks its rule, or there is no such index.

    Notes
    -----
    The mapping is read when the collection is made, with one request; where there is only an async client, or the
    server does not answer then, before the first question. It says which fields hold values letter by letter.
    """

    product: str
    layouts: Mapping[LayoutName, FieldMap]
    client_names: tuple[str, str]
    """What the sync and the async client are called."""

    def __init__(
        self,
        client: Sync | Async,
        index: str,
        *,
        async_client: Async | None = None,
        fields: FieldMap | LayoutName = "retrivex",
        vector_name: str | None = None,
        with_vectors: bool = False,
        timeout_s: float = 10.0,
    ) -> None:
        sync, other = self.client_names
        self._sync, self._async = either_client(client, async_client, self._kind, (f"an {sync}", f"an {other}"))
        if not isinstance(index, str) or not index:
            raise StoreError(f"index is {index!r}: give the name of an index or alias")
        if isinstance(timeout_s, bool) or not isinstance(timeout_s, (int, float)) or not 0 < timeout_s < math.inf:
            raise StoreError(f"timeout_s is {timeout_s!r}: it must be a number of seconds above 0")
        self.fields = field_map(fields, self.layouts)
        self.name = f"{self.product} index {index!r}"
        self.batch_limit = BATCH_LIMIT
        self.is_sync, self.is_async = self._sync is not None, self._async is not None
        self.index = index
        self._timeout_s = timeout_s
        self._vector_name, self._with_vectors = vector_name, with_vectors
        self._known: IndexFields | None = None
        if self._sync is not None:
            self._learn()

    @abstractmethod
    def _kind(self, client: Any) -> Literal["sync", "async"] | None:
        """Say which of the two clients it is; None where it is neither."""

    # ---- asking

    def ask(self, request: Request) -> Records:
        """Answer a request."""
        steps = self._steps(request)
        answer = None
        try:
            while True:
                answer = self._send(self._sync, steps.send(answer))
        except StopIteration as done:
            found: Records = done.value
            return found

    async def aask(self, request: Request) -> Records:
        """Answer a request through the async client."""
        steps = self._steps(request)
        answer = None
        try:
            while True:
                answer = await self._send(self._async, steps.send(answer))
        except StopIteration as done:
            found: Records = done.value
            return found

    @abstractmethod
    def _send(self, client: Any, call: Call) -> Any:
        """Send a call with the client; the answer as it came, or what an async client gives to wait for."""

    def _learn(self) -> None:
        try:
            self._known = self._read(self._send(self._sync, Call("mapping")))
        except Exception as error:
            # what may pass is no reason to fail now: the first question reads the mapping then
            if self.failure(error) == "refused":
                raise StoreError(f"{self.name}: its mapping cannot be read ({error})") from error

    def _read(self, answer: Mapping[str, Any]) -> IndexFields:
        return IndexFields(IndexMapping.read(answer), self.fields, self._vector_name, self.index, self.product)

    def _steps(self, request: Request) -> Steps:
        known = self._known
        if known is None or known.lacks(request) is not None:  # it may have been written since
            known = self._known = self._read((yield Call("mapping")))
        if (lacking := known.lacks(request)) is not None:
            raise StoreError(lacking)
        match request:
            case ByIds(ids, scopes):
                clauses = [{"ids": {"values": list(ids)}}, *known.in_scope(scopes)]
                return self._read_all((yield Call("search", self._listing(clauses))))
            case ByWindows():
                return (yield from self._windows(known, request))
            case Nearest():
                return (yield from self._best(known, request))
            case Scan():
                return (yield from self._scan(request))

    # ---- neighbours

    def _windows(self, known: IndexFields, request: ByWindows) -> Steps:
        doc_id, chunk_id = known.path("doc_id"), known.path("chunk_id")
        assert doc_id is not None
        assert chunk_id is not None
        scope = known.in_scope(request.scopes)
        queries = in_windows(
            request.windows,
            known.mapping.exact(doc_id),
            known.mapping.exact(chunk_id),
            is_number=known.mapping.is_number(chunk_id),
            most=MOST_CLAUSES,
        )
        bodies = [self._listing([query, *scope]) for query in queries]
        if len(bodies) == 1:
            parts = [(yield Call("search", bodies[0]))]
        else:
            parts = (yield Call("searches", bodies))["responses"] if bodies else []
        unfindable = known.unfindable(request)
        return Records(
            [record for part in parts for record in self._read_all(whole(part)).records],
            warnings=() if unfindable is None else (unfindable,),
        )

    def _listing(self, clauses: Sequence[Clause]) -> dict[str, Any]:
        query = all_of(clauses)
        return {**self._shown, "query": query, "size": MOST_HITS, "sort": ["_doc"], "track_total_hits": True}

    def _read_all(self, answer: Mapping[str, Any]) -> Records:
        hits = answer["hits"]
        if hits["total"]["value"] > len(hits["hits"]):
            raise StoreError(
                f"{self.name} holds {hits['total']['value']} records of at most {BATCH_LIMIT} chunks: documents were "
                "put in many times over, take the copies out"
            )
        return Records([self._record(hit) for hit in hits["hits"]])

    # ---- hits

    def _best(self, known: IndexFields, request: Nearest) -> Steps:
        if request.k > MOST_HITS:
            raise StoreError(f"k is {request.k}: {self.name} gives at most {MOST_HITS} hits")
        scope = known.in_scope(request.scopes)
        if isinstance(request, Matching):
            words = {"match": {known.path("text"): {"query": request.question}}}
            query = {"bool": {"must": [words], "filter": scope}}
            answer = yield Call("search", {**self._shown, "query": query, "size": request.k})
            return Records([self._record(hit, hit["_score"]) for hit in answer["hits"]["hits"]])
        path = known.vector
        assert path is not None
        mapped = known.mapping.definition(path) or {}
        near = self._make_knn(request, path, mapped, scope)
        answer = yield Call("search", {**self._shown, **near, "size": request.k})
        found = [self._record(hit, self._similarity(mapped, hit["_score"])) for hit in answer["hits"]["hits"]]
        shortage = self._shortage(mapped, scope) if len(found) < request.k else None
        return Records(found, warnings=() if shortage is None else (shortage,))

    def _shortage(self, known: Mapping[str, Any], scope: list[Clause]) -> str | None:
        """Say why there may be fewer hits than the scope has; None where a search finds all of them."""
        return None

    @abstractmethod
    def _make_knn(self, request: Nearest, path: str, known: Mapping[str, Any], scope: list[Clause]) -> dict[str, Any]:
        """Return the part of a search that says what is near, in the field `path`, which is mapped as `known`."""

    @abstractmethod
    def _similarity(self, known: Mapping[str, Any], score: float) -> float:
        """Return the similarity, or minus the distance, that the server made a score of; `known` is its mapping."""

    # ---- all records

    @abstractmethod
    def _scan(self, request: Scan) -> Steps:
        """Return the records after `request.after`, in a fixed order."""

    def _page(self, hits: Sequence[Mapping[str, Any]], request: Scan) -> tuple[list[Record], Any]:
        """Return the records of a page, and the place of the last one where others may follow."""
        return [self._record(hit) for hit in hits], hits[-1]["sort"] if len(hits) == request.limit else None

    # ---- records and the index

    @property
    def _shown(self) -> dict[str, Any]:
        """What of a record is sent: without its vectors, which are most of it, unless they are wanted."""
        vectors = {*self.fields.embedding, *([] if self._vector_name is None else [self._vector_name])}
        wanted = self._returned
        return self._select_vectors(wanted, sorted(vectors)) if wanted else {"_source": {"excludes": sorted(vectors)}}

    @abstractmethod
    def _select_vectors(self, path: str, vectors: list[str]) -> dict[str, Any]:
        """Return the part of a search that has the vectors in `path` sent, and none else of `vectors` if it can."""

    @property
    def _returned(self) -> str | None:
        known = self._known
        return known.vector if self._with_vectors and known is not None else None

    def _record(self, hit: Mapping[str, Any], score: float | None = None) -> Record:
        source, path = hit.get("_source") or {}, self._returned
        if path is None:
            return Record(hit["_id"], source, score)
        vector = hit.get("fields", {}).get(path, source.get(path))
        return Record(
            hit["_id"], {key: value for key, value in source.items() if key != path}, score, as_vector(vector)
        )

    def missing_index(self) -> str | None:
        """Say how the document and the chunk number must be mapped; None where they are, or nobody knows."""
        return None if self._known is None else self._known.advice()

    async def amissing_index(self) -> str | None:
        """Say the same: the mapping has been read by then."""
        return self.missing_index()

    def write(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        """Set fields of records, in one request; they are found by them after the next refresh of the index.

        Raises
        ------
        StoreError
            If a record is not there, or a value does not fit the mapping; the others have been written.
        """
        if self._sync is None:
            raise StoreError(f"{self.name} has only an async client: writing needs a sync one")
        if not changes:
            return
        lines: list[Any] = []
        for id, values in changes.items():
            lines += [{"update": {"_id": id}}, {"doc": nested(values)}]
        answer = self._send(self._sync, Call("write", lines))
        self._known = None  # there may be new fields
        if (refused := refusal(answer)) is not None:
            raise StoreError(f"{self.name}: {refused}")
