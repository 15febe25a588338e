"""LangChain: a document compressor that composes whole passages of the documents that a retriever found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import Field

from retrivex.config import RetrievalConfig

from ..base.fields import FieldMap
from ..base.hits import Placed, place
from ..base.logs import logger
from ..base.results import PLAIN_TEXT
from .composer import ComposerMixin
from .documents import ALONE, documents_of, read_document


class RetriVexCompressor(BaseDocumentCompressor, ComposerMixin):
    """Composes spans of documents, which come best first; for `ContextualCompressionRetriever`.

    What comes out is what `RetriVexRetriever` returns. Scores are read from the metadata, as vector store retrievers
    hand out none; without them the order counts. `RetriVexRetriever` knows more and asks for enough hits by itself:
    take this one where a pipeline wants a compressor.

    Parameters
    ----------
    config : options of the composer
    chunk_store, parent_store, k, scope, fields, reranker : as for `RetriVexRetriever`
    """

    config: RetrievalConfig = Field(default_factory=RetrievalConfig)
    fields: FieldMap = Field(default_factory=FieldMap, frozen=True)  # the chunk store may be made with them
    chunk_store: Any = None
    parent_store: Any = None
    k: int | None = Field(default=None, ge=1)
    scope: Any = None
    reranker: Any = None

    def __init__(self, config: RetrievalConfig | None = None, **kwargs: Any) -> None:
        super().__init__(config=config, **kwargs)  # type: ignore[call-arg]
        self._make_composer()  # a tokenizer that cannot be had shows now, not at the first question
        if self._alone:
            logger.warning("%s", ALONE)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Return the spans that are worth most for `query`, one Document each, in reading order."""
        placed = self._place(documents)
        made = self._composed(placed, query, self._options())
        return documents_of(made, placed, self.fields)

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Do the same, awaiting the store."""
        placed = self._place(documents)
        made = await self._acomposed(placed, query, self._options())
        return documents_of(made, placed, self.fields)

    def _place(self, documents: Sequence[Document]) -> Placed:
        return place([read_document(document, self.fields) for document in documents], self.chunk_store, self.config)

    def _options(self) -> dict[str, Any]:
        limit = {} if self.k is None else {"max_spans": self.k}
        return {"scope": self.scope, **limit, **PLAIN_TEXT}
