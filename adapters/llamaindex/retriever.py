"""LlamaIndex: a retriever around any other, and a postprocessor, that return whole passages within a budget."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from functools import cached_property, partial
from typing import Any, Unpack

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.callbacks import CallbackManager
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle

from retrivex.composer.composer import SpanComposer
from retrivex.composition.composition import Composition
from retrivex.config import RetrievalConfig, refuse_unknown
from retrivex.model.question import takes_both_names
from retrivex.rerank import AnyReranker, Reranking
from retrivex.stores.protocol import AnyChunkStore

from ..base.behind import FOUND
from ..base.hits import check_retriever, hits_to_ask
from ..base.logs import logger
from .behind import find_behind, keeps_back
from .composer import SOURCES, NodeComposer, NodeOptions, StoreOptions

_OF_NODES = ("config", "chunk_store", "docstore", "vector_store", "parent_store", "scope", "fields", "reranker")
_LIMITS = ("similarity_top_k", "_similarity_top_k")  # how LlamaIndex's retrievers call the number of hits


class RetriVexRetriever(BaseRetriever):
    """Takes hits from another retriever and returns the spans composed of them, one node each.

    Nodes come in reading order, which is not best first unless `ordering_strategy="score_desc"` says so. Their texts,
    joined by blank lines, keep the token budget. Every node has a score and a stable id; what RetriVex adds to the
    metadata is kept out of prompts and embeddings.

    Parameters
    ----------
    base_retriever : any LlamaIndex retriever
    config : options of the composer; `max_spans` limits the nodes returned
    chunk_store : where neighbours are: `{(doc_id, chunk_id): Chunk}`, anything with `fetch(windows, scope)`, or nodes
    docstore, vector_store : one of them in place of `chunk_store`: neighbours are found along PREVIOUS and NEXT, by
        one `get_nodes` for every step outwards. With none of the three, the vector store or docstore of the base
        retriever's index is taken, if that is a `VectorIndexRetriever` or `SummaryIndexRetriever` that does not
        filter, or a `QueryFusionRetriever` or `AutoMergingRetriever` of such, also beside a `BM25Retriever`. Else hits
        cannot grow and are only merged where they touch, which is warned of.
    parent_store : where parents are
    fetch_k : hits to ask the base retriever for, where it can be asked (`similarity_top_k`), and no fewer than
        `max_spans`; None leaves it as it is
    scope : what the caller may see; a `ScopedQuery` says it for one question
    fields : names of metadata, where they differ from the usual ones
    reranker : scores the hits anew before they grow, as in `SpanComposer`

    Raises
    ------
    RerankError
        If `reranker` is nothing that can score texts.
    RetrivexError
        If `base_retriever` cannot be asked for nodes.
    StoreError
        If more than one of `chunk_store`, `docstore` and `vector_store` are given, or what is given is none.
    """

    def __init__(
        self,
        base_retriever: BaseRetriever,
        config: RetrievalConfig | None = None,
        chunk_store: AnyChunkStore | Iterable[BaseNode] | None = None,
        *,
        fetch_k: int | None = 50,
        reranker: AnyReranker | Reranking | None = None,
        callback_manager: CallbackManager | None = None,
        **options: Unpack[StoreOptions],
    ) -> None:
        refuse_unknown("RetriVexRetriever", ("base_retriever", "fetch_k", *_OF_NODES), options)
        composer = SpanComposer(config, reranker=reranker)
        self._base = check_retriever("base_retriever", base_retriever, "retrieve", "index.as_retriever()")
        self._fetch_k = hits_to_ask(fetch_k, composer.config.max_spans)
        given: NodeOptions = {**options, "chunk_store": chunk_store}
        named = any(given.get(name) is not None for name in SOURCES)
        behind = None if named or max(composer.config.reach) == 0 else find_behind(base_retriever)
        self._make_alone = partial(NodeComposer, composer, **given)  # which keeps what is given now
        self._grown: NodeComposer | None = None
        if behind is None:
            _ = self._alone  # what is wrong with it shows now, not at the first question
        else:
            logger.info(FOUND, type(behind).__name__)
            given["docstore"] = behind
            self._grown = NodeComposer(composer, **given)
        super().__init__(
            callback_manager if callback_manager is not None else getattr(base_retriever, "callback_manager", None)
        )

    @cached_property
    def _alone(self) -> NodeComposer:
        return self._make_alone()

    @property
    def _spans(self) -> NodeComposer:
        """With neighbours of the index, unless a filter was set since."""
        return self._alone if self._grown is None or keeps_back(self._base) else self._grown

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = _set_fetch_k(self._base, self._fetch_k).retrieve(query_bundle)
        return self._spans.compose_nodes(found, query_bundle)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = await _set_fetch_k(self._base, self._fetch_k).aretrieve(query_bundle)
        return await self._spans.acompose_nodes(found, query_bundle)

    @takes_both_names
    def compose(self, query: str | QueryBundle) -> Composition:
        """Return the whole composition for a question: text with numbered sources, citations, confidence, prompts."""
        bundle = QueryBundle(query) if isinstance(query, str) else query
        return self._spans.compose(_set_fetch_k(self._base, self._fetch_k).retrieve(bundle), bundle)

    @takes_both_names
    async def acompose(self, query: str | QueryBundle) -> Composition:
        """Do the same without blocking the event loop."""
        bundle = QueryBundle(query) if isinstance(query, str) else query
        return await self._spans.acompose(await _set_fetch_k(self._base, self._fetch_k).aretrieve(bundle), bundle)


def _set_fetch_k(base: BaseRetriever, fetch_k: int | None) -> BaseRetriever:
    """Return a copy of `base` that is asked for `fetch_k` hits, where it can be."""
    limit = next((name for name in _LIMITS if hasattr(base, name)), None)
    if fetch_k is None or limit is None:
        return base
    asked = copy.copy(base)
    setattr(asked, limit, fetch_k)
    return asked


class RetriVexPostprocessor(BaseNodePostprocessor):
    """Composes spans of the nodes that a retriever has found; for `node_postprocessors=[...]` of a query engine.

    What comes out is what `RetriVexRetriever` returns, which also asks its base for enough hits: here they are as many
    as the retriever's own `similarity_top_k`, so let that be some 50. Without a question, as some engines call it,
    spans are scored by the published formula, which needs none.

    Parameters
    ----------
    config : options of the composer; `max_spans` limits the nodes returned
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
        reranker: AnyReranker | Reranking | None = None,
        **options: Any,
    ) -> None:
        own = type(self).model_fields
        refuse_unknown("RetriVexPostprocessor", (*_OF_NODES, *own), options)
        super().__init__(**{name: value for name, value in options.items() if name in own})
        of_nodes = {name: value for name, value in options.items() if name not in own}
        self._spans = NodeComposer(SpanComposer(config, reranker=reranker), chunk_store=chunk_store, **of_nodes)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex writes it down."""
        return "RetriVexPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self._spans.compose_nodes(nodes, query_bundle)

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return await self._spans.acompose_nodes(nodes, query_bundle)
