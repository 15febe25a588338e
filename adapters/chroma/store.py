"""Chroma: chunk store and retriever over an existing collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import chromadb
import numpy as np
from chromadb.api import AsyncClientAPI, ClientAPI
from chromadb.errors import InternalError, NotFoundError

from ..base.clients import is_url, split_url
from ..base.collection import (
    ByIds,
    ByWindows,
    ClientCollection,
    Nearest,
    Record,
    Records,
    Request,
    Scan,
    Steps,
    visible,
    within,
)
from ..base.failures import Failure
from ..base.fields import LAYOUTS, FieldMap, LayoutName
from ..base.store import ClientChunkStore, ClientRetriever
from .filters import ChromaDialect, all_of, of_scopes, of_windows

_TEXT, _METADATA = "document", "metadata"
"""Of a record here: Chroma keeps the text beside the metadata."""

_OVERFETCH = 4  # hits asked for instead of one, where the filter cannot be sent


def _make_field_map(fields: FieldMap) -> FieldMap:
    """Return names in flat metadata, beside a text that has no name; where there is none, one of the metadata is it."""
    if fields.root == _METADATA and _TEXT in fields.text:
        return fields
    return replace(fields, root=_METADATA, text=(_TEXT, *(f"{_METADATA}.{name}" for name in fields.text)))


# langchain-chroma 1.1, llama-index-vector-stores-chroma 0.6 and chroma-haystack 5.0 write their metadata flat
CHROMA_LAYOUTS: Mapping[LayoutName, FieldMap] = {layout: _make_field_map(fields) for layout, fields in LAYOUTS.items()}
"""What frameworks write into Chroma."""


class ChromaCollection(ClientCollection):
    """One collection of a Chroma server, of Chroma Cloud, or of an embedded client; options as in `ClientCollection`.

    A client is an `HttpClient`, `PersistentClient`, `EphemeralClient`, `CloudClient` or an `AsyncHttpClient`, awaited.
    The text is Chroma's document, and in records without one what `text` names in `fields`.

    Notes
    -----
    The collection is looked up by one more request: when this is made with a sync client, with the first request
    otherwise, and again when it was made anew under the same name.

    Chroma can ask for a scope, and not for records without one. Where the caller may see those, what belongs to others
    is left out here, and four times as many hits are asked for. A warning says where there are still fewer than `k`.
    `FieldMap(scope=())`: no record has a scope.

    Chroma's index (HNSW) may not reach every record, above all where many vectors are the same. Where it finds fewer
    records than asked for although more match, a warning says so.
    """

    batch_limit = 5000  # Chroma itself writes at most 5,461 at once
    title = "Chroma collection"
    kinds = ("ClientAPI",), ("AsyncClientAPI",)
    give = "a client of chromadb", "what `await AsyncHttpClient(...)` gives"
    layouts = CHROMA_LAYOUTS
    _limits_itself = False

    def __init__(
        self, client: ClientAPI | AsyncClientAPI, collection: str, *, async_client: Any = None, **options: Any
    ) -> None:
        self._opened: dict[bool, Any] = {}  # by whether they are of the sync client
        super().__init__(client, collection, async_client=async_client, **options)
        self.fields = _make_field_map(self.fields)

    # ---- asking

    def _steps(self, request: Request) -> Steps[Records]:
        if not isinstance(request, Scan) and not request.scopes:
            return Records()  # Chroma refuses an empty list
        opened = yield from self._learn()
        if isinstance(request, Nearest):
            return (yield from self._nearest(opened, request))
        answer = yield lambda _: opened.get(**self._get(request))
        found = _read(answer)
        if isinstance(request, Scan):
            ended = len(found) < request.limit
            return Records(found, None if ended else (request.after or 0) + len(found))
        if isinstance(request, ByWindows):
            found = within(found, request.windows, self.fields)
        return Records(visible(found, request.scopes, self.fields))

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
            known = bool(self._opened)
            self._opened.clear()
            return "down" if known else "refused"
        return "down" if isinstance(error, InternalError) else super().failure(error)

    def write(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        """Set metadata; lists only where the version of Chroma keeps them."""
        ids = list(changes)
        metadatas = [
            {path.removeprefix(f"{_METADATA}."): value for path, value in fields.items()} for fields in changes.values()
        ]
        if ids:
            self._run(self._update(ids, metadatas))

    def _update(self, ids: list[str], metadatas: list[dict[str, Any]]) -> Steps[None]:
        opened = yield from self._learn()
        yield lambda _: opened.update(ids=ids, metadatas=metadatas)

    # ---- the collection

    def _learn(self) -> Steps[Any]:
        is_sync = (yield None) is self._sync
        if is_sync not in self._opened:
            # without its embedding function: vectors are ours, and making one may need a key
            found = yield lambda client: client.get_collection(self._collection, embedding_function=None)
            self._opened[is_sync] = found
        return self._opened[is_sync]

    # ---- requests

    def _get(self, request: ByIds | ByWindows | Scan) -> dict[str, Any]:
        asked: dict[str, Any] = {"include": self._list_included("documents", "metadatas")}
        if isinstance(request, Scan):
            return {**asked, "limit": request.limit, "offset": request.after or 0}
        scopes = of_scopes(self.fields, request.scopes)
        if isinstance(request, ByIds):
            return {**asked, "ids": list(request.ids), "where": all_of(scopes)}
        return {**asked, "where": all_of([of_windows(self.fields, request.windows), *scopes])}

    def _list_included(self, *wanted: str) -> list[str]:
        return [*wanted, "embeddings"] if self._with_vectors else [*wanted]

    # ---- answers

    def _nearest(self, opened: Any, request: Nearest) -> Steps[Records]:
        """Ask for hits; where there are fewer than `k`, say why there may be more."""
        asked = ChromaDialect(self.fields).translate(request.where)
        where = all_of([*of_scopes(self.fields, request.scopes), *([] if asked is None else [asked])])
        is_partial = bool(self.fields.scope) and None in request.scopes
        wanted = request.k * (_OVERFETCH if is_partial else 1)
        answer = yield lambda _: opened.query(
            query_embeddings=[request.vector],
            n_results=wanted,
            where=where,
            include=self._list_included("documents", "metadatas", "distances"),
        )
        found = _read_hits(answer, _space_of(opened))
        seen = visible(found, request.scopes, self.fields)[: request.k]
        if len(seen) == request.k:
            return Records(seen)
        if len(found) == wanted:
            return Records(seen, warnings=(self._shortage(len(seen), len(found), request.k),))
        # more may match than the index reaches
        matching = yield lambda _: opened.get(where=where, limit=len(found) + 1, include=[])
        is_whole = len(matching["ids"]) <= len(found)
        return Records(seen, warnings=() if is_whole else (self._explain_lost(len(found)),))

    def _explain_lost(self, found: int) -> str:
        return (
            f"{self.name}: the index found only {found} of the records that match. With many equal vectors or a small "
            "max_neighbors, hnsw does not reach all: make the collection anew without duplicates, or with a larger "
            "max_neighbors"
        )

    def _shortage(self, seen: int, found: int, k: int) -> str:
        return (
            f"{self.name}: of {found} records only {seen} may be seen, so that there are fewer hits than k={k}: Chroma "
            "cannot ask for records without a scope. Give all records one, or keep those without in another collection"
        )


def _read(answer: Mapping[str, Any]) -> list[Record]:
    """Return what `get` answered."""
    vectors = _vectors(answer["embeddings"], len(answer["ids"]))
    found = zip(answer["ids"], answer["documents"], answer["metadatas"], vectors, strict=True)
    return [Record(id, {_TEXT: text, _METADATA: metadata or {}}, None, vector) for id, text, metadata, vector in found]


def _read_hits(answer: Mapping[str, Any], space: str) -> list[Record]:
    """Return what `query` answered to one question: distances of `cosine` and `ip` are 1 minus the product."""
    flat = {key: answer[key][0] if answer[key] is not None else None for key in ("ids", "documents", "metadatas")}
    flat["embeddings"] = None if answer["embeddings"] is None else answer["embeddings"][0]
    scores = [-distance if space == "l2" else 1.0 - distance for distance in answer["distances"][0]]
    return [replace(record, score=float(score)) for record, score in zip(_read(flat), scores, strict=True)]


def _space_of(opened: Any) -> str:
    """Return the metric of a collection: `l2`, `cosine` or `ip`."""
    # as JSON: read in, it would bring the collection's embedding function to life
    configured = opened.configuration_json
    index = configured.get("hnsw") or configured.get("spann") or {}
    return str(index.get("space") or (opened.metadata or {}).get("hnsw:space") or "l2")


def _vectors(given: Any, count: int) -> Sequence[Any]:
    return [None] * count if given is None else [np.asarray(vector, dtype=np.float32) for vector in given]


class ChromaChunkStore(ClientChunkStore):
    """Fetches neighbours from a collection; parameters as in `ChromaCollection` and `VectorChunkStore`.

    Chroma has no index to add: give ids that follow from document and number, and say with `make_id` how. Without them
    a question takes ten to thirty times as long.

    Examples
    --------
    ::

        collection.add(ids=[colon_id(doc_id, n) for n in range(len(texts))], documents=texts, ...)
        store = ChromaChunkStore(client, "docs", make_id=colon_id)
    """

    kind = ChromaCollection


class ChromaRetriever(ClientRetriever):
    """Finds hits in a collection; parameters as in `ChromaCollection` and `VectorRetriever`."""

    kind = ChromaCollection
