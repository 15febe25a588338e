"""LangChain: a retriever around any other one, which returns whole passages within a token budget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, RetrieverLike
from langchain_core.runnables import RunnableConfig
from langchain_core.vectorstores import VectorStoreRetriever
from pydantic import Field, PrivateAttr, SkipValidation, field_validator

from retrivex.composition.composition import Composition
from retrivex.config import RetrievalConfig
from retrivex.model.question import takes_both_names

from ..base.behind import FOUND
from ..base.fields import FieldMap
from ..base.hits import Direction, Placed, check_retriever, hits_to_ask, place
from ..base.logs import logger
from ..base.results import PLAIN_TEXT, for_callers
from .behind import Behind, find_behind, keeps_back
from .composer import ComposerMixin
from .documents import ALONE, SCORE_KEY, all_warnings, documents_of, read_document

_LIMITS = ("k", "top_k")  # how LangChain's own retrievers call the number of hits


class RetriVexRetriever(BaseRetriever, ComposerMixin):
    """Takes hits from another retriever and returns the spans composed of them, one Document each.

    Documents come in reading order, which is not best first unless `ordering_strategy="score_desc"` says so. Joined by
    blank lines they keep the token budget. Their metadata are JSON types: see `docs/howto/adapters.md`.

    Parameters
    ----------
    base_retriever : any LangChain retriever
    config : options of the composer
    chunk_store : where neighbours are: `{(doc_id, chunk_id): Chunk}`, anything with `fetch(windows, scope)`, or the
        split documents themselves. Without it they are looked for behind `base_retriever`, see Notes.
    parent_store : where parents are
    fetch_k : hits to ask the base retriever for, where it can be asked, and no fewer than spans to return; None leaves
        it as it is
    k : most spans to return; takes the place of `config.max_spans`
    scope : what the caller may see
    fields : names of metadata, where they differ from the usual ones
    reranker : scores the hits anew before they grow, as in `SpanComposer`

    Raises
    ------
    ConfigError
        If an argument does not exist or breaks its rule: a vector store in place of its retriever, say.

    Notes
    -----
    `invoke(question, k=..., fetch_k=..., scope=..., query_embedding=..., token_budget=...)` changes these, and any
    option of `RetrievalConfig` but `k`, for one call: `k` counts spans here.

    Behind `base_retriever` neighbours are found in the pieces of `InMemoryVectorStore`, FAISS and retrievers by words,
    in the collections of Chroma and Qdrant where the pieces are numbered, and in every store with `get_by_ids` whose
    ids are `document:number`, also where an `EnsembleRetriever` or `MultiQueryRetriever` stands between, or a
    `ContextualCompressionRetriever` that reranks. Those of a `ParentDocumentRetriever` or `MultiVectorRetriever` are
    parents of its docstore, where both its stores are in this process. A retriever that filters, and any of another
    kind, is left alone, as it may keep neighbours out. Where nothing is found, hits cannot grow and are only merged
    where they touch, which is warned of.
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
    _behind: _KeptBehind | None = PrivateAttr(default=None)

    @field_validator("base_retriever")
    @classmethod
    def _check_retriever(cls, given: RetrieverLike) -> RetrieverLike:
        return check_retriever("base_retriever", given, "invoke", "vectors.as_retriever()")

    def __init__(self, base_retriever: RetrieverLike, config: RetrievalConfig | None = None, **kwargs: Any) -> None:
        super().__init__(base_retriever=base_retriever, config=config, **kwargs)  # type: ignore[call-arg]
        self._make_composer()  # a tokenizer that cannot be had shows now, not at the first question
        behind = self._find_behind()
        if behind is not None:
            logger.info(FOUND, behind.name)
        elif self._alone:
            logger.warning("%s", ALONE)

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Return the spans for a question; `config` reaches the base retriever, too, with what it configures."""
        with _configured(config):
            return super().invoke(input, config, **kwargs)

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Do the same, awaiting the base retriever and the store."""
        with _configured(config):
            return await super().ainvoke(input, config, **kwargs)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **overrides: Any
    ) -> list[Document]:
        call = self._call({**overrides, **PLAIN_TEXT})
        placed = self._place(call.base.invoke(query, config=_child(run_manager)), call)
        return documents_of(self._composed(placed, query, call.options), placed, self.fields)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **overrides: Any
    ) -> list[Document]:
        call = self._call({**overrides, **PLAIN_TEXT})
        placed = self._place(await call.base.ainvoke(query, config=_child(run_manager)), call)
        made = await self._acomposed(placed, query, call.options)
        return documents_of(made, placed, self.fields)

    @takes_both_names
    def compose(self, query: str, config: RunnableConfig | None = None, **overrides: Any) -> Composition:
        """Return the whole composition for a question: text with numbered sources, citations, confidence, prompts.

        Parameters
        ----------
        query : the question; `question=` means the same
        config : as for `invoke`: reaches the base retriever with what it configures
        **overrides : as for `invoke`
        """
        call = self._call(overrides)
        placed = self._place(call.base.invoke(query, config), call)
        made = self._composed(placed, query, call.options)
        return for_callers(made, placed, all_warnings(made, placed))

    @takes_both_names
    async def acompose(self, query: str, config: RunnableConfig | None = None, **overrides: Any) -> Composition:
        """Do the same, awaiting the base retriever and the store."""
        call = self._call(overrides)
        placed = self._place(await call.base.ainvoke(query, config), call)
        made = await self._acomposed(placed, query, call.options)
        return for_callers(made, placed, all_warnings(made, placed))

    def _call(self, overrides: dict[str, Any]) -> _Call:
        options = {name: value for name, value in overrides.items() if name not in _OWN}
        k = overrides.get("k", self.k)
        if k is not None:
            options["max_spans"] = k
        config = self.config.override(**options)
        wanted = hits_to_ask(overrides.get("fetch_k", self.fetch_k), config.max_spans)
        base, direction = _set_fetch_k(self.base_retriever, wanted)
        options["scope"] = overrides.get("scope", self.scope)
        options["query_embedding"] = overrides.get("query_embedding")
        return _Call(base, direction, config, options)

    def _place(self, documents: Sequence[Document], call: _Call) -> Placed:
        passages = [read_document(document, self.fields) for document in documents]
        store = self.chunk_store
        if store is None and (behind := self._find_behind()) is not None:
            store = behind.store(passages)
        return place(passages, store, call.config, direction=call.direction)

    def _find_behind(self) -> Behind | None:
        kept = self._behind
        if self.chunk_store is not None or max(self.config.reach) == 0:
            return None
        if keeps_back(self.base_retriever):  # asked at each call: a filter may have been set since
            return None
        if kept is None or kept.base is not self.base_retriever:
            kept = self._behind = _KeptBehind(self.base_retriever, find_behind(self.base_retriever, self.fields))
        return kept.behind


_CONFIG: ContextVar[RunnableConfig | None] = ContextVar("retrivex_run_config", default=None)
"""Of the `invoke` that is under way: LangChain hands a retriever nothing of it but the callbacks."""


@contextmanager
def _configured(config: RunnableConfig | None) -> Iterator[None]:
    token = _CONFIG.set(config)
    try:
        yield
    finally:
        _CONFIG.reset(token)


def _child(run_manager: Any) -> RunnableConfig:
    """Return the configuration for the base: what the caller configures, as a child run."""
    given = _CONFIG.get() or {}
    return {"configurable": given.get("configurable", {}), "callbacks": run_manager.get_child()}


_OWN = ("k", "fetch_k", "scope", "query_embedding", "verbose")  # of `invoke`, and no options of the composer


@dataclass(frozen=True, slots=True)
class _KeptBehind:
    """What was found behind a retriever; copies and pickles look anew."""

    base: RetrieverLike
    behind: Behind | None

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


@dataclass(frozen=True, slots=True)
class _Call:
    """The arguments of one `invoke`, with its changes applied."""

    base: RetrieverLike
    direction: Direction
    config: RetrievalConfig
    options: dict[str, Any]


class _ScoredRetriever(VectorStoreRetriever):
    """A vector store's own retriever that keeps the scores, which the original discards."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        arguments = self.search_kwargs | kwargs
        if self.search_type == "similarity_score_threshold":
            return _attach_scores(self.vectorstore.similarity_search_with_relevance_scores(query, **arguments))
        try:
            return _attach_scores(self.vectorstore.similarity_search_with_score(query, **arguments))
        except NotImplementedError:  # a store without scores: ranks stand in, and the metadata say so
            return super()._get_relevant_documents(query, run_manager=run_manager, **kwargs)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        arguments = self.search_kwargs | kwargs
        if self.search_type == "similarity_score_threshold":
            return _attach_scores(await self.vectorstore.asimilarity_search_with_relevance_scores(query, **arguments))
        try:
            return _attach_scores(await self.vectorstore.asimilarity_search_with_score(query, **arguments))
        except NotImplementedError:
            return await super()._aget_relevant_documents(query, run_manager=run_manager, **kwargs)


def _attach_scores(pairs: Iterable[tuple[Document, float]]) -> list[Document]:
    return [
        document.model_copy(update={"metadata": {**document.metadata, SCORE_KEY: score}}) for document, score in pairs
    ]


def _set_fetch_k(base: RetrieverLike, fetch_k: int | None) -> tuple[RetrieverLike, Direction]:
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
