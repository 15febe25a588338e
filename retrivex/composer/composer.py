"""SpanComposer: hits and a chunk store in, the best context for the token budget out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Never

from retrivex.composer.answer import compose_answer
from retrivex.composer.batch import BatchItem, compose_all
from retrivex.composer.budget_fit import fit_to_budget
from retrivex.composer.call import Call, ComposeRequest, Resources, Steps, make_call
from retrivex.composer.drive import Begun, Services, adrive, drive
from retrivex.composer.expand import expand
from retrivex.composer.fetch import fetch_parents
from retrivex.composer.pinned import Pinned, pin_passages, without_pins
from retrivex.composer.score import ScoredCandidates, make_candidates, score
from retrivex.composer.sentences import score_sentences
from retrivex.composer.tracing import open_span, set_result, step_spans
from retrivex.composition.composition import Composition
from retrivex.config import RetrievalConfig, check_config, refuse_unknown
from retrivex.errors import RetrivexError
from retrivex.expansion.seeds import SeedHits
from retrivex.merging.runs import merge
from retrivex.model.chunk import Embedding, Scope
from retrivex.model.question import takes_both_names
from retrivex.model.span import Span
from retrivex.model.window import Window
from retrivex.rendering.render import BARE, Style
from retrivex.rerank.calling import Reranking
from retrivex.rerank.protocol import AnyReranker, AnySentenceScorer
from retrivex.rerank.sentences import SentenceScoring
from retrivex.stores.protocol import AnyChunkStore, AnyParentStore
from retrivex.tokens.tokenizer import TokenizerSpec

_ARGUMENTS = ("config", "tokenizer", "reranker", "sentence_scorer")


def compose_steps(call: Call) -> Steps[Composition]:
    """Expand, merge, score, select, order, render: the whole of a call.

    Selecting, ordering and rendering take turns in `fit_to_budget`, until the rendered text keeps the budget.
    """
    pinned = pin_passages(call)
    scored = yield from score_steps(call, pinned)
    candidates = make_candidates(call, pinned, scored)
    call.log.mark("score", sum(map(len, scored.runs)), len(candidates.pieces))
    parents = yield from fetch_parents(call, scored.expanded.seeds, scored.runs)
    fitted = fit_to_budget(call, pinned, scored, candidates, parents)
    return compose_answer(call, scored, fitted)


def score_steps(call: Call, pinned: Pinned) -> Steps[ScoredCandidates]:
    """Expand, merge, score: from the hits to the values of all candidates."""
    expanded = yield from expand(call)
    windows = expanded.expansion.windows + [Window(doc_id, at, at + 1) for doc_id, at in expanded.linked]
    runs, warnings = merge(windows, expanded.found, call.config)
    call.log.warnings += warnings
    call.log.mark("merge", len(windows), len(runs))
    sentences = yield from score_sentences(call, expanded.seeds, runs)
    return score(call, pinned, expanded, runs, sentences)


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
    sentence_scorer : says how probable it is that each sentence of the best hits helps: an object with
        `score_sentences(question, text)`, a function of the two, or a `SentenceScoring`, which says how it is asked.
        The calibrated scorer adds it to what it knows; where it fails, the context is made without, with a warning

    Raises
    ------
    ConfigError
        If `config` is no RetrievalConfig, or an argument does not exist.
    RerankError
        If `reranker` is nothing that can score texts, or `sentence_scorer` nothing that can score sentences.
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
        sentence_scorer: AnySentenceScorer | SentenceScoring | None = None,
        **unknown: Never,
    ) -> None:
        refuse_unknown("SpanComposer", _ARGUMENTS, unknown)
        self.config = check_config(config)
        self._reranking = None if reranker is None else Reranking.of(reranker)
        self._sentence_scoring = None if sentence_scorer is None else SentenceScoring.of(sentence_scorer)
        self._resources = Resources(self.config, tokenizer)
        self._resources.counters_for(self.config)

    @property
    def tokenizer_name(self) -> str:
        """Name of the tokenizer that counts for calls without one of their own, as stored counts have it."""
        return self._resources.counters_for(self.config).counter.name

    def compose(
        self,
        seed_hits: SeedHits,
        chunk_store: AnyChunkStore,
        parent_store: AnyParentStore | None = None,
        *,
        query: str | None = None,
        query_embedding: Embedding | None = None,
        scope: Scope = None,
        whole_documents: int | None = None,
        **overrides: Any,
    ) -> Composition:
        """Return the context as text, with its spans, citations and trace.

        Parameters
        ----------
        seed_hits : what the retriever found, as SeedHits; or one list for each query
        chunk_store : source of neighbours: `{(doc_id, chunk_id): Chunk}`, or anything with `fetch(windows, scope)`
        parent_store : `{parent_id: text or Chunk}`, or anything with `fetch_parents(ids, scope)`
        query : the question; the calibrated scorer needs it. `question=` means the same, in every call
        query_embedding : shape (d,), of the same model as the chunks' embeddings
        scope : what the caller may see, see `ChunkMetadata.scope`
        whole_documents : documents of at most so many tokens are shown whole, where any of them would be shown, as far
            as the budget allows; `trace.selection["whole_documents"]` says which are. None: none for its length
        **overrides : any field of `RetrievalConfig`, for this call: `token_budget=500`, `window=1`, `max_spans=3`,
            `min_value=0.1`, ...; `RetrievalConfig.option_groups()` lists all

        Raises
        ------
        ConfigError
            If an override is no option, or breaks its rule.
        RetrivexError
            If an argument is of the wrong kind; with `strict=True` also for a bad hit or a failing store.
        """
        asked = ComposeRequest(
            seed_hits, chunk_store, parent_store, query, query_embedding, scope, whole_documents, overrides
        )
        return self._compose(asked)

    def retrieve(
        self,
        seed_hits: SeedHits,
        chunk_store: AnyChunkStore,
        parent_store: AnyParentStore | None = None,
        *,
        query: str | None = None,
        query_embedding: Embedding | None = None,
        scope: Scope = None,
        whole_documents: int | None = None,
        **overrides: Any,
    ) -> list[Span]:
        """Return the best spans, in reading order; joined by blank lines they keep the token budget.

        Arguments and errors as in `compose`.
        """
        asked = ComposeRequest(
            seed_hits, chunk_store, parent_store, query, query_embedding, scope, whole_documents, overrides
        )
        return list(self._compose(asked, BARE).spans)

    async def aretrieve(
        self,
        seed_hits: SeedHits,
        chunk_store: AnyChunkStore,
        parent_store: AnyParentStore | None = None,
        *,
        query: str | None = None,
        query_embedding: Embedding | None = None,
        scope: Scope = None,
        whole_documents: int | None = None,
        **overrides: Any,
    ) -> list[Span]:
        """`retrieve` for event loops: stores are awaited (`afetch`), or asked in a thread.

        Arguments and errors as in `compose`.
        """
        asked = ComposeRequest(
            seed_hits, chunk_store, parent_store, query, query_embedding, scope, whole_documents, overrides
        )
        return list((await self._acompose(asked, BARE)).spans)

    async def acompose(
        self,
        seed_hits: SeedHits,
        chunk_store: AnyChunkStore,
        parent_store: AnyParentStore | None = None,
        *,
        query: str | None = None,
        query_embedding: Embedding | None = None,
        scope: Scope = None,
        whole_documents: int | None = None,
        **overrides: Any,
    ) -> Composition:
        """`compose` for event loops: stores are awaited (`afetch`), or asked in a thread.

        Arguments and errors as in `compose`.
        """
        asked = ComposeRequest(
            seed_hits, chunk_store, parent_store, query, query_embedding, scope, whole_documents, overrides
        )
        return await self._acompose(asked)

    def compose_batch(
        self, requests: Iterable[ComposeRequest | Mapping[str, Any]], *, max_workers: int = 1
    ) -> list[BatchItem]:
        """Compose many; same order out, and an error belongs to its item.

        Parameters
        ----------
        requests : ComposeRequests, or mappings with the arguments of `compose`; options may also stand under
            `overrides`, as in a ComposeRequest
        max_workers : threads; more than one pays where stores are waited for

        Raises
        ------
        RetrivexError
            If `requests` is no list of them, or `max_workers` no whole number of at least 1.
        """
        return compose_all(self.compose, requests, max_workers)

    def begin(self, asked: ComposeRequest) -> Begun[Composition]:
        """Run `compose` up to what it first asks the chunk store for; `finish()` of what this returns does the rest.

        Many calls begun, and their windows fetched together, are few requests where `compose` in a loop sends one each.

        Raises
        ------
        RetrivexError
            As in `compose`.
        """
        call, services = self._start(asked)
        return Begun(compose_steps(call), services)

    @takes_both_names
    def value_units(
        self,
        seed_hits: SeedHits,
        chunk_store: AnyChunkStore,
        *,
        query: str,
        query_embedding: Embedding | None = None,
        scope: Scope = None,
        **overrides: Any,
    ) -> ScoredCandidates:
        """Return the candidates and their scores, without choosing: for fitting and for looking closely.

        Arguments as in `compose`.

        Raises
        ------
        RetrivexError
            If `query` is blank: without a question there is nothing to value units by.
        """
        if not isinstance(query, str) or not query.strip():
            raise RetrivexError(f"query is {query!r}: units are valued by the question; pass it as text")
        asked = ComposeRequest(seed_hits, chunk_store, None, query, query_embedding, scope, None, overrides)
        call, services = self._start(asked)
        call.scorer.values_all = True
        return drive(score_steps(call, without_pins(call)), services)

    def _compose(self, asked: ComposeRequest, style: Style | None = None) -> Composition:
        with open_span("retrivex.compose") as span:
            call, services = self._start(asked, style)
            with step_spans(span, call.log):
                made = drive(compose_steps(call), services, span)
            return set_result(span, made)

    async def _acompose(self, asked: ComposeRequest, style: Style | None = None) -> Composition:
        with open_span("retrivex.compose") as span:
            call, services = self._start(asked, style)
            with step_spans(span, call.log):
                made = await adrive(compose_steps(call), services, span)
            return set_result(span, made)

    def _start(self, asked: ComposeRequest, style: Style | None = None) -> tuple[Call, Services]:
        scale = None if self._reranking is None else self._reranking.score_scale
        call, stores = make_call(asked, self._resources, style, scale, self._sentence_scoring is not None)
        return call, Services(stores, self._reranking, self._sentence_scoring)


def _describe_arguments() -> None:
    """Say in the help of its siblings what the arguments of `compose` are: they are written down once."""
    _, mark, arguments = (SpanComposer.compose.__doc__ or "").partition("        Parameters\n")
    for method in (SpanComposer.retrieve, SpanComposer.aretrieve, SpanComposer.acompose):
        if method.__doc__ and mark:  # no docstrings under python -OO
            method.__doc__ = method.__doc__.replace(
                "        Arguments and errors as in `compose`.\n", mark + arguments.rstrip(" ")
            )


_describe_arguments()
