"""LangChain: a retriever around any other one, which returns whole passages within a token budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field, SkipValidation

from retrivex.adapters.base.fields import FieldMap, colon_id, uuid5_id
from retrivex.adapters.base.hits import Direction, Placed, hits_to_ask, place
from retrivex.adapters.base.results import NO_STORE, PLAIN_TEXT, logger
from retrivex.composition.composition import Composition
from retrivex.config import RetrievalConfig

from .composer import ComposerMixin
from .compressor import RetriVexCompressor
from .documents import SCORE_KEY, chunk_store_from_documents, documents_of, read_document
from .reorder import RetriVexReorder
from .stores import BaseStoreChunkStore, FilteredChunkStore, VectorStoreChunkStore

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever, RetrieverLike
    from langchain_core.vectorstores import VectorStoreRetriever
except ImportError as error:
    hint = "pip install 'retrivex-rag[langchain]'"
    raise ImportError(f"retrivex.adapters.langchain needs langchain-core: {hint}") from error

__all__ = [
    "BaseStoreChunkStore",
    "FieldMap",
    "FilteredChunkStore",
    "RetriVexCompressor",
    "RetriVexReorder",
    "RetriVexRetriever",
    "VectorStoreChunkStore",
    "chunk_store_from_documents",
    "colon_id",
    "uuid5_id",
]

_LIMITS = ("k", "top_k")  # how LangChain's own retrievers call the number of hits


class RetriVexRetriever(BaseRetriever, ComposerMixin):
    """Takes hits from another retriever and returns the spans composed of them, one Document each.

    Documents come in reading order, which is not best first unless `ordering_strategy="score_desc"` says so. Joined by
    blank lines they keep the token budget. Their metadata are JSON types: see `docs/adapters.md`.

    Parameters
    ----------
    base_retriever : any LangChain retriever
    config : options of the composer
    chunk_store : where neighbours are: `{(doc_id, chunk_id): Chunk}`, anything with `fetch(windows, scope)`, or the
        split documents themselves. Without it hits cannot grow, and are only merged where they touch.
    parent_store : where parents are
    fetch_k : hits to ask the base retriever for, where it can be asked, and no fewer than spans to return; None leaves
        it as it is
    k : most spans to return; takes the place of `config.max_spans`
    scope : what the caller may see
    fields : names of metadata, where they differ from the usual ones
    reranker : scores the hits anew before they grow, as in `SpanComposer`

    Notes
    -----
    `invoke(question, k=..., fetch_k=..., scope=..., query_embedding=..., token_budget=...)` changes these, and any
    option of `RetrievalConfig` but `k`, for one call: `k` counts spans here.
    """

    base_retriever: SkipValidation[RetrieverLike]
    config: RetrievalConfig = Field(default_factory=RetrievalConfig)
    fields: FieldMap = Field(default_factory=FieldMap, frozen=True)  # the chunk store may be made with them
    chunk_store: Any = None
    parent_store: Any = None
    fetch_k: int | None = Field(default=50, ge=1)
    k: int | None = Field(default=None, ge=1)
    scope: Any = None
    reranker: Any = None

    def __init__(self, base_retriever: RetrieverLike, config: RetrievalConfig | None = None, **kwargs: Any) -> None:
        kept = RetrievalConfig() if config is None else config
        super().__init__(base_retriever=base_retriever, config=kept, **kwargs)  # type: ignore[call-arg]
        self._made_composer()  # a tokenizer that cannot be had shows now, not at the first question
        if self._alone:
            logger.warning("%s", NO_STORE)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **overrides: Any
    ) -> list[Document]:
        call = self._call(overrides)
        documents = call.base.invoke(query, config={"callbacks": run_manager.get_child()})
        placed = self._place(documents, call)
        made = self._made_composer().compose(
            placed.hits,
            placed.store,
            self.parent_store,
            query=query,
            **call.arguments,
            **call.options | placed.overrides,
        )
        return self._documents(made, placed)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **overrides: Any
    ) -> list[Document]:
        call = self._call(overrides)
        documents = await call.base.ainvoke(query, config={"callbacks": run_manager.get_child()})
        placed = self._place(documents, call)
        made = await self._made_composer().acompose(
            placed.hits,
            placed.store,
            self.parent_store,
            query=query,
            **call.arguments,
            **call.options | placed.overrides,
        )
        return self._documents(made, placed)

    def _call(self, overrides: dict[str, Any]) -> _Call:
        options = {name: value for name, value in overrides.items() if name not in _OWN}
        k = overrides.get("k", self.k)
        if k is not None:
            options["max_spans"] = k
        config = self.config.override(**options)
        wanted = hits_to_ask(overrides.get("fetch_k", self.fetch_k), config.max_spans)
        base, direction = _asked_for(self.base_retriever, wanted)
        return _Call(
            base=base,
            direction=direction,
            config=config,
            options={**options, **PLAIN_TEXT},
            arguments={
                "scope": overrides.get("scope", self.scope),
                "query_embedding": overrides.get("query_embedding"),
            },
        )

    def _place(self, documents: Sequence[Document], call: _Call) -> Placed:
        passages = [read_document(document, self.fields) for document in documents]
        return place(passages, self.chunk_store, call.config, direction=call.direction)

    def _documents(self, made: Composition, placed: Placed) -> list[Document]:
        return documents_of(made, placed, self.fields, alone=self._alone)


_OWN = ("k", "fetch_k", "scope", "query_embedding", "verbose")  # of `invoke`, and no options of the composer


@dataclass(frozen=True, slots=True)
class _Call:
    """The arguments of one `invoke`, with its changes applied."""

    base: RetrieverLike
    direction: Direction
    config: RetrievalConfig
    options: dict[str, Any]
    arguments: dict[str, Any]


class _ScoredRetriever(VectorStoreRetriever):
    """A vector store's own retriever that keeps the scores, which the original discards."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        arguments = self.search_kwargs | kwargs
        if self.search_type == "similarity_score_threshold":
            return _scored(self.vectorstore.similarity_search_with_relevance_scores(query, **arguments))
        try:
            return _scored(self.vectorstore.similarity_search_with_score(query, **arguments))
        except NotImplementedError:  # a store without scores: ranks stand in, and the metadata say so
            return super()._get_relevant_documents(query, run_manager=run_manager, **kwargs)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        arguments = self.search_kwargs | kwargs
        if self.search_type == "similarity_score_threshold":
            return _scored(await self.vectorstore.asimilarity_search_with_relevance_scores(query, **arguments))
        try:
            return _scored(await self.vectorstore.asimilarity_search_with_score(query, **arguments))
        except NotImplementedError:
            return await super()._aget_relevant_documents(query, run_manager=run_manager, **kwargs)


def _scored(pairs: Iterable[tuple[Document, float]]) -> list[Document]:
    return [
        document.model_copy(update={"metadata": {**document.metadata, SCORE_KEY: score}}) for document, score in pairs
    ]


def _asked_for(base: RetrieverLike, fetch_k: int | None) -> tuple[RetrieverLike, Direction]:
    """Return a copy of `base` that is asked for `fetch_k` hits, where it can be, and how to read its scores."""
    if isinstance(base, VectorStoreRetriever):
        search = dict(base.search_kwargs) if fetch_k is None else _search_kwargs(base, fetch_k)
        if type(base) is not VectorStoreRetriever or base.search_type == "mmr":
            return base.model_copy(update={"search_kwargs": search}), "as configured"
        scored = _ScoredRetriever(
            vectorstore=base.vectorstore, search_type=base.search_type, search_kwargs=search,
            name=base.get_name(), tags=base.tags, metadata=base.metadata,
        )  # fmt: skip
        return scored, "by order" if base.search_type == "similarity" else "similarity"
    if isinstance(base, BaseRetriever) and fetch_k is not None:
        limits = {name: fetch_k for name in _LIMITS if name in type(base).model_fields}
        return (base.model_copy(update=limits) if limits else base), "as configured"
    return base, "as configured"


def _search_kwargs(base: VectorStoreRetriever, fetch_k: int) -> dict[str, Any]:
    search = {**base.search_kwargs, "k": fetch_k}
    if base.search_type == "mmr":
        # MMR picks k out of its own fetch_k candidates: as many as are asked for would leave it nothing to pick from
        search["fetch_k"] = max(search.get("fetch_k", 0), 2 * fetch_k)
    return search
