"""One query, step by step: seeds, fetch, expand, merge, score, select, order, render.

Written as a generator that yields its requests to the stores and is sent the replies, so that the sync and the async
composer run the very same steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from retrivex.composer.budget_fit import Call, Writer, affordable
from retrivex.composer.explain import Account, citations_of, coverage_of, unit_notes
from retrivex.composer.rerank import rerank, reranked
from retrivex.composer.spans import SpanScorer, pin
from retrivex.composition.composition import Composition
from retrivex.composition.trace import Log, Trace
from retrivex.errors import HitError, RetrivexError
from retrivex.expansion.links import follow
from retrivex.expansion.seeds import Seed, as_hit_lists, prepare_seeds, scope_detail
from retrivex.expansion.windows import Expansion, grow, plan_windows, widened_reach
from retrivex.merging.exclusions import Exclusions
from retrivex.merging.intervals import merge_windows
from retrivex.merging.parents import PlacedParent, place_parent, sibling_window, with_children
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.hit import DroppedHit
from retrivex.model.run import SURE_GAP, Gap, Run, stitch
from retrivex.model.span import Span
from retrivex.model.window import Window
from retrivex.rerank.calling import RerankReply, RerankRequest
from retrivex.scoring.cosine import cosines
from retrivex.scoring.diversity import discounted
from retrivex.scoring.knn_fallback import Room
from retrivex.scoring.scorer import Valuation
from retrivex.selection.candidates import MIN_REPEATED, build_candidates
from retrivex.stores.access import ChunkReply, ChunkRequest, ParentReply, ParentRequest

Request: TypeAlias = ChunkRequest | ParentRequest | RerankRequest
Reply: TypeAlias = ChunkReply | ParentReply | RerankReply


@dataclass(frozen=True, slots=True)
class Valued:
    """The candidates of a call, from the hits up to their values.

    Parameters
    ----------
    seeds, dropped : hits that are used, best first, and those that are not
    found : chunks by key, as they were used
    out_of_scope : chunks that the store holds but the caller may not see
    expansion : what the seeds grew to
    linked : strength of chunks that links reach
    links : the links, from chunk to chunk
    runs : candidates
    similarity : cosine of chunks with the question, where it is known
    valuation : what the candidates are worth
    """

    seeds: list[Seed]
    dropped: list[DroppedHit]
    found: dict[ChunkKey, Chunk]
    out_of_scope: list[ChunkKey]
    expansion: Expansion
    linked: dict[ChunkKey, float]
    links: list[tuple[ChunkKey, ChunkKey]]
    runs: list[Run]
    similarity: dict[ChunkKey, float]
    valuation: Valuation


class Pipeline:
    """Runs one call; used once."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.config = call.config
        self.log = Log(call.warnings)
        self.exclusions = Exclusions.of(call.config.exclude)
        self.left = call.config.token_budget  # beside what is pinned
        self.is_told_all = True  # by the chunk store

    def run(self) -> Generator[Request, Reply, Composition]:
        """Yield requests, be sent replies, return the composition."""
        call, config = self.call, self.config
        pinned, exclusions = self._pin(), self.exclusions
        valued = yield from self.value()
        seeds, expansion, runs, valuation = valued.seeds, valued.expansion, valued.runs, valued.valuation
        build = partial(build_candidates, runs, valuation, exclusions, call.counter.cache, call.style, config)
        candidates = build()
        self.log.mark("score", sum(map(len, runs)), len(candidates.pieces))
        parents = yield from self._fetch_parents(seeds, runs, valued.out_of_scope)
        scorer = SpanScorer.of(seeds, expansion.continuity, parents, config, valuation.scorer)
        writer = Writer(call, self.log, runs, candidates, build, scorer, pinned, self._list_values(valued), exclusions)
        layout = writer.write()
        account = Account(
            seeds, valued.found, valued.dropped, expansion, valued.linked, runs, valuation, writer.candidates,
            layout.spans, layout.swaps, config,
        )  # fmt: skip
        spans = tuple(layout.spans)
        trace = Trace(
            steps=tuple(self.log.steps),
            requests=self.log.requests,
            windows=tuple(expansion.windows),
            links=tuple(valued.links),
            scorer=valuation.scorer,
            selection=self.log.selection,
            order=layout.order,
            make_notes=account.notes,
            make_unit_notes=partial(unit_notes, runs, valuation, spans),
        )
        return Composition(
            text=layout.rendered.text,
            spans=spans,
            tokens=layout.tokens,
            token_budget=config.token_budget,
            tokenizer=call.counter.cache.name,
            question=call.question,
            citations=partial(citations_of, spans, layout.rendered),
            coverage=partial(coverage_of, spans, seeds),
            dropped=partial(account.dropped, layout.tokens),
            warnings=tuple(dict.fromkeys(self.log.warnings)),
            confidence=valuation.confidence,
            trace=trace,
            style=call.style,
            counter=call.counter.cache.tokenizer,
        )

    def value(self) -> Generator[Request, Reply, Valued]:
        """Yield requests, be sent replies, return the candidates and what they are worth."""
        call, config = self.call, self.config
        seeds, dropped = yield from self._seeds()
        if not seeds and not dropped:
            self.log.warn("no hits were given: there is nothing to choose from; see what the retriever found")
        self.log.mark("seeds", len(seeds) + len(dropped), len(seeds))
        reach = self._reach(seeds)
        planned = plan_windows(seeds, config, reach)
        merged = merge_windows(planned)
        found, out_of_scope, ends = yield from self._fetch(seeds, planned, merged)
        if out_of_scope:
            seeds, planned = self._without(seeds, planned, out_of_scope, dropped)
            merged = merge_windows(planned)
        expansion = grow(seeds, planned, merged, found, config, reach, call.signatures, out_of_scope, ends)
        if call.valuer.model is None:  # the weighted scorer asks for the continuity of every chunk
            expansion.continuity = dict(expansion.continuity)
        self._warn_of(expansion)
        linked, links = yield from self._follow_links(seeds, found, expansion)
        self.log.mark("expand", len(seeds), sum(map(len, expansion.windows)))
        runs = self._merge(expansion, linked, found)
        similarity = self._similarity(runs)
        valuation = self._valuation(runs, seeds, linked, expansion, similarity)
        return Valued(seeds, dropped, found, out_of_scope, expansion, linked, links, runs, similarity, valuation)

    def _pin(self) -> list[Span]:
        """Return the pinned spans that fit, which take of the budget and are not shown again."""
        pinned, problems = pin(self.config.pinned, self.call.allowed, self.call.counter.cache)
        self.log.warnings += problems
        pinned = affordable(pinned, self.call, self.log)
        for span in pinned:
            self.exclusions.add(span)
            self.left -= span.token_count
        return pinned

    def _seeds(self) -> Generator[Request, Reply, tuple[list[Seed], list[DroppedHit]]]:
        """Hits as they may grow, reranked where there is a reranker: it reads all of them, whatever `k` is."""
        call, config = self.call, self.config
        if call.rerank_scale is None:
            return prepare_seeds(call.seed_hits, config, call.allowed)
        lists = as_hit_lists(call.seed_hits)
        seeds, dropped = prepare_seeds(lists, config.override(k=None), call.allowed)
        scores = yield from rerank(seeds, call.question, self.log, config.strict)
        if scores is None:
            return prepare_seeds(lists, config, call.allowed)
        kept, beyond = reranked(seeds, scores.tolist(), call.rerank_scale, config)
        return kept, dropped + beyond

    def _reach(self, seeds: Sequence[Seed]) -> tuple[int, int]:
        """Return how many neighbours a seed gets: more where the calibrated scorer had too little to choose from."""
        if self.call.valuer.model is None:  # the weighted scorer pays for every neighbour
            return self.config.reach
        return widened_reach(seeds, self.config, self.call.counter.cache.count_many)

    # ---- what the stores know

    def _fetch(
        self, seeds: Sequence[Seed], planned: Sequence[Window], merged: Sequence[Window]
    ) -> Generator[Request, Reply, tuple[dict[ChunkKey, Chunk], list[ChunkKey], Collection[ChunkKey]]]:
        """Fetch all planned windows, merged, in one request; seeds stand in for what the store does not have."""
        placed = [seed for seed in seeds if seed.unplaced is None]
        found: dict[ChunkKey, Chunk] = {}
        windows = merged
        if len(placed) < len(seeds):
            found = {seed.key: seed.chunk for seed in seeds if seed.unplaced is not None}
            self._warn_of_unplaced(seeds)
            windows = merge_windows([w for seed, w in zip(seeds, planned, strict=True) if seed.unplaced is None])
        if not placed:
            return found, [], ()
        reply = yield ChunkRequest(tuple(windows))
        if not isinstance(reply, ChunkReply):
            raise TypeError(f"a chunk request was answered by {type(reply).__name__}")
        self.log.requests += reply.requests
        self.log.mark("fetch", len(windows), len(reply.chunks))
        if reply.problem:
            self.is_told_all = False
            self.log.warn(reply.problem)
        if reply.conflicts:
            self._complain(sorted(reply.conflicts), "are in the chunk store with several texts; one of them is used")
        found |= reply.chunks
        hidden = set(reply.out_of_scope)
        unlike = [seed for seed in placed if found.get(seed.key) is not seed.chunk]  # most stores give what was hit
        absent = [seed for seed in unlike if seed.key not in hidden and not self._reconcile(seed, found)]
        if absent and not reply.problem:
            self._complain([seed.key for seed in absent], "not in the chunk store; used as the retriever gave them")
        return found, reply.out_of_scope, reply.ends

    def _without(
        self,
        seeds: Sequence[Seed],
        planned: Sequence[Window],
        out_of_scope: Sequence[ChunkKey],
        dropped: list[DroppedHit],
    ) -> tuple[list[Seed], list[Window]]:
        """Leave out seeds that the store says belong to another scope, whatever the retriever says."""
        hidden = set(out_of_scope)
        for seed in seeds:
            if seed.key in hidden:
                detail = scope_detail(seed.key, "of the store")
                if self.config.strict:
                    raise HitError(detail)
                dropped.append(DroppedHit(*seed.key, seed.score, "scope", detail))
        pairs = [(s, w) for s, w in zip(seeds, planned, strict=True) if s.key not in hidden]
        return [s for s, _ in pairs], [w for _, w in pairs]

    def _reconcile(self, seed: Seed, found: dict[ChunkKey, Chunk]) -> bool:
        """Put the seed among the found chunks; return whether the store had it.

        The store's text wins where the two differ, because it is the one that its neighbours fit to.
        """
        stored = found.get(seed.key)
        if stored is None:
            found[seed.key] = seed.chunk
            return False
        if stored.text != seed.chunk.text:
            self._complain([seed.key], "have another text in the chunk store than in the hit; the store's is used")
        elif stored.embedding is None and seed.chunk.embedding is not None:
            found[seed.key] = Chunk(stored.text, stored.metadata, seed.chunk.embedding)
        return True

    def _complain(self, keys: Sequence[ChunkKey], what: str) -> None:
        """Report bad hits: one warning, or an error with `strict`."""
        shown = ", ".join(repr(key) for key in keys[:5]) + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")
        if self.config.strict:
            raise HitError(f"hits {shown}: {what}; index them again, or leave strict off")
        self.log.warn(f"hits {shown}: {what}")

    def _warn_of_unplaced(self, seeds: Sequence[Seed]) -> None:
        """Report hits whose place nobody knows, by the reason: one warning each, or an error with `strict`."""
        for reason, count in Counter(seed.unplaced for seed in seeds if seed.unplaced is not None).items():
            problem = f"{count} of {len(seeds)} hits stay as they are: {reason}"
            if self.config.strict:
                raise HitError(problem)
            self.log.warn(problem)

    def _warn_of(self, expansion: Expansion) -> None:
        if expansion.holes and self.is_told_all:  # a store that failed may have them
            keys = sorted(expansion.holes)
            shown = ", ".join(repr(key) for key in keys[:5]) + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")
            self.log.warn(f"neighbours missing from the chunk store, spans end there: {shown}")
        if expansion.mixed:
            self.log.warn(
                "embeddings of different sizes, or not finite, among neighbours: their continuity was taken from "
                "common words"
            )

    def _follow_links(
        self, seeds: Sequence[Seed], found: dict[ChunkKey, Chunk], expansion: Expansion
    ) -> Generator[Request, Reply, tuple[dict[ChunkKey, float], list[tuple[ChunkKey, ChunkKey]]]]:
        if not self.config.follow_links:
            return {}, []
        linked, links, problems = yield from follow(seeds, found, expansion, self.config)
        self.log.requests += problems.requests
        self.log.warnings += problems.warnings
        return linked, links

    def _fetch_parents(
        self, seeds: Sequence[Seed], runs: Sequence[Run], out_of_scope: Sequence[ChunkKey]
    ) -> Generator[Request, Reply, dict[str, PlacedParent]]:
        """All parents of all candidates in one request.

        A parent that is plain text carries no scope: where part of its document may not be seen, it is left alone. So
        is that of a hit without a place: the chunks around it, which would tell, cannot be asked for.
        """
        if not self.call.with_parents:
            return {}
        unplaced = {seed.key for seed in seeds if seed.unplaced is not None}
        children: dict[str, list[Chunk]] = {}
        for run in runs:
            for chunk in run.chunks:
                if chunk.metadata.parent_id is not None and chunk.key not in unplaced:
                    children.setdefault(chunk.metadata.parent_id, []).append(chunk)
        if not children:
            return {}
        reply = yield ParentRequest(tuple(children))
        if not isinstance(reply, ParentReply):
            raise TypeError(f"a parent request was answered by {type(reply).__name__}")
        self.log.requests += reply.requests
        if reply.problem:
            self.log.warn(reply.problem)
        self.log.mark("parents", len(children), len(reply.parents))
        closed = {doc_id for doc_id, _ in out_of_scope}
        placed = {name: place_parent(name, parent, children[name]) for name, parent in reply.parents.items()}
        texts = {name for name, parent in reply.parents.items() if isinstance(parent, str)}
        placed = {name: parent for name, parent in placed.items() if name not in texts or parent.doc_id not in closed}
        if self.config.return_parents != "auto":
            return placed
        return (yield from self._with_children(placed, children, texts))

    def _with_children(
        self, placed: Mapping[str, PlacedParent], children: Mapping[str, Sequence[Chunk]], texts: Collection[str]
    ) -> Generator[Request, Reply, dict[str, PlacedParent]]:
        """Fetch the chunks around the known ones of each parent, in one request, before any of it is shown.

        They say what a plain text holds, which carries no scope, and which chunks its span touches.
        """
        windows = {
            name: window
            for name, parent in placed.items()
            if len(parent.text) <= self.config.max_parent_chars
            and (window := sibling_window(parent, children[name])) is not None
        }
        if not windows:
            return {name: parent for name, parent in placed.items() if name not in texts}
        asked = merge_windows(list(windows.values()))
        reply = yield ChunkRequest(tuple(asked))
        if not isinstance(reply, ChunkReply):
            raise TypeError(f"a chunk request was answered by {type(reply).__name__}")
        self.log.requests += reply.requests
        if reply.problem:
            self.log.warn(reply.problem)
        self.log.mark("siblings", len(asked), len(reply.chunks))
        hidden = set(reply.out_of_scope)
        made: dict[str, PlacedParent] = {}
        for name, parent in placed.items():
            found = None
            if name in windows and not reply.problem:
                complete = name in texts and self.call.allowed != {None}
                seen = {**{child.key: child for child in children[name]}, **reply.chunks}
                found = with_children(parent, windows[name], children[name], seen, hidden, complete=complete)
            if found is not None or name not in texts:
                made[name] = found or parent
        return made

    # ---- values

    def _merge(self, expansion: Expansion, linked: Mapping[ChunkKey, float], found: dict[ChunkKey, Chunk]) -> list[Run]:
        windows = expansion.windows + [Window(doc_id, chunk_id, chunk_id + 1) for doc_id, chunk_id in linked]
        merged = merge_windows(windows)
        runs: list[Run] = []
        liars: list[Chunk] = []
        gaps: list[Gap] = []
        for window in merged:
            row = [found[window.doc_id, chunk_id] for chunk_id in range(window.start, window.end)]
            stitched = stitch(row, self.config.joiner, self.config.max_gap_chars)
            runs += stitched.runs
            liars += stitched.inconsistent
            gaps += stitched.gaps
        if liars:
            self.log.warn(
                f"offsets contradict the text in {len(liars)} chunks, first {liars[0].key!r}: they were joined by text"
            )
        if gaps:
            self.log.warn(
                f"{_gaps(len(gaps))} of more than {SURE_GAP} characters closed as dropped white space, first the "
                f"{gaps[0].width} before {gaps[0].chunk.key!r}: where there may be words, lower max_gap_chars or keep "
                "white space in the chunks"
            )
        self.log.mark("merge", len(windows), len(runs))
        return runs

    def _similarity(self, runs: Sequence[Run]) -> dict[ChunkKey, float]:
        """Cosine of every candidate with the question; only where both are embedded."""
        if self.call.query_embedding is None:
            return {}
        found, warnings = cosines(runs, self.call.query_embedding)
        self.log.warnings += warnings
        return found

    def _valuation(
        self,
        runs: Sequence[Run],
        seeds: Sequence[Seed],
        linked: Mapping[ChunkKey, float],
        expansion: Expansion,
        similarity: Mapping[ChunkKey, float],
        share: float = 1.0,
    ) -> Valuation:
        """Return what the candidates are worth to some hits, which may fill a share of the budget.

        Less for what repeats better ones, under `diversity`.
        """
        once_from = MIN_REPEATED if self.config.dedupe_overlaps else None
        room = Room(
            int(self.left * share),
            per_document=self.config.max_tokens_per_document,
            exclusions=self.exclusions,
            once_from=once_from,
            run_cost=self.config.opening_cost,
            spans=self.config.max_spans,
        )
        valuation = self.call.valuer.value(runs, seeds, linked, expansion.continuity, similarity, room)
        made, warnings = discounted(valuation, runs, self.config.diversity)
        self.log.warnings += warnings
        return made

    def _list_values(self, valued: Valued) -> list[tuple[float, Valuation]]:
        """Per hit list its share of the budget and what it makes of the candidates; empty without quotas."""
        config, seeds = self.config, valued.seeds
        if config.fusion != "quota":
            return []
        count = 1 + max((number for seed in seeds for number in seed.by_list), default=0)
        if count < 2:
            return []
        shares = config.quotas or (1.0,) * count
        if len(shares) < count:
            raise RetrivexError(f"quotas are {shares} for {count} hit lists: give one share for each list")
        made = []
        for number in range(count):
            own = [seed._replace(relevance=seed.by_list[number]) for seed in seeds if number in seed.by_list]
            if own:
                own.sort(key=lambda seed: (-seed.relevance, seed.key))
                share = shares[number] / sum(shares)
                value = self._valuation(valued.runs, own, valued.linked, valued.expansion, valued.similarity, share)
                made.append((share, _own_values(value, valued, own)))
        return made


def _gaps(count: int) -> str:
    return "1 gap" if count == 1 else f"{count} gaps"


def _own_values(value: Valuation, valued: Valued, own: Sequence[Seed]) -> Valuation:
    """Leave nothing for what a hit list did not lead to: its share of the budget is for its own, the best worth 1."""
    keys = {seed.key for seed in own} | set(valued.linked)
    led_to = [any(chunk.key in keys for chunk in run.chunks) for run in valued.runs]

    def chunks() -> list[list[float]]:
        rows = [row if mine else [0.0] * len(row) for row, mine in zip(value.chunks, led_to, strict=True)]
        best = max([max(row) for row in rows], default=0.0) or 1.0
        return [[worth / best for worth in row] for row in rows]

    units = value.units or ()
    values = [worth if led_to[unit.run] else 0.0 for worth, unit in zip(value.values, units, strict=False)]
    best = max(values, default=0.0) or 1.0
    return replace(value, make_chunks=chunks, values=[worth / best for worth in values])
