"""Retriever over an Elasticsearch or OpenSearch index, for either client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retrivex.encoders.encoder import Encoder

from ..base.store import ClientRetriever, Embed

_NAMES: Mapping[Any, Any] = {"knn": "vectors", "bm25": "words"}


class SearchRetriever(ClientRetriever):
    """Finds hits by nearest vectors, by words or by both; other parameters as in `SearchCollection`.

    Parameters
    ----------
    embed : the model of the index's vectors, an `Encoder` or a function from a text to its vector; not needed for words
    search : as of `VectorRetriever`; words are those of the text, scored by BM25. `knn` and `bm25` are older names of
        `vectors` and `words`
    """

    def __init__(
        self, client: Any, index: str, embed: Encoder | Embed | None = None, *, search: Any = "vectors", **options: Any
    ) -> None:
        super().__init__(client, index, embed, search=_NAMES.get(search, search), **options)
