"""Retriever over an Elasticsearch or OpenSearch index, for either client."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from retrivex.encoders.encoder import Encoder
from retrivex.errors import StoreError
from retrivex.model.chunk import Scope
from retrivex.stores.sqlite.filters import Where

from ..base.collection import Nearest
from ..base.store import ClientRetriever, Embed
from .requests import Matching

Search: TypeAlias = Literal["knn", "bm25"]


class SearchRetriever(ClientRetriever):
    """Finds hits by nearest vectors or by words; other parameters as in `SearchCollection`.

    Parameters
    ----------
    embed : the model of the index's vectors, an `Encoder` or a function from a text to its vector; not needed for words
    search : `knn` for the nearest vectors, `bm25` for the words of the question
    """

    def __init__(
        self,
        client: Any,
        index: str,
        embed: Encoder | Embed | None = None,
        *,
        search: Search = "knn",
        retries: int = 2,
        **options: Any,
    ) -> None:
        if search not in ("knn", "bm25"):
            raise StoreError(f"search is {search!r}: it must be 'knn' or 'bm25'")
        if search == "knn" and embed is None:
            raise StoreError("embed is missing: give the model of the index's vectors, or search='bm25'")
        super().__init__(client, index, embed if embed is not None else _no_vector, retries=retries, **options)
        self._search = search

    def _request(self, question: str, k: int, scope: Scope, where: Where | None) -> Nearest | None:
        request = super()._request(question, k, scope, where)
        if request is None or self._search == "knn":
            return request
        return Matching(request.vector, request.k, request.scopes, request.where, question)


def _no_vector(question: str) -> list[float]:
    """Stand in for a model where words are asked for."""
    return [0.0]
