"""One query, step by step: seeds, fetch, expand, merge, score, select, order, render.

Written as a generator that yields its requests to the stores and is sent the replies, so that the sync and the async
composer run the very same steps.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from retrivex.assembly import SpanScorer, best_first, once_only, pin, span_of, tokens_of_text
from retrivex.candidates import CandidateSet, Pick, build_candidates, join_picks
from retrivex.chunk import Chunk, ChunkKey, Embedding
from retrivex.composition import Composition
from retrivex.config import RetrievalConfig
from retrivex.continuity import SignatureCache
from retrivex.errors import HitError, RetrivexError
from retrivex.exclusions import Exclusions
from retrivex.expansion import Expansion, grow, plan_windows
from retrivex.fetching import ChunkReply, ChunkRequest, ParentReply, ParentRequest
from retrivex.intervals import Window, merge_windows
from retrivex.links import follow
from retrivex.ordering import order_spans
from retrivex.parents import PlacedParent, place_parent, swap_in
from retrivex.rendering import Rendered, Style, render
from retrivex.reporting import Account, citations_of, coverage_of
from retrivex.scoring.weighted import chunk_values
from retrivex.seeding import Seed, SeedHits, prepare_seeds
from retrivex.selection import Candidates, fill, select
from retrivex.span import Span
from retrivex.stitching import Run, stitch
from retrivex.token_joins import JoinCounter
from retrivex.tracing import Step, Trace
from retrivex.trimming import trim

Request: TypeAlias = ChunkRequest | ParentRequest
Reply: TypeAlias = ChunkReply | ParentReply

MAX_REFITS = 8
"""Rounds of choosing with a smaller allowance where the tokens of the joined text exceed what the parts promised."""


@dataclass(slots=True)
class Call:
    """What a caller asks for, and what the composer lends.

    Parameters
    ----------
    seed_hits : as the caller gave them
    config : overrides applied
    question : None where the caller gave none
    query_embedding : shape (d,); None where the caller gave none
    allowed : scopes the caller may see
    with_parents : whether there is a store that can be asked for parents
    style : how the context is written down
    counter : token counts of texts and of joined texts
    signatures : word signatures
    warnings : to begin with
    """

    seed_hits: SeedHits
    config: RetrievalConfig
    question: str | None
    query_embedding: Embedding | None
    allowed: frozenset[str | None]
    with_parents: bool
    style: Style
    counter: JoinCounter
    signatures: SignatureCache
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Layout:
    """Spans in their final order, as text, counted."""

    spans: list[Span]
    rendered: Rendered
    tokens: int
    swaps: list[tuple[Span, Span]] = field(default_factory=list)


class Pipeline:
    """Runs one call; used once."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.config = call.config
        self.warnings = call.warnings
        self.steps: list[Step] = []
        self.requests = 0
        self.selection: dict[str, Any] = {}
        self._began = perf_counter()

    def run(self) -> Generator[Request, Reply, Composition]:
        """Yield requests, be sent replies, return the composition."""
        call, config = self.call, self.config
        seeds, dropped = prepare_seeds(call.seed_hits, config, call.allowed)
        self._mark("seeds", len(seeds) + len(dropped), len(seeds))
        planned = plan_windows(seeds, config)
        found, out_of_scope = yield from self._fetch(seeds, planned)
        expansion = grow(seeds, planned, found, config, call.signatures, out_of_scope)
        self._warn_of(expansion)
        linked, links = yield from self._follow_links(seeds, found, expansion)
        self._mark("expand", len(seeds), sum(map(len, expansion.windows)))
        runs = self._merge(expansion, linked, found)
        relevance = {seed.key: seed.relevance for seed in seeds}
        values = chunk_values(runs, relevance, linked, expansion.continuity, config, self._likeness(runs))
        exclusions = Exclusions()
        for item in config.exclude:
            exclusions.add(item)
        pinned, problems = pin(config.pinned, call.allowed, exclusions, call.counter.cache)
        self.warnings += problems
        candidates = build_candidates(runs, values, exclusions, call.counter.cache, call.style, config)
        self._mark("score", sum(map(len, runs)), len(candidates.pieces))
        parents = yield from self._fetch_parents(runs)
        seed_ids: dict[str, list[int]] = {}
        for doc_id, chunk_id in relevance:
            seed_ids.setdefault(doc_id, []).append(chunk_id)
        scorer = SpanScorer(relevance, seed_ids, expansion.continuity, parents, config)
        quotas = self._list_values(seeds, runs, linked, expansion)
        writer = _Writer(self, runs, candidates, scorer, pinned, quotas, exclusions)
        layout = writer.write()
        account = Account(seeds, found, dropped, expansion, linked, runs, values, candidates, layout.spans, config)
        account.absorb(layout.swaps)
        trace = Trace(
            steps=tuple(self.steps),
            requests=self.requests,
            windows=tuple(expansion.windows),
            links=tuple(links),
            scorer="weighted",
            selection=self.selection,
            make_notes=account.notes,
        )
        spans = tuple(layout.spans)
        return Composition(
            text=layout.rendered.text,
            spans=spans,
            tokens=layout.tokens,
            token_budget=config.token_budget,
            tokenizer=call.counter.cache.name,
            question=call.question,
            citations=citations_of(spans, layout.rendered),
            coverage=coverage_of(spans, seeds),
            dropped=account.dropped(layout.tokens),
            warnings=tuple(dict.fromkeys(self.warnings)),
            trace=trace,
            style=call.style,
            counter=call.counter.cache.tokenizer,
        )

    def _mark(self, name: str, n_in: int, n_out: int) -> None:
        now = perf_counter()
        self.steps.append(Step(name, n_in, n_out, (now - self._began) * 1e6))
        self._began = now

    # ---- what the stores know

    def _fetch(
        self, seeds: Sequence[Seed], planned: Sequence[Window]
    ) -> Generator[Request, Reply, tuple[dict[ChunkKey, Chunk], list[ChunkKey]]]:
        """Fetch all planned windows in one request; seeds stand in for what the store does not have."""
        if all(len(window) == 1 for window in planned):
            return {seed.key: seed.chunk for seed in seeds}, []
        windows = merge_windows(planned)
        reply = yield ChunkRequest(tuple(windows))
        self.requests += reply.requests
        self._mark("fetch", len(windows), len(reply.chunks) if isinstance(reply, ChunkReply) else 0)
        if not isinstance(reply, ChunkReply):
            raise TypeError(f"a chunk request was answered by {type(reply).__name__}")
        if reply.problem:
            self.warnings.append(reply.problem)
        found = reply.chunks
        absent = [seed for seed in seeds if not self._reconcile(seed, found)]
        if absent and not reply.problem:
            self._complain([seed.key for seed in absent], "not in the chunk store; used as the retriever gave them")
        return found, reply.out_of_scope

    def _reconcile(self, seed: Seed, found: dict[ChunkKey, Chunk]) -> bool:
        """Put the seed among the found chunks; return whether the store had it.

        The store's text wins where the two differ, because it is the one that its neighbours fit to.
        """
        stored = found.get(seed.key)
        if stored is None:
            found[seed.key] = seed.chunk
            return False
        if stored is seed.chunk:
            return True
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
        self.warnings.append(f"hits {shown}: {what}")

    def _warn_of(self, expansion: Expansion) -> None:
        if expansion.holes:
            keys = sorted(expansion.holes)
            shown = ", ".join(repr(key) for key in keys[:5]) + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")
            self.warnings.append(f"neighbours missing from the chunk store, spans end there: {shown}")
        if expansion.mixed:
            self.warnings.append(
                "embeddings of different sizes among neighbours: their continuity was taken from common words"
            )

    def _follow_links(
        self, seeds: Sequence[Seed], found: dict[ChunkKey, Chunk], expansion: Expansion
    ) -> Generator[Request, Reply, tuple[dict[ChunkKey, float], list[tuple[ChunkKey, ChunkKey]]]]:
        if not self.config.follow_links:
            return {}, []
        linked, links, problems = yield from follow(seeds, found, expansion, self.config)
        self.requests += problems.requests
        self.warnings += problems.warnings
        return linked, links

    def _fetch_parents(self, runs: Sequence[Run]) -> Generator[Request, Reply, dict[str, PlacedParent]]:
        """All parents of all candidates in one request."""
        children: dict[str, list[Chunk]] = {}
        if self.call.with_parents:
            for run in runs:
                for chunk in run.chunks:
                    if chunk.metadata.parent_id is not None:
                        children.setdefault(chunk.metadata.parent_id, []).append(chunk)
        if not children:
            return {}
        reply = yield ParentRequest(tuple(children))
        self.requests += reply.requests
        if not isinstance(reply, ParentReply):
            raise TypeError(f"a parent request was answered by {type(reply).__name__}")
        if reply.problem:
            self.warnings.append(reply.problem)
        self._mark("parents", len(children), len(reply.parents))
        return {name: place_parent(name, parent, children[name]) for name, parent in reply.parents.items()}

    # ---- values

    def _merge(self, expansion: Expansion, linked: Mapping[ChunkKey, float], found: dict[ChunkKey, Chunk]) -> list[Run]:
        windows = expansion.windows + [Window(doc_id, chunk_id, chunk_id + 1) for doc_id, chunk_id in linked]
        merged = merge_windows(windows)
        runs: list[Run] = []
        liars: list[Chunk] = []
        for window in merged:
            row = [found[window.doc_id, chunk_id] for chunk_id in range(window.start, window.end)]
            stitched, lying = stitch(row, self.config.joiner, self.config.max_gap_chars)
            runs += stitched
            liars += lying
        if liars:
            self.warnings.append(
                f"offsets contradict the text in {len(liars)} chunks, first {liars[0].key!r}: they were joined by text"
            )
        self._mark("merge", len(windows), len(runs))
        return runs

    def _likeness(self, runs: Sequence[Run]) -> dict[ChunkKey, float]:
        """Cosine of every candidate with the question, as a share of the best; only where both are embedded."""
        if self.call.query_embedding is None:
            return {}
        query = np.asarray(self.call.query_embedding, dtype=np.float64)
        norm = float(np.linalg.norm(query)) if query.ndim == 1 else 0.0
        if not norm > 0 or not np.isfinite(norm):
            raise RetrivexError(
                f"query_embedding has shape {query.shape} and norm {norm:g}: it must be one finite, non-zero vector; "
                "pass what the retriever's model made of the question"
            )
        keys: list[ChunkKey] = []
        rows: list[Embedding] = []
        unlike = 0
        for run in runs:
            for chunk in run.chunks:
                if chunk.embedding is None:
                    continue
                if len(chunk.embedding) == len(query):
                    keys.append(chunk.key)
                    rows.append(chunk.embedding)
                else:
                    unlike += 1
        if unlike:
            self.warnings.append(
                f"{unlike} candidates have embeddings of another size than the query's {len(query)}: left uncompared"
            )
        if not rows:
            return {}
        matrix = np.asarray(rows, dtype=np.float64)
        norms = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
        cosines = matrix @ query / np.maximum(norms, 1e-12) / norm
        best = float(cosines.max())
        if not best > 0:
            return {}
        return dict(zip(keys, np.clip(cosines / best, 0.0, 1.0).tolist(), strict=True))

    def _list_values(
        self, seeds: Sequence[Seed], runs: Sequence[Run], linked: Mapping[ChunkKey, float], expansion: Expansion
    ) -> list[tuple[float, list[list[float]]]]:
        """Per hit list its share of the budget and its own chunk values; empty without `fusion='quota'`."""
        config = self.config
        count = 1 + max((number for seed in seeds for number in seed.by_list), default=0)
        if config.fusion != "quota" or count < 2:
            return []
        shares = config.quotas or (1.0,) * count
        if len(shares) < count:
            raise RetrivexError(f"quotas are {shares} for {count} hit lists: give one share for each list")
        made = []
        for number in range(count):
            relevance = {seed.key: seed.by_list[number] for seed in seeds if number in seed.by_list}
            if relevance:
                values = chunk_values(runs, relevance, linked, expansion.continuity, config)
                made.append((shares[number] / sum(shares), values))
        return made


class _Writer:
    """Chooses, assembles, orders and counts until the text keeps its budget."""

    def __init__(
        self,
        pipeline: Pipeline,
        runs: Sequence[Run],
        candidates: CandidateSet,
        scorer: SpanScorer,
        pinned: Sequence[Span],
        quotas: Sequence[tuple[float, list[list[float]]]],
        exclusions: Exclusions,
    ) -> None:
        self.pipeline = pipeline
        self.call = pipeline.call
        self.config = pipeline.config
        self.runs = runs
        self.candidates = candidates
        self.scorer = scorer
        self.quotas = quotas
        self.exclusions = exclusions
        self.budget = self.config.token_budget
        self.pinned = self._affordable(pinned)

    def write(self) -> Layout:
        """Return the best layout whose text has at most `token_budget` tokens."""
        pinned_tokens = self._lay_out([]).tokens if self.pinned else 0
        allowance = self.budget - pinned_tokens
        made = self._trimmed() if self._too_long(allowance) else self._fitted(allowance)
        self.pipeline._mark("render", len(made.spans), made.tokens)
        return made

    def _affordable(self, pinned: Sequence[Span]) -> list[Span]:
        """Pinned spans that fit, in the order given."""
        kept: list[Span] = []
        for span in pinned:
            tried = [*kept, span]
            if tokens_of_text(render(tried, self.call.style), tried, self.call.counter) <= self.budget:
                kept = tried
            else:
                self.pipeline.warnings.append(
                    f"pinned passage of {span.doc_id!r} left out: it does not fit token_budget={self.budget}"
                )
        return kept

    # ---- choosing

    def _too_long(self, allowance: int) -> bool:
        """Whether the best candidate does not fit by itself, so that choosing others would leave it out."""
        best = self._best()
        if best is None:
            return False
        numbers = self.candidates.numbers
        return numbers.costs[best] + numbers.openings[best] > allowance

    def _best(self) -> int | None:
        values = self.candidates.values
        usable = [i for i, gain in enumerate(self.candidates.numbers.gains) if gain > 0]
        return max(usable, key=lambda i: (values[i], -i)) if usable else None

    def _fitted(self, allowance: int) -> Layout:
        made = self._lay_out([])
        for _ in range(MAX_REFITS):
            if allowance <= 0:
                break
            chosen = self._choose(allowance)
            made = self._lay_out(join_picks(self.candidates, chosen))
            if made.tokens <= self.budget:
                return self._with_parents(self._refilled(made, chosen))
            allowance -= made.tokens - self.budget
        return self._trimmed()

    def _choose(self, allowance: int) -> tuple[int, ...]:
        config, numbers = self.config, self.candidates.numbers
        began = len(numbers)
        chosen: tuple[int, ...] = ()
        for share, values in self.quotas:
            chosen = self._choose_for_list(chosen, values, int(allowance * share))
        if not self.quotas:
            made = select(
                numbers, allowance, run_cost=config.opening_cost, max_runs=config.max_spans, method=config.selection
            )
            chosen = made.chosen
            self.pipeline.selection = {
                "value": made.value,
                "bound": made.bound if math.isfinite(made.bound) else None,
                "proven": made.proven,
            }
            if config.selection == "exact" and not made.proven:
                self.pipeline.warnings.append(
                    f"the selection was too large to prove: worth {made.value:.4g}, the best possible is at most "
                    f"{made.bound:.4g}"
                )
        else:
            chosen = self._capped(chosen)
        chosen = fill(numbers, chosen, allowance, run_cost=config.opening_cost, max_runs=config.max_spans)
        self.pipeline._mark("select", began, len(chosen))
        return chosen

    def _capped(self, chosen: tuple[int, ...]) -> tuple[int, ...]:
        """Keep the `max_spans` best stretches of what the hit lists chose."""
        limit = self.config.max_spans
        picks = join_picks(self.candidates, chosen)
        if limit is None or len(picks) <= limit:
            return chosen
        best = sorted(picks, key=lambda pick: -pick.value)[:limit]
        places = [(i, self.candidates.pieces[i]) for i in chosen]
        return tuple(i for i, p in places if any(b.run == p.run and b.start <= p.start < b.end for b in best))

    def _choose_for_list(self, chosen: tuple[int, ...], values: list[list[float]], allowance: int) -> tuple[int, ...]:
        """Add what is best for one hit list within its share; what other lists chose already is free."""
        numbers, config = self.candidates.numbers, self.config
        taken = set(chosen)
        mean = sum(numbers.costs) / max(len(numbers), 1) or 1.0
        worth = [
            0.0 if i in taken or self.candidates.values[i] <= 0 else max(values[p.run][p.first : p.last + 1])
            for i, p in enumerate(self.candidates.pieces)
        ]
        own = Candidates(
            costs=[0 if i in taken else cost for i, cost in enumerate(numbers.costs)],
            openings=[0 if i in taken else opening for i, opening in enumerate(numbers.openings)],
            gains=[(w - config.min_value) * c / mean for w, c in zip(worth, numbers.costs, strict=True)],
            joined=numbers.joined,
            ranks=worth,
        )
        made = select(own, allowance, run_cost=config.opening_cost, method=config.selection)
        return tuple(sorted(taken | set(made.chosen)))

    def _refilled(self, made: Layout, chosen: tuple[int, ...]) -> Layout:
        """Use what counting ahead had put aside for separators and markers that were not needed."""
        numbers, config = self.candidates.numbers, self.config
        ahead = sum(numbers.costs[i] for i in chosen) + sum(
            numbers.openings[i]
            for at, i in enumerate(chosen)
            if not (numbers.joined[i] and at and chosen[at - 1] == i - 1)
        )
        more = fill(
            numbers, chosen, ahead + self.budget - made.tokens, run_cost=config.opening_cost, max_runs=config.max_spans
        )
        if more == tuple(chosen):
            return made
        fuller = self._lay_out(join_picks(self.candidates, more))
        return fuller if fuller.tokens <= self.budget else made

    def _trimmed(self) -> Layout:
        """Cut the best candidate around its best sentence; nothing where not even a word of it fits."""
        empty = self._lay_out([])
        best = self._best()
        if best is None:
            return empty
        piece = self.candidates.pieces[best]
        run = self.runs[piece.run]

        def lay_out(start: int, end: int) -> Layout:
            low, high = piece.start + start, piece.start + end
            inside = [
                position
                for position in range(piece.first, piece.last + 1)
                if run.ranges[position][0] < high and run.ranges[position][1] > low
            ]
            value = self.candidates.numbers.gains[best] * (end - start) / (piece.end - piece.start)
            return self._lay_out([Pick(piece.run, inside[0], inside[-1], low, high, value, ((low, high),))])

        def fits(start: int, end: int) -> bool:
            return lay_out(start, end).tokens <= self.budget

        part = trim(run.text[piece.start : piece.end], fits, self.call.question, within=self._seed_range(best))
        if part is None:
            self.pipeline.warnings.append(
                f"token_budget={self.budget} leaves no room for any of the best passage: the context holds no hit"
            )
            return empty
        if part != (0, piece.end - piece.start):
            self.pipeline.warnings.append(
                f"the best passage, of {run.doc_id!r}, was cut to fit token_budget={self.budget}"
            )
        return lay_out(*part)

    def _seed_range(self, best: int) -> tuple[int, int]:
        """Where in a candidate's text its best seed stands: a whole window is trimmed around that."""
        piece = self.candidates.pieces[best]
        run = self.runs[piece.run]
        relevance = self.scorer.relevance
        at = max(range(piece.first, piece.last + 1), key=lambda p: (relevance.get(run.chunks[p].key, -1.0), -p))
        start, end = run.ranges[at]
        return max(0, start - piece.start), min(piece.end, end) - piece.start

    # ---- laying out

    def _lay_out(self, picks: Sequence[Pick]) -> Layout:
        counter = self.call.counter
        spans = [self.scorer.score(span_of(pick, self.runs[pick.run], counter)) for pick in picks]
        return self._ordered(once_only(best_first(spans), counter))

    def _ordered(self, spans: Sequence[Span]) -> Layout:
        ordered = [*self.pinned, *order_spans(spans, self.config.ordering_strategy)]
        rendered = render(ordered, self.call.style)
        return Layout(ordered, rendered, tokens_of_text(rendered, ordered, self.call.counter))

    def _with_parents(self, made: Layout) -> Layout:
        if self.config.return_parents != "auto":
            return made
        parents = {
            name: parent
            for name, parent in self.scorer.parents.items()
            if not self.exclusions.touch(parent.doc_id, parent.char_start, parent.text)
        }
        counts = {name: self.call.counter.cache.count(parent.text) for name, parent in parents.items()}
        spans = best_first([span for span in made.spans if not span.pinned])
        kept, swaps = swap_in(spans, parents, counts, self.budget - made.tokens, self.config)
        if not swaps:
            return made
        swapped = self._ordered(best_first([self.scorer.score(span) for span in kept]))
        return replace(swapped, swaps=swaps) if swapped.tokens <= self.budget else made
