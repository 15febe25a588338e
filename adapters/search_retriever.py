"""Hits out of an index of Elasticsearch or OpenSearch, by vectors or by words."""

from __future__ import annotations

from typing import Literal, TypeAlias

from retrivex.chunk import Scope
from retrivex.encoder import Encoder
from retrivex.errors import StoreError

from .collection import Nearest
from .search_calls import Matching
from .search_collection import SearchCollection
from .vector_store import Embed, VectorRetriever

Search: TypeAlias = Literal["knn", "bm25"]


class SearchRetriever(VectorRetriever):
    """Hits by nearest vectors, or by words.

    Parameters
    ----------
    search : `knn`, or `bm25`, which needs no `embed`
    """

    def __init__(
        self, collection: SearchCollection, embed: Encoder | Embed | None, *, search: Search, retries: int
    ) -> None:
        if search not in ("knn", "bm25"):
            raise StoreError(f"search is {search!r}: it must be 'knn' or 'bm25'")
        if search == "knn" and embed is None:
            raise StoreError("embed is missing: give the model of the index's vectors, or search='bm25'")
        super().__init__(collection, embed if embed is not None else _no_vector, retries=retries)
        self._search = search

    def _request(self, question: str, k: int, scope: Scope) -> Nearest | None:
        request = super()._request(question, k, scope)
        if request is None or self._search == "knn":
            return request
        return Matching(request.vector, request.k, request.scopes, question)


def _no_vector(question: str) -> list[float]:
    """Stand in for a model where words are asked for."""
    return [0.0]
