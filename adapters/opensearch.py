"""OpenSearch: chunk store and retriever over an existing index."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .base.clients import needs_client
from .base.collection import Nearest, Records, Scan, Steps
from .base.fields import FieldMap, colon_id, uuid5_id
from .base.store import ClientChunkStore
from .search.collection import MOST_HITS, SearchCollection, search_layouts
from .search.query import Clause
from .search.store import SearchRetriever

with needs_client("opensearch", "opensearch-py"):
    from opensearchpy import OpenSearch

__all__ = [
    "OPENSEARCH_LAYOUTS",
    "FieldMap",
    "OpenSearchChunkStore",
    "OpenSearchCollection",
    "OpenSearchRetriever",
    "colon_id",
    "uuid5_id",
]

# As written by langchain-community 0.4 (text and vector_field beside metadata), llama-index-vector-stores-opensearch
# 1.3 (content and embedding beside metadata, which hold the node as JSON) and opensearch-haystack 9 (flat).
OPENSEARCH_LAYOUTS = search_layouts("vector_field")
"""What frameworks write into OpenSearch."""

_FILTER_INSIDE = ("lucene", "faiss")  # engines that look for neighbours among the records that a filter lets through
_MORE = 10  # times as many neighbours are asked for where the filter comes after them


class OpenSearchCollection(SearchCollection):
    """An index in OpenSearch; parameters as in `SearchCollection`.

    Notes
    -----
    The mapping is read once, when the collection is made: it says which fields hold values letter by letter
    (`metadata.source.keyword` rather than `metadata.source`) and what a score means. The scope is part of every query.
    Where the mapping names the engine `lucene` or `faiss`, the nearest vectors are looked for inside the scope; else
    ten times as many are, and those of another scope left out: `warnings` says so where that leaves fewer than were
    asked for. A client's own `max_retries` come on top of `retries`. Records are found some time after they were
    written, at the next refresh of the index.
    """

    title = "OpenSearch index"
    layouts = OPENSEARCH_LAYOUTS
    kinds = ("OpenSearch",), ("AsyncOpenSearch",)
    give = "an OpenSearch", "an AsyncOpenSearch"

    def _get_mapping(self, client: Any) -> Any:
        return client.indices.get_mapping(index=self._collection, request_timeout=self._timeout_s)

    def _search(self, client: Any, body: dict[str, Any]) -> Any:
        return client.search(
            index=self._collection, body=body, allow_partial_search_results=False, request_timeout=self._timeout_s
        )

    def _bulk(self, client: Any, lines: Sequence[Any]) -> Any:
        return client.bulk(index=self._collection, body=lines, request_timeout=self._timeout_s)

    @staticmethod
    def connect(address: str, api_key: str | None) -> OpenSearch:
        """Return a client of the server at a URL."""
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        return OpenSearch(address, headers=headers)

    def _make_knn(self, request: Nearest, path: str, known: Mapping[str, Any], scope: list[Clause]) -> dict[str, Any]:
        near: dict[str, Any] = {"vector": request.vector.tolist(), "k": request.k}
        if not scope:
            return {"query": {"knn": {path: near}}}
        if _filters_inside(known):
            return {"query": {"knn": {path: {**near, "filter": {"bool": {"filter": scope}}}}}}
        near["k"] = min(MOST_HITS, _MORE * request.k)
        return {"query": {"bool": {"must": [{"knn": {path: near}}], "filter": scope}}}

    def _shortage(self, known: Mapping[str, Any], scope: list[Clause]) -> str | None:
        if not scope or _filters_inside(known):
            return None
        return (
            f"{self.name}: its engine looks for the nearest vectors before the scope counts, and fewer hits than were "
            "asked for were left: there may be more; map the vectors with the engine lucene or faiss"
        )

    def _select_vectors(self, path: str, vectors: list[str]) -> dict[str, Any]:
        return {"_source": {"excludes": [other for other in vectors if other != path]}}

    def _similarity(self, known: Mapping[str, Any], score: float) -> float:
        """Undo what the documentation of k-NN spaces says of scores."""
        space = known.get("method", {}).get("space_type", known.get("space_type"))
        if score <= 0 or not known or "model_id" in known:
            return score
        match space or "l2":
            case "cosinesimil":
                return 2 * score - 1
            case "l2":
                return -math.sqrt(max(0.0, 1 / score - 1))
            case "innerproduct":
                return score - 1 if score >= 1 else 1 - 1 / score
            case "l1" | "linf" | "hamming":
                return 1 - 1 / score
        return score

    def _scan(self, request: Scan) -> Steps[Records]:
        """Page through the index by `_id`: the one order that a later run finds again."""
        body = self._sorted_by("_id", request, request.after)
        answer = yield lambda client: self._search(client, body)
        return Records(*self._page(answer["hits"]["hits"], request))


def _filters_inside(known: Mapping[str, Any]) -> bool:
    """Whether the engine of a field looks for neighbours inside the scope."""
    return known.get("method", {}).get("engine") in _FILTER_INSIDE


class OpenSearchChunkStore(ClientChunkStore):
    """Fetches neighbours from an OpenSearch index; parameters as in `SearchCollection` and `VectorChunkStore`.

    Parameters
    ----------
    make_id : `colon_id`, `uuid5_id` or your own `(doc_id, n) -> id`, where the records' `_id` was made so. None asks
        with a filter, for which the document must be mapped as a keyword and the chunk number as a number::

            client.indices.put_mapping(
                index="manuals",
                body={"properties": {"doc_id": {"type": "keyword"}, "chunk_id": {"type": "integer"}}},
            )
    """

    kind = OpenSearchCollection


class OpenSearchRetriever(SearchRetriever):
    """Finds hits in an OpenSearch index, by vectors or words; parameters as in `SearchRetriever`.

    Notes
    -----
    Scores are cosines and inner products as they are, and minus other distances; with `bm25` those of the index.
    """

    kind = OpenSearchCollection
