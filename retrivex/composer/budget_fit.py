"""Candidates -> the final layout: choose, assemble, order and count until the text keeps its budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from retrivex.composer.order import OrderNote, order_spans
from retrivex.composer.spans import SpanScorer, best_first, once_only, span_of, tokens_of_text
from retrivex.composition.trace import Log
from retrivex.config import RetrievalConfig
from retrivex.expansion.seeds import SeedHits
from retrivex.merging.exclusions import Exclusions
from retrivex.merging.parents import swap_in
from retrivex.model.chunk import ChunkKey, Embedding
from retrivex.model.run import Run
from retrivex.model.span import Span
from retrivex.rendering.render import Rendered, Style, render
from retrivex.rendering.trimming import trim
from retrivex.rerank.protocol import ScoreScale
from retrivex.scoring.scorer import Valuation, Valuer
from retrivex.selection.candidates import CandidateSet, Pick, join_picks, pieces_of
from retrivex.selection.constraints import choose, fits
from retrivex.selection.problem import Candidates, fill, measure, room_left
from retrivex.text.word_overlap import SignatureCache
from retrivex.tokens.incremental import JoinCounter

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
    valuer : values candidates
    counter : token counts of texts and of joined texts
    signatures : word signatures
    warnings : to begin with
    rerank_scale : range of the reranker's scores; None without a reranker
    """

    seed_hits: SeedHits
    config: RetrievalConfig
    question: str | None
    query_embedding: Embedding | None
    allowed: frozenset[str | None]
    with_parents: bool
    style: Style
    valuer: Valuer
    counter: JoinCounter
    signatures: SignatureCache
    warnings: list[str] = field(default_factory=list)
    rerank_scale: ScoreScale | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """Spans in their final order, as text, counted."""

    spans: list[Span]
    rendered: Rendered
    tokens: int
    order: OrderNote
    swaps: list[tuple[Span, Span]] = field(default_factory=list)


def affordable(pinned: Sequence[Span], call: Call, log: Log) -> list[Span]:
    """Return the pinned spans that fit the budget, in the order given; the others are warned of and stay candidates."""
    kept: list[Span] = []
    for span in pinned:
        tried = [*kept, span]
        if tokens_of_text(render(tried, call.style), tried, call.counter) <= call.config.token_budget:
            kept = tried
        else:
            log.warn(
                f"pinned passage of {span.doc_id!r} not pinned: it does not fit token_budget={call.config.token_budget}"
            )
    return kept


class Writer:
    """Chooses, assembles, orders and counts until the text keeps its budget.

    Parameters
    ----------
    call : what was asked for
    log : takes down steps and warnings
    runs, candidates : what there is to choose from
    rebuild : makes the candidates again, given `distinct`: chunks that count although a better one has their text
    scorer : scores the spans that are made
    pinned : spans that come first, as far as they fit
    quotas : per hit list its share of the budget and what it makes of the candidates; empty where lists were fused
    exclusions : what may not be shown, by a parent either
    """

    def __init__(
        self,
        call: Call,
        log: Log,
        runs: Sequence[Run],
        candidates: CandidateSet,
        rebuild: Callable[..., CandidateSet],
        scorer: SpanScorer,
        pinned: Sequence[Span],
        quotas: Sequence[tuple[float, Valuation]],
        exclusions: Exclusions,
    ) -> None:
        self.call = call
        self.log = log
        self.config = call.config
        self.runs = runs
        self.candidates = candidates
        self.rebuild = rebuild
        self.scorer = scorer
        self.quotas = quotas
        self.exclusions = exclusions
        self.budget = self.config.token_budget
        self.pinned = list(pinned)
        self.pinned_tokens = 0
        # chunks of the best hits, which are to be shown whole, and those of them that are
        self.top = list(scorer.relevance)[: self.config.keep_top]
        self.whole: set[ChunkKey] = set()
        # what was made of each pick: a second layout has most of them in common with the first
        self.spans: dict[Pick, Span] = {}

    def write(self) -> Layout:
        """Return the best layout whose text has at most `token_budget` tokens."""
        self.pinned_tokens = self._lay_out([]).tokens if self.pinned else 0
        allowance = self.budget - self.pinned_tokens
        made = self._trimmed() if self._too_long(allowance) else self._fitted(allowance)
        self._warn_of_top()
        self.log.mark("render", len(made.spans), made.tokens)
        return made

    # ---- choosing

    def _too_long(self, allowance: int) -> bool:
        """Whether the best candidate does not fit by itself, so that choosing others would leave it out."""
        numbers = self.candidates.numbers
        if not len(numbers) or int(numbers.arrays.costs.max()) + numbers.dearest_opening <= allowance:
            return False
        best = self._best()
        if best is None or self._kept(allowance):
            return False
        return numbers.costs[best] + numbers.openings[best] > allowance

    def _best(self) -> int | None:
        usable = self.candidates.numbers.arrays.gains > 0
        return int(np.argmax(np.where(usable, self.candidates.values, -np.inf))) if usable.any() else None

    def _fitted(self, allowance: int) -> Layout:
        for _ in range(MAX_REFITS):
            if allowance <= 0:
                break
            chosen = self._choose(allowance)
            if self._revive(chosen):
                chosen = self._choose(allowance)
            if not chosen:
                break
            made = self._lay_out(join_picks(self.candidates, chosen))
            if made.tokens <= self.budget:
                return self._with_parents(self._refilled(made, chosen))
            allowance -= made.tokens - self.budget
        return self._trimmed()

    def _revive(self, chosen: tuple[int, ...]) -> bool:
        """Let a repeated text count again where the better copy of it was not chosen; return whether there was one."""
        if not self.candidates.repeated:
            return False
        shown = {
            self.runs[piece.run].chunks[at].key
            for piece in self.candidates.some(chosen)
            for at in range(piece.first, piece.last + 1)
        }
        lone = {key for key, other in self.candidates.repeated.items() if other not in shown}
        if lone:
            self.candidates = self.rebuild(distinct=lone)
        return bool(lone)

    def _kept(self, allowance: int) -> tuple[int, ...]:
        """Pieces of the best hits that are to be shown whole, best first as far as they fit."""
        kept: tuple[int, ...] = ()
        self.whole = set()
        for key in self.top:
            tried = tuple(sorted({*kept, *pieces_of(self.candidates, self.runs, key)}))
            limit = self.config.max_spans
            if fits(self.candidates.numbers, tried, allowance, max_runs=limit, caps=self._caps()):
                kept = tried
                self.whole.add(key)
        return kept

    def _caps(self) -> list[int] | None:
        """Most tokens of each document; None without a limit."""
        cap, documents = self.config.max_tokens_per_document, self.candidates.numbers.documents
        return None if cap is None or documents is None else [cap] * (max(documents, default=-1) + 1)

    def _warn_of_top(self) -> None:
        for key in self.top:
            if key not in self.whole:
                self.log.warn(
                    f"keep_top={self.config.keep_top}: hit {key!r} is not shown whole, it does not fit "
                    "token_budget, max_spans or max_tokens_per_document beside better ones"
                )

    def _choose(self, allowance: int) -> tuple[int, ...]:
        config, numbers, caps = self.config, self.candidates.numbers, self._caps()
        began, spent = len(numbers), None
        chosen = kept = self._kept(allowance)
        rest = allowance - measure(numbers, kept, 0.0)[1]
        for share, valuation in self.quotas:
            chosen = self._choose_for_list(chosen, valuation, int(rest * share))
        if not self.quotas:
            made = choose(
                numbers,
                allowance,
                run_cost=config.opening_cost,
                max_runs=config.max_spans,
                method=config.selection,
                keep=kept,
                caps=caps,
            )
            chosen, spent = made.chosen, made.tokens
            self.log.selection = {
                "value": made.value,
                "bound": made.bound if math.isfinite(made.bound) else None,
                "proven": made.proven,
            }
            if config.selection == "exact" and not made.proven:
                self.log.warn(
                    f"the selection was too large to prove: worth {made.value:.4g}, the best possible is at most "
                    f"{made.bound:.4g}"
                )
        else:
            chosen = self._capped(chosen, kept)
        chosen = fill(
            numbers,
            chosen,
            allowance,
            run_cost=config.opening_cost,
            max_runs=config.max_spans,
            caps=caps,
            spent=spent,
        )
        self.log.mark("select", began, len(chosen))
        return chosen

    def _capped(self, chosen: tuple[int, ...], kept: Collection[int]) -> tuple[int, ...]:
        """Keep the `max_spans` best stretches of what the hit lists chose, those of the best hits first of all."""
        limit = self.config.max_spans
        picks = join_picks(self.candidates, chosen)
        if limit is None or len(picks) <= limit:
            return chosen
        starts = [self.candidates.pieces[i] for i in kept]

        def rank(pick: Pick) -> tuple[bool, float]:
            return (not any(p.run == pick.run and pick.start <= p.start < pick.end for p in starts), -pick.value)

        best = sorted(picks, key=rank)[:limit]
        places = list(zip(chosen, self.candidates.some(chosen), strict=True))
        return tuple(i for i, p in places if any(b.run == p.run and b.start <= p.start < b.end for b in best))

    def _choose_for_list(self, chosen: tuple[int, ...], valuation: Valuation, allowance: int) -> tuple[int, ...]:
        """Add what is best for one hit list within its share; what other lists chose already is free."""
        numbers, config = self.candidates.numbers, self.config
        taken = set(chosen)
        mean = sum(numbers.costs) / max(len(numbers), 1) or 1.0
        worth = [
            0.0 if i in taken or self.candidates.values[i] <= 0 else self.candidates.worth(i, valuation)
            for i in range(len(numbers))
        ]
        own = Candidates(
            costs=[0 if i in taken else cost for i, cost in enumerate(numbers.costs)],
            openings=[0 if i in taken else opening for i, opening in enumerate(numbers.openings)],
            gains=[(w - config.min_value) * c / mean for w, c in zip(worth, numbers.costs, strict=True)],
            joined=numbers.joined,
            ranks=worth,
            documents=numbers.documents,
        )
        caps = self._caps()
        left = None if caps is None else room_left(numbers, chosen, caps)
        made = choose(own, allowance, run_cost=config.opening_cost, method=config.selection, caps=left)
        return tuple(sorted(taken | set(made.chosen)))

    def _refilled(self, made: Layout, chosen: tuple[int, ...]) -> Layout:
        """Use what counting ahead had put aside for separators and markers that were not needed."""
        numbers, config = self.candidates.numbers, self.config
        ahead = measure(numbers, chosen, 0.0)[1]
        more = fill(
            numbers,
            chosen,
            ahead + self.budget - made.tokens,
            run_cost=config.opening_cost,
            max_runs=config.max_spans,
            caps=self._caps(),
            spent=ahead,
        )
        if more == tuple(chosen):
            return made
        fuller = self._lay_out(join_picks(self.candidates, more))
        return fuller if fuller.tokens <= self.budget else made

    def _trimmed(self) -> Layout:
        """Cut the best candidate around its best sentence; nothing where not even a word of it fits."""
        self.whole = set()
        cap = self.config.max_tokens_per_document
        limit = self.budget if cap is None else min(self.budget, self.pinned_tokens + cap)
        empty = self._lay_out([])
        best = self._best()
        if best is None:
            return empty
        piece = self.candidates.pieces[best]
        run = self.runs[piece.run]

        def touched(low: int, high: int) -> list[int]:
            positions = range(piece.first, piece.last + 1)
            return [p for p in positions if run.ranges[p][0] < high and run.ranges[p][1] > low]

        def lay_out(start: int, end: int) -> Layout:
            low, high = piece.start + start, piece.start + end
            inside = touched(low, high)
            value = self.candidates.numbers.gains[best] * (end - start) / (piece.end - piece.start)
            score = self.candidates.scores[best] if self.candidates.scores else None
            return self._lay_out([Pick(piece.run, inside[0], inside[-1], low, high, value, ((low, high),), score)])

        def keeps(start: int, end: int) -> bool:
            # a joiner alone is nothing to show
            return bool(touched(piece.start + start, piece.start + end)) and lay_out(start, end).tokens <= limit

        part = trim(run.text[piece.start : piece.end], keeps, self.call.question, within=self._seed_range(best))
        if part is None:
            self.log.warn(
                f"{self._limit_name(limit)} leaves no room for any of the best passage: the context holds no hit"
            )
            return empty
        if part != (0, piece.end - piece.start):
            self.log.warn(f"the best passage, of {run.doc_id!r}, was cut to fit {self._limit_name(limit)}")
        else:
            self.whole = {key for key in self.top if set(pieces_of(self.candidates, self.runs, key)) <= {best}}
        return lay_out(*part)

    def _limit_name(self, limit: int) -> str:
        cap = self.config.max_tokens_per_document
        return f"token_budget={self.budget}" if limit == self.budget else f"max_tokens_per_document={cap}"

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
        spans = [self._made(pick) for pick in picks]
        once = once_only(best_first(spans), counter)
        # a span that was cut in two counts twice
        return self._ordered(once if self.config.max_spans is None else once[: self.config.max_spans])

    def _made(self, pick: Pick) -> Span:
        span = self.spans.get(pick)
        if span is None:
            span = self.spans[pick] = self.scorer.score(span_of(pick, self.runs[pick.run], self.call.counter))
        return span

    def _ordered(self, spans: Sequence[Span]) -> Layout:
        free, note = order_spans(spans, self.config, self.call.question)
        ordered = [*self.pinned, *free]
        rendered = render(ordered, self.call.style)
        return Layout(ordered, rendered, tokens_of_text(rendered, ordered, self.call.counter), note)

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
