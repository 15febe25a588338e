"""Chunk store and retriever over an Elasticsearch or OpenSearch index, for either client."""

from __future__ import annotations

from typing import Generic, Literal, TypeAlias, Unpack

from retrivex.adapters.base.collection import Nearest
from retrivex.adapters.base.fields import MakeId
from retrivex.adapters.base.store import Embed, VectorChunkStore, VectorRetriever
from retrivex.encoders.encoder import Encoder
from retrivex.errors import StoreError
from retrivex.model.chunk import Scope

from .collection import Async, SearchCollection, SearchOptions, Sync
from .requests import Matching

Search: TypeAlias = Literal["knn", "bm25"]


class SearchChunkStore(VectorChunkStore, Generic[Sync, Async]):
    """Fetches neighbours from an index; parameters as in `SearchCollection` and `VectorChunkStore`."""

    kind: type[SearchCollection[Sync, Async]]

    def __init__(
        self,
        client: Sync | Async,
        index: str,
        *,
        make_id: MakeId | None = None,
        retries: int = 2,
        batch_limit: int | None = None,
        **options: Unpack[SearchOptions[Async]],
    ) -> None:
        collection = self.kind(client, index, **options)
        super().__init__(collection, make_id=make_id, retries=retries, batch_limit=batch_limit)


class SearchRetriever(VectorRetriever, Generic[Sync, Async]):
    """Finds hits by nearest vectors or by words; other parameters as in `SearchCollection`.

    Parameters
    ----------
    embed : the model of the index's vectors, an `Encoder` or a function from a text to its vector; not needed for words
    search : `knn` for the nearest vectors, `bm25` for the words of the question
    """

    kind: type[SearchCollection[Sync, Async]]

    def __init__(
        self,
        client: Sync | Async,
        index: str,
        embed: Encoder | Embed | None = None,
        *,
        search: Search = "knn",
        retries: int = 2,
        **options: Unpack[SearchOptions[Async]],
    ) -> None:
        collection = self.kind(client, index, **options)
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
