"""From a question to its context in one call, over any store that can be searched."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, Protocol, runtime_checkable

from retrivex.composer import SpanComposer
from retrivex.composer.expand import NO_HITS
from retrivex.composition.composition import Citation, Composition
from retrivex.config import RetrievalConfig
from retrivex.encoders.encoder import Encoder
from retrivex.errors import ConfigError, HitError, StoreError, quoted
from retrivex.expansion.seeds import SeedHits, as_hit_lists
from retrivex.merging.intervals import merge_windows
from retrivex.model.chunk import ChunkKey, Scope
from retrivex.model.hit import DroppedHit, SeedHit
from retrivex.model.numbers import finite
from retrivex.model.question import check_questions, takes_both_names
from retrivex.model.span import Span
from retrivex.model.window import Window
from retrivex.rerank import AnyReranker, AnySentenceScorer, Reranking, SentenceScoring
from retrivex.retrieval.local import LocalRetriever
from retrivex.retrieval.originals import Originals, ScoreKind
from retrivex.stores import SQLiteStore
from retrivex.stores.access import ChunkReply, ChunkRequest, StoreAccess
from retrivex.stores.protocol import AnyChunkStore, AnyParentStore
from retrivex.timeouts import in_thread
from retrivex.tokens.cache import TokenCache
from retrivex.tokens.stored import Believed, CandidateCounts
from retrivex.tokens.tokenizer import get_tokenizer


@runtime_checkable
class Retriever(Protocol):
    """Finds hits for a question; one that also has `aretrieve` is awaited."""

    def retrieve(self, question: str, k: int = 50, scope: Scope = None) -> list[SeedHit]:
        """Return the best `k` hits that `scope` may see, best first."""


class RetriVex:
    """Asks a store for hits and composes the context of them, in one call.

    Parameters
    ----------
    store : where chunks and neighbours are: a `SQLiteStore`, one of the chunk stores of `retrivex.adapters` over a
        vector store, or, with `retriever`, any chunk store
    encoder : the model the store's vectors come from, or, for a vector store, a function from a text to its vector; a
        `SQLiteStore` is searched by words without one
    config : options of the composer
    retriever : finds the hits in place of the store's own: an object with `retrieve(question, k, scope)`
    parent_store, reranker, sentence_scorer : as in `SpanComposer`

    Raises
    ------
    StoreError
        If the store cannot be searched, and no `retriever` is given; if it needs an encoder and there is none.

    Examples
    --------
    >>> import tempfile
    >>> from retrivex import Chunk, ChunkMetadata, Document
    >>> from retrivex.stores import SQLiteStore
    >>> with tempfile.TemporaryDirectory() as folder, SQLiteStore(f"{folder}/store.db") as store:
    ...     texts = ["Bees live in hives.", "A hive has one queen.", "She lays all the eggs."]
    ...     chunks = [Chunk(text, ChunkMetadata("bees", n)) for n, text in enumerate(texts)]
    ...     written = store.put(Document("bees", " ".join(texts)), chunks)
    ...     made = RetriVex(store).ask("Who is the queen?", token_budget=100)
    >>> made.text
    '[1] Bees live in hives. A hive has one queen. She lays all the eggs.'
    """

    def __init__(
        self,
        store: AnyChunkStore,
        encoder: Encoder | Callable[[str], Any] | None = None,
        config: RetrievalConfig | None = None,
        *,
        retriever: Retriever | None = None,
        parent_store: AnyParentStore | None = None,
        reranker: AnyReranker | Reranking | None = None,
        sentence_scorer: AnySentenceScorer | SentenceScoring | None = None,
    ) -> None:
        self.composer = SpanComposer(config, reranker=reranker, sentence_scorer=sentence_scorer)
        self.store = store
        self.retriever = _retriever_of(store, encoder) if retriever is None else _checked(retriever)
        self._parents = parent_store if parent_store is not None or not isinstance(store, SQLiteStore) else store

    @takes_both_names
    def ask(
        self,
        query: str,
        *,
        sub_questions: Sequence[str] | None = None,
        k: int = 50,
        scope: Scope = None,
        where: Mapping[str, Any] | None = None,
        min_score: float | None = None,
        max_documents: int | None = None,
        max_chunks_per_document: int | None = None,
        whole_documents: int | None = None,
        **options: Any,
    ) -> Composition:
        """Return the context for a question.

        Parameters
        ----------
        query : the question
        sub_questions : retrieved for in place of the question, and passages are valued by those that their hits were
            found for; `questions` of the composition says by which. To ask the question as well, put it among them
        k : hits to ask for, for each sub-question
        scope : what the caller may see
        where : metadata that hits must have, pushed down to the store, where its retriever takes it
        min_score : least score of a hit, as its retriever gives it; the largest where `score_kind` is `distance`
        max_documents : most documents: those of the best hits
        max_chunks_per_document : most hits of one document: the best
        whole_documents : documents of at most so many tokens are shown whole, as in `SpanComposer.compose`
        **options : any field of `RetrievalConfig` but `k`, for this call

        Returns
        -------
        Composition
            What the three limits leave out is in `dropped`, with the reason `cut_off`. A hit on a derived text, such as
            a summary, shows its original (`retrivex.retrieval.originals`); where that is missing, the best hit on it is
            dropped as `no_text`.

        Raises
        ------
        ConfigError
            If a limit or an option breaks its rule.
        RetrivexError
            As of the retriever and of `SpanComposer.compose`.
        """
        limits = _Limits(min_score, max_documents, max_chunks_per_document)
        asked = self._asked(k, scope, where)
        hits: SeedHits
        if sub_questions is None:
            hits = self.retriever.retrieve(query, **asked)
        else:
            hits = {one: self.retriever.retrieve(one, **asked) for one in check_questions(sub_questions)}
        originals = self._originals(scope, options)
        shown, missing = originals.show(hits)
        kept, cut = limits.split(shown, self._kind(options))
        made = self.composer.compose(
            kept, self.store, self._parents, query=query, scope=scope, whole_documents=whole_documents, **options
        )
        return self._account(made, [*missing, *cut], originals.warnings)

    @takes_both_names
    async def aask(
        self,
        query: str,
        *,
        sub_questions: Sequence[str] | None = None,
        k: int = 50,
        scope: Scope = None,
        where: Mapping[str, Any] | None = None,
        min_score: float | None = None,
        max_documents: int | None = None,
        max_chunks_per_document: int | None = None,
        whole_documents: int | None = None,
        **options: Any,
    ) -> Composition:
        """Do the same as `ask`, awaiting retriever and store; those that cannot be awaited run in a thread."""
        limits = _Limits(min_score, max_documents, max_chunks_per_document)
        asked = self._asked(k, scope, where)
        awaited = getattr(self.retriever, "aretrieve", None)

        async def retrieve(question: str) -> list[SeedHit]:
            if awaited is None:
                return await in_thread(lambda: self.retriever.retrieve(question, **asked))
            found: list[SeedHit] = await awaited(question, **asked)
            return found

        hits: SeedHits
        if sub_questions is None:
            hits = await retrieve(query)
        else:
            each = check_questions(sub_questions)
            hits = dict(zip(each, await asyncio.gather(*map(retrieve, each)), strict=True))
        originals = self._originals(scope, options)
        shown, missing = await originals.ashow(hits)
        kept, cut = limits.split(shown, self._kind(options))
        made = await self.composer.acompose(
            kept, self.store, self._parents, query=query, scope=scope, whole_documents=whole_documents, **options
        )
        return self._account(made, [*missing, *cut], originals.warnings)

    def around(
        self, place: Citation | Span | ChunkKey, before: int = 1, after: int = 1, *, scope: Scope = None
    ) -> Span | None:
        """Return what stands around a citation, a span or a chunk, as one passage.

        Parameters
        ----------
        place : a citation of a composition, a span, or `(doc_id, chunk_id)`
        before, after : chunks to show on each side, as far as the document goes on without a gap
        scope : what the caller may see

        Returns
        -------
        Span | None
            With the chunks and offsets that are shown; None where the store has no such chunk for this caller.

        Raises
        ------
        ConfigError
            If `before` or `after` is no whole number from 0 to 10,000.
        StoreError
            If `place` is none of the three, or the store fails.
        """
        keys = _keys_of(place)
        windows = merge_windows(Window(doc_id, n, n + 1) for doc_id, n in keys)
        own = self.composer.config
        tokenizer = get_tokenizer(own.tokenizer)
        counts = CandidateCounts(TokenCache(tokenizer), Believed(1))
        access = StoreAccess(self.store, None, scope, own.store_timeout_s, True, counts)
        reply = access.run(ChunkRequest(tuple(windows)))
        assert isinstance(reply, ChunkReply)
        config = RetrievalConfig(window=(before, after), store_timeout_s=own.store_timeout_s, **_WHOLE)
        seeds = [SeedHit(chunk, 1.0) for chunk in reply.chunks.values()]
        made = SpanComposer(config, tokenizer=tokenizer).compose(seeds, self.store, scope=scope)
        return next((span for span in made.spans if keys & {(span.doc_id, n) for n in span.chunk_ids}), None)

    def _asked(self, k: int, scope: Scope, where: Mapping[str, Any] | None) -> dict[str, Any]:
        if where is None:
            return {"k": k, "scope": scope}
        if "where" not in signature(self.retriever.retrieve).parameters:
            raise StoreError(
                f"where is {quoted(where)}: {type(self.retriever).__name__} takes none; leave it out, or give a "
                "retriever=... that filters"
            )
        return {"k": k, "scope": scope, "where": where}

    def _originals(self, scope: Scope, options: Mapping[str, Any]) -> Originals:
        timeout_s = options.get("store_timeout_s", self.composer.config.store_timeout_s)
        kind: ScoreKind = "distance" if self._kind(options) == "distance" else "similarity"
        return Originals(self.store, scope, score_kind=kind, timeout_s=timeout_s)

    def _kind(self, options: Mapping[str, Any]) -> str:
        return str(options.get("score_kind", self.composer.config.score_kind))

    def _account(self, made: Composition, cut: Sequence[DroppedHit], more: Sequence[str]) -> Composition:
        said = dict.fromkeys((*getattr(self.retriever, "warnings", ()), *more, *made.warnings))
        if cut and NO_HITS in said:
            del said[NO_HITS]
            limited = [hit for hit in cut if hit.reason == "cut_off"]
            if limited:
                said[f"all {len(limited)} hits are beyond the limits, first: {limited[0].detail}; loosen them"] = None
        missing = [hit for hit in cut if hit.reason == "no_text"]
        if missing:
            count = len(missing)
            said[f"hits on derived texts are left out for {count} missing originals, first: {missing[0].detail}"] = None
        if not cut and len(said) == len(made.warnings):
            return made
        return replace(made, dropped=(*made.dropped, *cut), warnings=tuple(said))


_WHOLE: Mapping[str, Any] = {
    "token_budget": 10**9,
    "scoring": "weighted",
    "stop_on_heading_change": False,
    "strict": True,
}
"""Options that show everything around a place."""


def _keys_of(place: Any) -> set[ChunkKey]:
    if isinstance(place, Span):
        return {(place.doc_id, n) for n in place.chunk_ids}
    if isinstance(place, Citation):
        return {(place.doc_id, place.chunk_id)}
    if isinstance(place, tuple) and len(place) == 2 and isinstance(place[0], str) and type(place[1]) is int:
        return {(place[0], place[1])}
    raise StoreError(f"place is {quoted(place)}: give a Citation, a Span or (doc_id, chunk_id)")


def _retriever_of(store: Any, encoder: Any) -> Retriever:
    if isinstance(store, SQLiteStore):
        return LocalRetriever(store, encoder)
    make = getattr(store, "retriever", None)
    name = type(store).__name__
    if not callable(make):
        raise StoreError(
            f"store is {name}, which cannot be searched: give a SQLiteStore, a chunk store of retrivex.adapters over a "
            "vector store, or retriever=..., an object with retrieve(question, k, scope)"
        )
    if encoder is None:
        raise StoreError(f"encoder is None: {name} is searched by vectors; give the model that they come from")
    made: Retriever = make(encoder)
    return made


def _checked(retriever: Any) -> Retriever:
    if not isinstance(retriever, Retriever):
        raise StoreError(f"retriever is {type(retriever).__name__}: it must have retrieve(question, k, scope)")
    return retriever


@dataclass(frozen=True, slots=True)
class _Limits:
    """What a hit needs to be looked at."""

    min_score: float | None
    max_documents: int | None
    max_chunks_per_document: int | None

    def __post_init__(self) -> None:
        for name in ("max_documents", "max_chunks_per_document"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise ConfigError(f"{name} is {value!r}: it must be a whole number of at least 1, or None")
        if self.min_score is not None and finite(self.min_score) is None:
            raise ConfigError(f"min_score is {self.min_score!r}: it must be a finite number, or None")

    def split(self, given: SeedHits, kind: str) -> tuple[SeedHits, list[DroppedHit]]:
        """Return hits within the limits and those beyond, each in the order given.

        Raises
        ------
        HitError
            If there are limits, and several hit lists or something that is no hit.
        """
        if self == _Limits(None, None, None):
            return given, []
        lists = as_hit_lists(given)
        if len(lists) > 1 and not isinstance(given, Mapping):
            raise HitError(f"{len(lists)} hit lists and a limit on hits: make them one list with fuse(lists)")
        sign = -1 if kind == "distance" else 1
        chunks: Counter[str] = Counter()
        kept: set[ChunkKey] = set()
        cut: dict[ChunkKey, DroppedHit] = {}
        left: set[tuple[int, int]] = set()
        places = [(number, at) for number, hits in enumerate(lists) for at in range(len(hits))]
        for number, at in sorted(places, key=lambda place: -sign * lists[place[0]][place[1]].similarity_score):
            hit = lists[number][at]
            why = self._why(hit, {} if hit.key in kept else chunks, sign)
            if why is None:
                chunks[hit.key[0]] += hit.key not in kept
                kept.add(hit.key)
            else:
                left.add((number, at))
                cut.setdefault(hit.key, DroppedHit(*hit.key, hit.similarity_score, "cut_off", why))
        rest = [[hit for at, hit in enumerate(hits) if (n, at) not in left] for n, hits in enumerate(lists)]
        dropped = [cut[key] for key in dict.fromkeys(lists[n][at].key for n, at in places) if key in cut.keys() - kept]
        return dict(zip(given, rest, strict=True)) if isinstance(given, Mapping) else rest[0], dropped

    def _why(self, hit: SeedHit, chunks: Mapping[str, int], sign: int) -> str | None:
        doc_id = hit.key[0]
        if self.min_score is not None and sign * hit.similarity_score < sign * self.min_score:
            return f"its score is worse than min_score={self.min_score:g}"
        if self.max_documents is not None and doc_id not in chunks and len(chunks) >= self.max_documents:
            return f"max_documents={self.max_documents} other documents have better hits"
        most = self.max_chunks_per_document
        if most is not None and chunks.get(doc_id, 0) >= most:
            return f"max_chunks_per_document={most} hits of its document are better"
        return None
