"""Qdrant: chunk store and retriever over an existing collection."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qdrant_client import QdrantClient, models

from retrivex.errors import StoreError
from retrivex.model.chunk import Chunk

from ..base.clients import is_url
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
)
from ..base.fields import LAYOUTS, FieldMap, LayoutName, uuid5_id
from ..base.store import FUSION_DEPTH, ClientChunkStore, ClientRetriever
from .filters import QdrantDialect, among, inside, json_path, of_scopes, point_id

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
_FUSION = models.FusionQuery(fusion=models.Fusion.RRF)
_DISTANCES = (models.Distance.EUCLID, models.Distance.MANHATTAN)  # a smaller score is a nearer one


class QdrantCollection(ClientCollection):
    """A Qdrant collection; other parameters as in `ClientCollection`, `timeout_s` rounded up to whole seconds.

    Parameters
    ----------
    words_name : the sparse vectors of words, for `search="words"` and `"hybrid"`
    embed_words : what made them: from a text to weights by index. None leaves it to Qdrant's own `Qdrant/bm25`: to the
        server from 1.15.2 on, or to fastembed beside the client

    Notes
    -----
    The scope is part of every filter, "has none" included, so that nothing foreign leaves the server. In local mode
    (`:memory:` or a path) what is asked for by id is looked up first, and its scope looked at here: a filter walks
    through the whole collection there. The first question asks for the collection's metric as well, once.
    """

    batch_limit = 5000
    title = "Qdrant collection"
    kinds = ("QdrantClient",), ("AsyncQdrantClient",)
    give = "a QdrantClient", "an AsyncQdrantClient"
    layouts = QDRANT_LAYOUTS
    searches = frozenset({"vectors", "words", "hybrid"})

    def __init__(
        self, client: Any, collection: str, *, words_name: str | None = None,
        embed_words: Callable[[str], Mapping[int, float]] | None = None, **options: Any,
    ) -> None:  # fmt: skip
        self._words_name, self._embed_words = words_name, embed_words
        super().__init__(client, collection, **options)

    _sign: float | None = None
    """Of scores; the metric is asked for when the first question comes."""

    # ---- asking

    def _steps(self, request: Request) -> Steps[Records]:
        if not isinstance(request, Scan) and not request.scopes:
            return Records()  # an empty list of conditions would mean everything
        if isinstance(request, Nearest):
            if self._sign is None:
                self._sign = self._sign_of((yield lambda client: client.get_collection(**self._where)))
            found = yield lambda client: client.query_points(**self._make_knn(request))
            sign = self._sign if request.search == "vectors" else 1.0
            return Records([self._record(point, None, sign * point.score) for point in found.points])
        if isinstance(request, ByIds) and self._is_local:
            ids = [point_id(id) for id in request.ids]
            points = yield lambda client: client.retrieve(**self._asked, ids=ids)
            records = self._read_found(points, None, request).records
            return Records(visible(records, request.scopes, self.fields))
        points, after = yield lambda client: client.scroll(**self._asked, **self._narrow(request))
        return self._read_found(points, after, request)

    @staticmethod
    def connect(address: str, api_key: str | None) -> QdrantClient:
        """Return a client of the server at a URL, or of the local folder."""
        return QdrantClient(url=address, api_key=api_key) if is_url(address) else QdrantClient(path=address)

    # ---- requests as the client takes them

    @property
    def _where(self) -> dict[str, Any]:
        return {"collection_name": self._collection}

    @property
    def _asked(self) -> dict[str, Any]:
        one = self._with_vectors and self._vector_name is not None
        return {
            **self._where,
            "timeout": math.ceil(self._timeout_s or 0),
            "with_payload": True,
            "with_vectors": [self._vector_name] if one else self._with_vectors,
        }

    def _narrow(self, request: ByIds | ByWindows | Scan) -> dict[str, Any]:
        match request:
            case ByIds(ids, scopes):
                return {"scroll_filter": among(ids, scopes, self.fields), "limit": len(ids)}
            case ByWindows(windows, scopes):
                most = _COPIES * sum(map(len, windows))
                return {"scroll_filter": inside(windows, scopes, self.fields), "limit": most}
            case Scan(after, limit):
                return {"offset": after, "limit": limit}

    def _make_knn(self, request: Nearest) -> dict[str, Any]:
        wanted = QdrantDialect(self.fields).translate(request.where)
        must = [*of_scopes(request.scopes, self.fields), *([] if wanted is None else [wanted])]
        narrow = {"query_filter": models.Filter(must=must), "limit": request.k}
        near: dict[str, Any] = {"query": request.vector.tolist(), "using": self._vector_name}
        if request.search == "vectors":
            return {**self._asked, **narrow, **near}
        if self._words_name is None:
            raise StoreError(f"{self.name} finds words by sparse vectors: name them with words_name=...")
        words: dict[str, Any] = {"query": self._words_query(request.question), "using": self._words_name}
        if request.search == "words":
            return {**self._asked, **narrow, **words}
        deep: dict[str, Any] = {"filter": models.Filter(must=must), "limit": max(request.k, FUSION_DEPTH)}
        both = [models.Prefetch(**one, **deep) for one in (near, words)]
        return {**self._asked, "limit": request.k, "prefetch": both, "query": _FUSION}

    def _words_query(self, question: str) -> models.SparseVector | models.Document:
        if self._embed_words is None:
            return models.Document(text=question, model="Qdrant/bm25")
        weights = self._embed_words(question)
        return models.SparseVector(indices=list(weights), values=list(weights.values()))

    # ---- answers

    def _read_found(self, points: Iterable[models.Record], after: Any, request: Request) -> Records:
        if isinstance(request, ByWindows) and after is not None:
            raise StoreError(
                f"{self.name} keeps chunks of these windows more than {_COPIES} times: take copies out of it, or give "
                "make_id=... if their ids follow from document and number"
            )
        asked = {str(point_id(id)): id for id in request.ids} if isinstance(request, ByIds) else {}
        return Records([self._record(point, asked.get(str(point.id))) for point in points], after)

    def _record(self, point: models.Record | models.ScoredPoint, id: str | None, score: float | None = None) -> Record:
        return Record(id or str(point.id), point.payload or {}, score, _vector(point.vector, self._vector_name))

    @property
    def _is_local(self) -> bool:
        try:
            return (self._sync or self._async).http is None
        except NotImplementedError:
            return True

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

    # ---- writing

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
            if not self._is_local:
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


class QdrantChunkStore(ClientChunkStore):
    """Fetches neighbours from a Qdrant collection; parameters as in `QdrantCollection` and `VectorChunkStore`.

    Parameters
    ----------
    make_id : `uuid5_id`, or your own `(doc_id, n) -> id`; Qdrant's ids are UUIDs and whole numbers. None asks with a
        filter, which needs two indexes::

            client.create_payload_index("manuals", "doc_id", field_schema="keyword")
            client.create_payload_index("manuals", "chunk_id", field_schema="integer")
    """

    kind = QdrantCollection


class QdrantRetriever(ClientRetriever):
    """Finds hits in a Qdrant collection; parameters as in `QdrantCollection` and `VectorRetriever`."""

    kind = QdrantCollection


def _vector(given: Any, name: str | None) -> NDArray[np.float32] | None:
    found = given.get(name or "") if isinstance(given, Mapping) else given
    if found is None or isinstance(found, models.SparseVector):
        return None
    vector = np.asarray(found, dtype=np.float32)
    return vector if vector.ndim == 1 else None
