"""Retriever over an Elasticsearch or OpenSearch index, for either client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from retrivex.encoders.encoder import Encoder

from ..base.store import ClientRetriever, Embed

Search: TypeAlias = Literal["vectors", "words", "hybrid", "knn", "bm25"]
"""`knn` is another name of `vectors`, and `bm25` of `words`."""

_NAMES: Mapping[Any, Any] = {"knn": "vectors", "bm25": "words"}


class SearchRetriever(ClientRetriever):
    """Finds hits by nearest vectors, by words or by both; other parameters as in `SearchCollection`.

    Parameters
    ----------
    embed : the model of the index's vectors, an `Encoder` or a function from a text to its vector; not needed for words
    search : as of `VectorRetriever`; words are those of the text, scored by BM25
    """

    def __init__(
        self,
        client: Any,
        index: str,
        embed: Encoder | Embed | None = None,
        *,
        search: Search = "vectors",
        retries: int = 2,
        **options: Any,
    ) -> None:
        super().__init__(client, index, embed, search=_NAMES.get(search, search), retries=retries, **options)
