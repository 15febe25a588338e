"""Elasticsearch: chunk store and retriever over an existing index."""

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

with needs_client("elasticsearch", "elasticsearch"):
    from elasticsearch import Elasticsearch

__all__ = [
    "ELASTICSEARCH_LAYOUTS",
    "ElasticsearchChunkStore",
    "ElasticsearchCollection",
    "ElasticsearchRetriever",
    "FieldMap",
    "colon_id",
    "uuid5_id",
]

# As written by langchain-elasticsearch 1.0 (text and vector beside metadata), llama-index-vector-stores-elasticsearch
# 0.7 (content and embedding beside metadata, which hold the node as JSON) and elasticsearch-haystack 7.1 (flat).
ELASTICSEARCH_LAYOUTS = search_layouts("vector")
"""What frameworks write into Elasticsearch."""

_KEEP_OPEN = "30m"  # a point in time, from one page to the next


class ElasticsearchCollection(SearchCollection):
    """An index in Elasticsearch; parameters as in `SearchCollection`.

    Notes
    -----
    The mapping is read once, when the collection is made: it says which fields hold values letter by letter
    (`metadata.source.keyword` rather than `metadata.source`) and what a score means. The scope is part of every query.
    The client's own retries are switched off. Records are found some time after they were written, at the next
    refresh of the index.
    """

    title = "Elasticsearch index"
    layouts = ELASTICSEARCH_LAYOUTS
    kinds = ("Elasticsearch",), ("AsyncElasticsearch",)
    give = "an Elasticsearch", "an AsyncElasticsearch"

    def _in_time(self, client: Any) -> Any:
        return client.options(request_timeout=self._timeout_s, max_retries=0)

    def _get_mapping(self, client: Any) -> Any:
        return self._in_time(client).indices.get_mapping(index=self._collection)

    def _search(self, client: Any, body: dict[str, Any]) -> Any:
        index = {} if "pit" in body else {"index": self._collection}
        return self._in_time(client).search(**index, body=body, allow_partial_search_results=False)

    def _bulk(self, client: Any, lines: Sequence[Any]) -> Any:
        return self._in_time(client).bulk(index=self._collection, operations=lines)

    @staticmethod
    def connect(address: str, api_key: str | None) -> Elasticsearch:
        """Return a client of the server at a URL."""
        return Elasticsearch(address, api_key=api_key)

    def _make_knn(self, request: Nearest, path: str, known: Mapping[str, Any], scope: list[Clause]) -> dict[str, Any]:
        return {
            "knn": {
                "field": path,
                "query_vector": request.vector.tolist(),
                "k": request.k,
                "num_candidates": min(MOST_HITS, max(100, 2 * request.k)),
                "filter": scope,
            }
        }

    def _select_vectors(self, path: str, vectors: list[str]) -> dict[str, Any]:
        # newer servers keep vectors out of `_source` in any case, all of them give fields
        return {"_source": {"excludes": vectors}, "fields": [path]}

    def _similarity(self, known: Mapping[str, Any], score: float) -> float:
        """Undo what `similarity` in the documentation of `dense_vector` says of scores."""
        element = known.get("element_type", "float")
        match known.get("similarity", "l2_norm" if element == "bit" else "cosine" if known else None):
            case "cosine":
                return 2 * score - 1
            case "dot_product" if element in ("float", "bfloat16"):
                return 2 * score - 1
            case "l2_norm" if element != "bit":
                return -math.sqrt(max(0.0, 1 / score - 1)) if score > 0 else -math.inf
            case "max_inner_product":
                return score - 1 if score >= 1 else 1 - 1 / score
        return score

    def _open(self, client: Any) -> Any:
        return self._in_time(client).open_point_in_time(index=self._collection, keep_alive=_KEEP_OPEN)

    def _scan(self, request: Scan) -> Steps[Records]:
        """Page through a point in time, which stays as it is while records are written; `after` lasts half an hour."""
        pit, after = request.after or ((yield self._open)["id"], None)
        body = {**self._sorted_by("_shard_doc", request, after), "pit": {"id": pit, "keep_alive": _KEEP_OPEN}}
        answer = yield lambda client: self._search(client, body)
        records, last = self._page(answer["hits"]["hits"], request)
        # left to run out, so that the last page can be asked for again
        return Records(records, None if last is None else [answer.get("pit_id", pit), last])


class ElasticsearchChunkStore(ClientChunkStore):
    """Fetches neighbours from an Elasticsearch index; parameters as in `SearchCollection` and `VectorChunkStore`.

    Parameters
    ----------
    make_id : `colon_id`, `uuid5_id` or your own `(doc_id, n) -> id`, where the records' `_id` was made so. None asks
        with a filter, for which the document must be mapped as a keyword and the chunk number as a number::

            client.indices.put_mapping(
                index="manuals", properties={"doc_id": {"type": "keyword"}, "chunk_id": {"type": "integer"}}
            )
    """

    kind = ElasticsearchCollection


class ElasticsearchRetriever(SearchRetriever):
    """Finds hits in an Elasticsearch index, by vectors or words; parameters as in `SearchRetriever`.

    Notes
    -----
    Scores are cosines and inner products as they are, and minus the Euclidean distance; with `bm25` those of the index.
    """

    kind = ElasticsearchCollection
