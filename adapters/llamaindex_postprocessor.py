"""LlamaIndex: whole passages out of the nodes that a retriever has found, as a node postprocessor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from retrivex.chunk import Scope
from retrivex.composer import SpanComposer
from retrivex.config import RetrievalConfig
from retrivex.rerank import AnyReranker, Reranking
from retrivex.stores.protocol import AnyChunkStore, AnyParentStore

from .fields import FieldMap
from .llamaindex_composer import NodeComposer

try:
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle
    from llama_index.core.storage.docstore import BaseDocumentStore
    from llama_index.core.vector_stores.types import BasePydanticVectorStore
except ImportError as error:
    hint = "pip install 'retrivex-rag[llamaindex]'"
    raise ImportError(f"retrivex.adapters.llamaindex needs llama-index-core: {hint}") from error


class RetriVexPostprocessor(BaseNodePostprocessor):
    """Makes spans of the nodes that a retriever has found; for `node_postprocessors=[...]` of a query engine.

    What comes out is what `RetriVexRetriever` returns, which also asks its base for enough hits: here they are as many
    as the retriever's own `similarity_top_k`, so let that be some 50. Without a question, as some engines call it,
    spans are scored by the published formula, which needs none.

    Parameters
    ----------
    config : knobs of the composer; `max_spans` limits the nodes returned
    chunk_store, docstore, vector_store, parent_store, scope, fields, reranker : as for `RetriVexRetriever`

    Raises
    ------
    StoreError
        If more than one of `chunk_store`, `docstore` and `vector_store` are given, or what is given is none.
    """

    _spans: NodeComposer = PrivateAttr()

    def __init__(
        self,
        config: RetrievalConfig | None = None,
        chunk_store: AnyChunkStore | Iterable[BaseNode] | None = None,
        *,
        docstore: BaseDocumentStore | None = None,
        vector_store: BasePydanticVectorStore | None = None,
        parent_store: AnyParentStore | None = None,
        scope: Scope = None,
        fields: FieldMap | None = None,
        reranker: AnyReranker | Reranking | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._spans = NodeComposer(
            SpanComposer(config, reranker=reranker),
            chunk_store,
            docstore=docstore,
            vector_store=vector_store,
            parent_store=parent_store,
            scope=scope,
            fields=fields,
        )

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex writes it down."""
        return "RetriVexPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self._spans.compose(nodes, query_bundle)

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return await self._spans.acompose(nodes, query_bundle)
