"""The index that Elasticsearch and OpenSearch share: the same queries, sent by either client."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from retrivex.errors import StoreError

from ..base.collection import ByIds, ByWindows, ClientCollection, Nearest, Record, Records, Request, Scan, Steps
from ..base.fields import LAYOUTS, FieldMap, LayoutName
from .fields import IndexFields, SearchDialect
from .mapping import IndexMapping
from .query import Clause, all_of, in_windows
from .requests import as_vector, nested, refusal

MOST_HITS = 10_000
"""Of one search: `index.max_result_window`, by default."""

BATCH_LIMIT = 500
"""Chunks of one request: a cluster refuses a search of more than `indices.query.bool.max_clause_count` clauses, which
is never less than 1,024; a window takes two."""


def search_layouts(vector: str) -> Mapping[LayoutName, FieldMap]:
    """Return what frameworks write into an index: text and `vector`, or content and embedding, beside metadata."""
    names = ("source", "doc_id", "file_path")
    langchain = FieldMap(doc_id=names, text=("text",), embedding=(vector,), root="metadata")
    llamaindex = replace(LAYOUTS["llamaindex"], text=("content",), root="metadata")
    return {**LAYOUTS, "langchain": langchain, "llamaindex": llamaindex}


class SearchCollection(ClientCollection):
    """An index or alias of Elasticsearch or OpenSearch; parameters as in `ClientCollection`.

    Notes
    -----
    The mapping is read when the collection is made, with one request; where there is only an async client, or the
    server does not answer then, before the first question. It says which fields hold values letter by letter.
    """

    batch_limit = BATCH_LIMIT
    searches = frozenset({"vectors", "words"})
    _known: IndexFields | None = None

    # ---- the client, which each product has in its own way

    @abstractmethod
    def _get_mapping(self, client: Any) -> Any:
        """Ask for the mapping of the index."""

    @abstractmethod
    def _search(self, client: Any, body: dict[str, Any]) -> Any:
        """Send one search."""

    @abstractmethod
    def _bulk(self, client: Any, lines: Sequence[Any]) -> Any:
        """Write records."""

    # ---- asking

    def _learn(self) -> Steps[IndexFields]:
        self._known = known = self._read((yield self._get_mapping))
        return known

    def _read(self, answer: Mapping[str, Any]) -> IndexFields:
        return IndexFields(IndexMapping.read(answer), self.fields, self._vector_name, self.name)

    def _steps(self, request: Request) -> Steps[Records]:
        known = self._known
        wanted = request.where if isinstance(request, Nearest) else None
        if known is None or known.lacks(request) is not None or not known.has(wanted):  # it may have been written since
            known = yield from self._learn()
        if (lacking := known.lacks(request)) is not None:
            raise StoreError(lacking)
        match request:
            case ByIds(ids, scopes):
                return (yield from self._list([{"ids": {"values": list(ids)}}, *known.in_scope(scopes)]))
            case ByWindows(windows, scopes):
                places = [known.mapping.exact(known.path(name) or "") for name in ("doc_id", "chunk_id")]
                is_number = known.mapping.is_number(known.path("chunk_id") or "")
                within = in_windows(windows, *places, is_number=is_number)
                return (yield from self._list([within, *known.in_scope(scopes)]))
            case Nearest():
                return (yield from self._best(known, request))
            case Scan():
                return (yield from self._scan(request))

    # ---- neighbours

    def _list(self, clauses: Sequence[Clause]) -> Steps[Records]:
        body = self._listing(clauses)
        return self._read_all((yield lambda client: self._search(client, body)))

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

    def _best(self, known: IndexFields, request: Nearest) -> Steps[Records]:
        if request.k > MOST_HITS:
            raise StoreError(f"k is {request.k}: {self.name} gives at most {MOST_HITS} hits")
        wanted = SearchDialect(known).translate(request.where)
        scope = [*known.in_scope(request.scopes), *([] if wanted is None else [wanted])]
        if request.search == "words":
            words = {"match": {known.path("text"): {"query": request.question}}}
            query = {"bool": {"must": [words], "filter": scope}}
            body = {**self._shown, "query": query, "size": request.k}
            answer = yield lambda client: self._search(client, body)
            return Records([self._record(hit, hit["_score"]) for hit in answer["hits"]["hits"]])
        path = known.vector
        assert path is not None
        mapped = known.mapping.definition(path) or {}
        near = self._make_knn(request, path, mapped, scope)
        asked = {**self._shown, **near, "size": request.k}
        answer = yield lambda client: self._search(client, asked)
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
    def _scan(self, request: Scan) -> Steps[Records]:
        """Return the records after `request.after`, in a fixed order."""

    def _sorted_by(self, field: str, request: Scan, after: Any) -> dict[str, Any]:
        """Return the search for the page after the place `after`."""
        body = {**self._shown, "sort": [{field: "asc"}], "size": request.limit, "track_total_hits": False}
        return body if after is None else {**body, "search_after": after}

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
        answer = self._bulk(self._sync, lines)
        self._known = None  # there may be new fields
        if (refused := refusal(answer)) is not None:
            raise StoreError(f"{self.name}: {refused}")
