"""SpanComposer: hits and a chunk store in, the best context for the token budget out."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from retrivex.composer.budget_fit import Call
from retrivex.composer.pipeline import Pipeline, Reply, Request, Valued
from retrivex.composition.composition import Composition
from retrivex.config import RetrievalConfig
from retrivex.errors import RetrivexError
from retrivex.expansion.seeds import SeedHits
from retrivex.merging.units import UnitCutter
from retrivex.model.chunk import Embedding, Scope, allowed_scopes
from retrivex.model.span import Span
from retrivex.rendering.render import BARE, Style
from retrivex.rerank.calling import Reranking, RerankRequest
from retrivex.rerank.protocol import AnyReranker
from retrivex.scoring.scorer import Valuer
from retrivex.scoring.term_index import TermIndexer
from retrivex.stores.access import StoreAccess
from retrivex.stores.protocol import AnyChunkStore, AnyParentStore, ParentStore
from retrivex.text.word_overlap import SignatureCache
from retrivex.tokens.cache import TokenCache
from retrivex.tokens.incremental import JoinCounter
from retrivex.tokens.tokenizer import TokenizerSpec, resolve_tokenizer


@dataclass(frozen=True, slots=True)
class ComposeRequest:
    """One question of a batch; fields as the arguments of `SpanComposer.compose`."""

    seed_hits: SeedHits
    chunk_store: AnyChunkStore
    parent_store: AnyParentStore | None = None
    query: str | None = None
    query_embedding: Embedding | None = None
    scope: Scope = None
    overrides: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BatchItem:
    """Answer to one request of a batch: a composition, or the error that belongs to it."""

    composition: Composition | None
    error: Exception | None

    def unwrap(self) -> Composition:
        """Return the composition, or raise the error."""
        if self.composition is None:
            raise self.error or RetrivexError("batch item is empty: it has neither a composition nor an error")
        return self.composition


class SpanComposer:
    """Turns hits into a context: expand, merge, score, select, order, render.

    Holds a config, a tokenizer and caches of what it has counted; nothing in it depends on the queries it has
    answered, and it may be used from several threads.

    Parameters
    ----------
    config : defaults for every call
    tokenizer : takes the place of `config.tokenizer`: an object with `count`, or a function from text to number
    reranker : scores the hits anew before they grow: an object with `score(query, texts)`, a function of the two, or a
        `Reranking`, which says how it is asked. Its scores take the place of the hits' own; where it fails, they
        keep theirs, with a warning

    Raises
    ------
    RerankError
        If `reranker` is nothing that can score texts.
    TokenizerError
        If a tokenizer was asked for by name and cannot be had.

    Examples
    --------
    >>> from retrivex import Chunk, ChunkMetadata, SeedHit
    >>> texts = ["Bees live in hives.", "A hive has one queen.", "She lays all the eggs."]
    >>> store = {("bees", i): Chunk(text, ChunkMetadata("bees", i)) for i, text in enumerate(texts)}
    >>> composer = SpanComposer(RetrievalConfig(window=1, token_budget=50), tokenizer=lambda text: len(text.split()))
    >>> [span.text for span in composer.retrieve([SeedHit(store["bees", 1], 0.8)], store)]
    ['Bees live in hives. A hive has one queen. She lays all the eggs.']
    """

    def __init__(
        self,
        config: RetrievalConfig | None = None,
        *,
        tokenizer: TokenizerSpec = None,
        reranker: AnyReranker | Reranking | None = None,
    ) -> None:
        self.config = config if config is not None else RetrievalConfig()
        if not isinstance(self.config, RetrievalConfig):
            raise RetrivexError(f"config is {type(config).__name__}: it must be a RetrievalConfig(...)")
        self._own_tokenizer = tokenizer
        self._reranking = None if reranker is None else Reranking.of(reranker)
        self._signatures = SignatureCache()
        self._words = TermIndexer()
        self._counters: dict[str, tuple[JoinCounter, UnitCutter, tuple[str, ...]]] = {}
        self._counter_for(self.config)

    def retrieve(
        self,
        seed_hits: SeedHits,
        chunk_store: AnyChunkStore,
        parent_store: AnyParentStore | None = None,
        *,
        query: str | None = None,
        query_embedding: Embedding | None = None,
        scope: Scope = None,
        **overrides: Any,
    ) -> list[Span]:
        """Return the spans worth most, in reading order; joined by blank lines they keep the token budget.

        Parameters
        ----------
        seed_hits : what the retriever found, or one list for each query
        chunk_store : `{(doc_id, chunk_id): Chunk}`, or anything with `fetch(windows, scope)`
        parent_store : `{parent_id: text or Chunk}`, or anything with `fetch_parents(ids, scope)`
        query : the question
        query_embedding : shape (d,), of the same model as the chunks' embeddings
        scope : what the caller may see, see `ChunkMetadata.scope`
        **overrides : any field of `RetrievalConfig`, for this call

        Raises
        ------
        pydantic.ValidationError
            If an override is not a knob, or breaks its rule.
        RetrivexError
            If an argument is of the wrong kind; with `strict=True` also for a bad hit or a failing store.
        """
        pipeline, access = self._start(
            BARE, seed_hits, chunk_store, parent_store, query, query_embedding, scope, overrides
        )
        return list(_drive(pipeline.run(), access).spans)

    def compose(
        self,
        seed_hits: SeedHits,
        chunk_store: AnyChunkStore,
        parent_store: AnyParentStore | None = None,
        *,
        query: str | None = None,
        query_embedding: Embedding | None = None,
        scope: Scope = None,
        **overrides: Any,
    ) -> Composition:
        """Return the context as text, with its spans, citations and account; arguments as in `retrieve`."""
        pipeline, access = self._start(
            None, seed_hits, chunk_store, parent_store, query, query_embedding, scope, overrides
        )
        return _drive(pipeline.run(), access)

    async def aretrieve(
        self,
        seed_hits: SeedHits,
        chunk_store: AnyChunkStore,
        parent_store: AnyParentStore | None = None,
        *,
        query: str | None = None,
        query_embedding: Embedding | None = None,
        scope: Scope = None,
        **overrides: Any,
    ) -> list[Span]:
        """`retrieve` for event loops: stores are awaited (`afetch`), or asked in a thread."""
        pipeline, access = self._start(
            BARE, seed_hits, chunk_store, parent_store, query, query_embedding, scope, overrides
        )
        return list((await _adrive(pipeline.run(), access)).spans)

    async def acompose(
        self,
        seed_hits: SeedHits,
        chunk_store: AnyChunkStore,
        parent_store: AnyParentStore | None = None,
        *,
        query: str | None = None,
        query_embedding: Embedding | None = None,
        scope: Scope = None,
        **overrides: Any,
    ) -> Composition:
        """`compose` for event loops: stores are awaited (`afetch`), or asked in a thread."""
        pipeline, access = self._start(
            None, seed_hits, chunk_store, parent_store, query, query_embedding, scope, overrides
        )
        return await _adrive(pipeline.run(), access)

    def compose_batch(
        self, requests: Iterable[ComposeRequest | Mapping[str, Any]], *, max_workers: int = 1
    ) -> list[BatchItem]:
        """Compose many; same order out, and an error belongs to its item.

        Parameters
        ----------
        requests : ComposeRequests, or mappings with the arguments of `compose`; knobs may also stand under
            `overrides`, as in a ComposeRequest
        max_workers : threads; more than one pays where stores are waited for

        Raises
        ------
        RetrivexError
            If `requests` is no list of them, or `max_workers` no whole number of at least 1.
        """
        if not isinstance(requests, Iterable) or isinstance(requests, str | bytes | Mapping):
            raise RetrivexError(
                f"requests is {type(requests).__name__}: give a list of ComposeRequest(...) or mappings"
            )
        if not isinstance(max_workers, int) or max_workers < 1:
            raise RetrivexError(f"max_workers is {max_workers!r}: it must be a whole number of at least 1, in threads")
        if max_workers == 1:
            return [self._compose_one(request) for request in requests]
        with ThreadPoolExecutor(max_workers) as pool:
            return list(pool.map(self._compose_one, requests))

    def value_units(
        self,
        seed_hits: SeedHits,
        chunk_store: AnyChunkStore,
        *,
        query: str,
        query_embedding: Embedding | None = None,
        scope: Scope = None,
        **overrides: Any,
    ) -> Valued:
        """Return the candidates and what they are worth, without choosing: for fitting and for looking closely.

        Arguments as in `compose`.

        Raises
        ------
        RetrivexError
            If `query` is blank: without a question there is nothing to value units by.
        """
        if not isinstance(query, str) or not query.strip():
            raise RetrivexError(f"query is {query!r}: units are valued by the question; pass it as text")
        pipeline, access = self._start(None, seed_hits, chunk_store, None, query, query_embedding, scope, overrides)
        return _drive(pipeline.value(), access)

    def _compose_one(self, request: ComposeRequest | Mapping[str, Any]) -> BatchItem:
        try:
            if isinstance(request, ComposeRequest):
                return BatchItem(
                    self.compose(
                        request.seed_hits, request.chunk_store, request.parent_store, query=request.query,
                        query_embedding=request.query_embedding, scope=request.scope, **request.overrides,
                    ),
                    None,
                )  # fmt: skip
            if not isinstance(request, Mapping):
                raise RetrivexError(f"request is {type(request).__name__}: give a ComposeRequest(...) or a mapping")
            named = {name: value for name, value in request.items() if name != "overrides"}
            return BatchItem(self.compose(**named, **request.get("overrides", {})), None)
        except Exception as error:  # noqa: BLE001 - one bad item must not lose the others; it is handed back
            return BatchItem(None, error)

    def _start(
        self,
        style: Style | None,
        seed_hits: SeedHits,
        chunk_store: AnyChunkStore,
        parent_store: AnyParentStore | None,
        query: str | None,
        query_embedding: Embedding | None,
        scope: Scope,
        overrides: Mapping[str, Any],
    ) -> tuple[Pipeline, _Collaborators]:
        config = self.config.override(**overrides)
        if query is not None and not isinstance(query, str):
            raise RetrivexError(
                f"query is {type(query).__name__}: it must be the question as text; vectors go to query_embedding"
            )
        if parent_store is None and config.return_parents == "auto" and isinstance(chunk_store, ParentStore):
            parent_store = chunk_store
        counter, cutter, warnings = self._counter_for(config)
        access = StoreAccess(chunk_store, parent_store, scope, config.store_timeout_s, config.strict, counter.cache)
        call = Call(
            seed_hits=seed_hits,
            config=config,
            question=query,
            query_embedding=query_embedding,
            allowed=allowed_scopes(scope),
            with_parents=access.parent_store is not None,
            style=style if style is not None else Style.of(config),
            valuer=Valuer(config, query, cutter, self._words),
            counter=counter,
            signatures=self._signatures,
            warnings=list(warnings),
            rerank_scale=None if self._reranking is None else self._reranking.score_scale,
        )
        return Pipeline(call), _Collaborators(access, self._reranking)

    def _counter_for(self, config: RetrievalConfig) -> tuple[JoinCounter, UnitCutter, tuple[str, ...]]:
        """Counter and cutter with the tokenizer that a call asks for, and what there is to say about it."""
        own = self._own_tokenizer is not None and config.tokenizer == self.config.tokenizer
        name = "" if own else config.tokenizer
        known = self._counters.get(name)
        if known is None:
            tokenizer, warnings = resolve_tokenizer(self._own_tokenizer if own else config.tokenizer)
            counter = JoinCounter(TokenCache(tokenizer))
            known = self._counters[name] = (counter, UnitCutter(counter.cache), warnings)
        return known


@dataclass(frozen=True, slots=True)
class _Collaborators:
    """Whom the pipeline asks: the stores of a call, and the reranker."""

    stores: StoreAccess
    reranking: Reranking | None

    def run(self, request: Request) -> Reply:
        if not isinstance(request, RerankRequest):
            return self.stores.run(request)
        return self._asked().run(request)

    async def arun(self, request: Request) -> Reply:
        if not isinstance(request, RerankRequest):
            return await self.stores.arun(request)
        return await self._asked().arun(request)

    def _asked(self) -> Reranking:
        if self.reranking is None:
            raise TypeError("the pipeline asked for a reranker, and there is none")
        return self.reranking


_Made = TypeVar("_Made")


def _drive(steps: Generator[Request, Reply, _Made], access: _Collaborators) -> _Made:
    try:
        request = next(steps)
        while True:
            request = steps.send(access.run(request))
    except StopIteration as stop:
        made: _Made = stop.value
        return made


async def _adrive(steps: Generator[Request, Reply, _Made], access: _Collaborators) -> _Made:
    try:
        request = next(steps)
        while True:
            request = steps.send(await access.arun(request))
    except StopIteration as stop:
        made: _Made = stop.value
        return made
