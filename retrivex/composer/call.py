"""One call of the composer: what the caller asks for, checked, and the resources that all its steps use."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, TypeAlias, TypeVar

from retrivex.composition.trace import Log
from retrivex.config import RetrievalConfig
from retrivex.errors import ConfigError, RetrivexError, quoted
from retrivex.expansion.seeds import SeedHits, questions_of
from retrivex.merging.cutter import UnitCutter
from retrivex.model.chunk import Embedding, Scope, allowed_scopes
from retrivex.model.options import closest_name
from retrivex.model.question import name_question
from retrivex.rendering.render import Style
from retrivex.rerank.calling import RerankReply, RerankRequest
from retrivex.rerank.protocol import ScoreScale
from retrivex.rerank.sentences import SentenceReply, SentenceRequest
from retrivex.scoring.scorer import Scorer
from retrivex.scoring.term_index import TermIndexer
from retrivex.stores.access import ChunkReply, ChunkRequest, ParentReply, ParentRequest, StoreAccess
from retrivex.stores.protocol import AnyChunkStore, AnyParentStore, ParentStore
from retrivex.text.word_overlap import SignatureCache
from retrivex.tokens.cache import TokenCache
from retrivex.tokens.stored import Believed, CandidateCounts
from retrivex.tokens.tokenizer import TokenizerSpec, resolve_tokenizer

T = TypeVar("T")

Request: TypeAlias = ChunkRequest | ParentRequest | RerankRequest | SentenceRequest
Reply: TypeAlias = ChunkReply | ParentReply | RerankReply | SentenceReply
Steps: TypeAlias = Generator[Request, Reply, T]
"""Yields requests to stores and models and is sent their replies, so that sync and async run the same code."""


@dataclass(frozen=True, slots=True)
class ComposeRequest:
    """One question and its hits; fields as the arguments of `SpanComposer.compose`."""

    seed_hits: SeedHits
    chunk_store: AnyChunkStore
    parent_store: AnyParentStore | None = None
    query: str | None = None
    query_embedding: Embedding | None = None
    scope: Scope = None
    whole_documents: int | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)


_ARGUMENTS = tuple(argument.name for argument in fields(ComposeRequest) if argument.name != "overrides")
_ALSO_CALLED = {"question": "query", "hits": "seed_hits", "store": "chunk_store"}


@dataclass(frozen=True, slots=True)
class Call:
    """What a caller asks for, and what the composer provides for it.

    Parameters
    ----------
    seed_hits : as the caller gave them
    config : overrides applied
    question : None where the caller gave none
    query_embedding : shape (d,); None where the caller gave none
    allowed : scopes the caller may see
    with_parents : whether there is a store that can be asked for parents
    style : how the context is rendered
    scorer : scores candidates
    counter : token counts of texts and of joined texts, all made by the tokenizer itself
    candidate_counts : token counts to choose by, some of which the store made at index time
    signatures : word signatures
    log : records steps and warnings
    rerank_scale : range of the reranker's scores; None without a reranker
    with_sentences : whether there is a sentence scorer that can be asked
    whole_documents : most tokens of documents that are shown whole; None shows none for its length
    scorers : of each hit list, by its own question; empty where the lists have none
    """

    seed_hits: SeedHits
    config: RetrievalConfig
    question: str | None
    query_embedding: Embedding | None
    allowed: frozenset[str | None]
    with_parents: bool
    style: Style
    scorer: Scorer
    counter: TokenCache
    candidate_counts: CandidateCounts
    signatures: SignatureCache
    log: Log
    rerank_scale: ScoreScale | None = None
    with_sentences: bool = False
    whole_documents: int | None = None
    scorers: tuple[Scorer, ...] = ()


class Counters(NamedTuple):
    """What counts with one tokenizer, shared by all calls: caches, and the warnings about the tokenizer."""

    counter: TokenCache
    believed: Believed
    warnings: tuple[str, ...]


class Resources:
    """Tokenizers, caches and the term index that all calls of a composer share.

    Parameters
    ----------
    config : the composer's
    tokenizer : takes the place of `config.tokenizer`
    """

    def __init__(self, config: RetrievalConfig, tokenizer: TokenizerSpec) -> None:
        self.config = config
        self.signatures = SignatureCache()
        self.words = TermIndexer()
        self.cutter = UnitCutter()
        self._tokenizer = tokenizer
        self._counters: dict[str, Counters] = {}

    def counters_for(self, config: RetrievalConfig) -> Counters:
        """Return what counts with the tokenizer that a call asks for."""
        own = self._tokenizer is not None and config.tokenizer == self.config.tokenizer
        name = "" if own else config.tokenizer
        known = self._counters.get(name)
        if known is None:
            tokenizer, warnings = resolve_tokenizer(self._tokenizer if own else config.tokenizer)
            counter = TokenCache(tokenizer)
            believed = Believed(counter.max_chars, len)
            known = self._counters[name] = Counters(counter, believed, warnings)
        return known


def _refuse_misspelt_arguments(overrides: Mapping[str, Any]) -> None:
    """Refuse a name that is nearer to an argument than to an option; what else is unknown, the config refuses."""
    for name in overrides:
        if name in RetrievalConfig.model_fields:
            continue
        near = closest_name(name, (*_ARGUMENTS, *_ALSO_CALLED, *RetrievalConfig.model_fields))
        meant = _ALSO_CALLED.get(near or "", near)
        if meant in _ARGUMENTS:
            raise ConfigError(f"{name}: there is no such argument; did you mean {meant}?")


def check_whole(tokens: Any, budget: int) -> int | None:
    """Return the most tokens of documents that are shown whole, those of the budget at most.

    Raises
    ------
    ConfigError
        If it is no whole number of at least 1, nor None.
    """
    if tokens is not None and (isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 1):
        raise ConfigError(f"whole_documents is {quoted(tokens)}: it must be a number of tokens from 1 on, or None")
    return None if tokens is None else min(tokens, budget)


def make_call(
    asked: ComposeRequest,
    resources: Resources,
    style: Style | None,
    rerank_scale: ScoreScale | None,
    with_sentences: bool,
) -> tuple[Call, StoreAccess]:
    """Check what a caller asks for; return the call and the access to its stores.

    Parameters
    ----------
    asked : what the caller passed
    resources : of the composer
    style : how the context is rendered; None for what the config says
    rerank_scale : range of the reranker's scores; None without a reranker
    with_sentences : whether there is a sentence scorer

    Raises
    ------
    ConfigError
        If an override is no option, or breaks its rule.
    RetrivexError
        If an argument is of the wrong kind.
    """
    if "question" in asked.overrides:
        named = name_question({"query": asked.query, **asked.overrides}, "query")
        asked = replace(asked, query=named.pop("query"), overrides=named)
    _refuse_misspelt_arguments(asked.overrides)
    config, query = resources.config.override(**asked.overrides), asked.query
    if query is not None and not isinstance(query, str):
        raise RetrivexError(
            f"query is {type(query).__name__}: it must be the question as text; vectors go to query_embedding"
        )
    questions = questions_of(asked.seed_hits)
    if query is None and questions:
        query = " ".join(questions)
    whole = check_whole(asked.whole_documents, config.token_budget)
    chunk_store, parent_store = asked.chunk_store, asked.parent_store
    if parent_store is None and config.return_parents != "never" and isinstance(chunk_store, ParentStore):
        parent_store = chunk_store
    counter, believed, warnings = resources.counters_for(config)
    counts = CandidateCounts(counter, believed)
    access = StoreAccess(chunk_store, parent_store, asked.scope, config.store_timeout_s, config.strict, counts)

    def scorer(question: str | None) -> Scorer:
        made = Scorer(config, question, resources.cutter, resources.words, counts)
        # all are cut alike, or what they say of units could not be compared
        made.values_all = whole is not None or bool(questions)
        return made

    call = Call(
        seed_hits=asked.seed_hits,
        config=config,
        question=query,
        query_embedding=asked.query_embedding,
        allowed=allowed_scopes(asked.scope),
        with_parents=access.parent_store is not None,
        style=style if style is not None else Style.of(config),
        scorer=scorer(query),
        counter=counter,
        candidate_counts=counts,
        signatures=resources.signatures,
        log=Log(warnings),
        rerank_scale=rerank_scale,
        with_sentences=with_sentences,
        whole_documents=whole,
        scorers=tuple(map(scorer, questions)),
    )
    return call, access
