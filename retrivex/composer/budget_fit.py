"""Candidates -> the final layout: select, order, render and count, until the rendered text keeps the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

import numpy as np

from retrivex.composer.call import Call
from retrivex.composer.order import OrderNote, order_spans
from retrivex.composer.pinned import Pinned
from retrivex.composer.score import ScoredCandidates, make_candidates, score_by_list
from retrivex.composer.select import Demand, Selected, keep_top, refill, select, select_by_count, token_cap
from retrivex.composer.spans import SpanScorer, best_first, span_of, tokens_of_text, with_lead
from retrivex.merging.parents import PlacedParent
from retrivex.merging.swaps import swap_in
from retrivex.model.chunk import ChunkKey
from retrivex.model.run import Run
from retrivex.model.span import Span
from retrivex.rendering.render import Rendered, gap_marker, render
from retrivex.rendering.trimming import trim
from retrivex.selection.candidates import CandidateSet, Pick, chosen_keys, join_picks, pieces_of
from retrivex.selection.counted import MAX_CANDIDATES
from retrivex.selection.duplicates import once_only, unshown_repeats
from retrivex.selection.problem import measure
from retrivex.text.leads import Prefixes
from retrivex.text.structure import line_ranges

MAX_REFITS = 8
"""Rounds of selecting with a smaller allowance where the joined text has more tokens than its parts promised."""

MAX_REFILLS = 4
"""Rounds of filling what the joined text leaves of the budget."""

MAX_TRIMS = 8
"""Passages that are cut in turn, where nothing of the better ones fits."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Spans in their final order, as text, counted."""

    spans: list[Span]
    rendered: Rendered
    tokens: int
    order: OrderNote
    swaps: list[tuple[Span, Span]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Fitted:
    """The final layout, the best hits that it shows whole, and the candidates it was chosen from."""

    layout: Layout
    whole: frozenset[ChunkKey]
    candidates: CandidateSet


@dataclass(frozen=True, slots=True)
class _Fitting:
    """What all rounds of fitting a call to its budget have in common.

    Parameters
    ----------
    call : what was asked for
    pinned : spans that come first, and what may not be shown
    scored : runs and their values
    scorer : scores the spans that are made
    demand : the best hits and the hit lists
    spans : span of each pick so far: a second layout has most of them in common with the first
    prefixes : of each run, what its passages are shown behind
    """

    call: Call
    pinned: Pinned
    scored: ScoredCandidates
    scorer: SpanScorer
    demand: Demand
    spans: dict[Pick, Span] = field(default_factory=dict)
    prefixes: dict[int, Prefixes] = field(default_factory=dict)

    @property
    def runs(self) -> Sequence[Run]:
        return self.scored.runs

    @property
    def by_count(self) -> bool:
        """Whether sets are counted as they would be written: not where a choice is to be that of earlier versions."""
        return self.call.config.selection != "greedy" and not self.call.config.reserve_gap_markers

    @property
    def budget(self) -> int:
        return self.call.config.token_budget


def fit_to_budget(
    call: Call, pinned: Pinned, scored: ScoredCandidates, candidates: CandidateSet, parents: Mapping[str, PlacedParent]
) -> Fitted:
    """Return the best layout whose text has at most `token_budget` tokens."""
    seeds, continuity = scored.expanded.seeds, scored.expanded.expansion.continuity
    scorer = SpanScorer.of(seeds, continuity, parents, call.config, scored.scores.scorer)
    demand = Demand(list(scorer.relevance)[: call.config.keep_top], score_by_list(call, pinned, scored))
    task = _Fitting(call, pinned, scored, scorer, demand)
    allowance = task.budget - (_lay_out(task, []).tokens if pinned.spans else 0)
    fit = _trim_best if _is_too_long(task, candidates, allowance) else _fit
    fitted = fit(task, candidates, allowance)
    _warn_of_top(call, demand.top, fitted.whole)
    call.log.mark("render", len(fitted.layout.spans), fitted.layout.tokens)
    return fitted


# ---- selecting, until the text fits


def _is_too_long(task: _Fitting, candidates: CandidateSet, allowance: int) -> bool:
    """Whether the best candidate does not fit by itself, so that choosing others would leave it out."""
    problem = candidates.problem
    if not len(problem) or int(problem.arrays.costs.max()) + problem.max_opening <= allowance:
        return False
    best = _best(candidates)
    if best is None or keep_top(task.call, candidates, task.runs, task.demand.top, allowance).chosen:
        return False
    if problem.costs[best] + problem.openings[best] <= allowance:
        return False
    if not task.by_count or len(problem) > MAX_CANDIDATES:
        return True  # nothing could take its place by count, see `_select_by_count`
    return _lay_out_chosen(task, candidates, (best,)).tokens > task.budget


def _best(candidates: CandidateSet) -> int | None:
    usable = candidates.problem.arrays.gains > 0
    return int(np.argmax(np.where(usable, candidates.values, -np.inf))) if usable.any() else None


def _fit(task: _Fitting, candidates: CandidateSet, allowance: int, trims: int = MAX_TRIMS) -> Fitted:
    """Select and lay out until the text fits; trim the best candidate where nothing came to fit.

    Gap markers are not charged ahead, as most orders write few. Where they take more than there is to spare, the choice
    is made anew with an allowance smaller by that, and then with one charged wherever it may be written.
    """
    left, charged = allowance, False
    for _ in range(MAX_REFITS):
        if left <= 0:
            break
        priced = candidates.charge_gaps(task.runs) if charged else candidates
        selected = select(task.call, priced, task.runs, task.demand, left)
        if lone := _find_unshown_repeats(task, candidates, selected.chosen):
            candidates = make_candidates(task.call, task.pinned, task.scored, distinct=lone)
            priced = candidates.charge_gaps(task.runs) if charged else candidates
            selected = select(task.call, priced, task.runs, task.demand, left)
        layout = _lay_out_chosen(task, candidates, selected.chosen)
        excess = layout.tokens - task.budget
        if excess <= 0:
            selected, layout = _select_by_count(task, candidates, selected, layout, allowance)
            if not selected.chosen:
                break
            fuller = _show_short_hits(task, candidates, *_refill(task, priced, selected.chosen, layout))
            return Fitted(_show_parents(task, fuller), selected.whole, candidates)
        if candidates.gap and not charged and (left < allowance or excess >= left):
            left, charged = allowance, True
        else:
            left -= excess
    return _trim_best(task, candidates, allowance, trims)


def _find_unshown_repeats(task: _Fitting, candidates: CandidateSet, chosen: tuple[int, ...]) -> set[ChunkKey]:
    repeated = candidates.repeated
    return unshown_repeats(repeated, chosen_keys(candidates, task.runs, chosen)) if repeated else set()


def _select_by_count(
    task: _Fitting, candidates: CandidateSet, selected: Selected, layout: Layout, allowance: int
) -> tuple[Selected, Layout]:
    """Return a better choice that fits as it is written, and its layout; those given where there is none."""
    if not task.by_count or selected.value is None or len(candidates.problem) > MAX_CANDIDATES:
        return selected, layout
    pinned = task.budget - allowance

    def count(chosen: tuple[int, ...]) -> int:
        return _lay_out_chosen(task, candidates, chosen).tokens - pinned

    saved = _saved_by_joins(candidates, selected.chosen, layout, pinned)
    better = select_by_count(task.call, candidates, selected, allowance, count, saved)
    if better is None or _find_unshown_repeats(task, candidates, better.chosen):
        return selected, layout
    return better, _lay_out_chosen(task, candidates, better.chosen)


def _saved_by_joins(candidates: CandidateSet, chosen: Sequence[int], layout: Layout, pinned: int) -> int:
    """Return the tokens that a candidate or an opening may take less than its price, by those that are laid out."""
    gaps = sum(gap_marker(*pair) is not None for pair in pairwise(layout.spans)) if candidates.gap else 0
    saved = measure(candidates.problem, chosen)[1] + gaps * candidates.gap - (layout.tokens - pinned)
    return 1 + saved // (len(chosen) + len(layout.spans)) if saved > 0 else 0


def _refill(
    task: _Fitting, candidates: CandidateSet, chosen: tuple[int, ...], layout: Layout
) -> tuple[tuple[int, ...], Layout]:
    """Use the tokens that were reserved and not needed, in several rounds: what is added may need fewer as well."""
    unused = task.budget - layout.tokens
    for _ in range(MAX_REFILLS if task.by_count else 1):
        more = refill(task.call, candidates, chosen, unused)
        if more == chosen:
            break
        fuller = _lay_out_chosen(task, candidates, more)
        if fuller.tokens <= task.budget:
            chosen, layout = more, fuller
            unused = task.budget - layout.tokens
        else:
            unused -= fuller.tokens - task.budget
    return chosen, layout


def _show_short_hits(task: _Fitting, candidates: CandidateSet, chosen: tuple[int, ...], layout: Layout) -> Layout:
    """Show the hits that do not fit only as parts of longer pieces: of sentences of several chunks, or blank lines."""
    config, problem, unused = task.call.config, candidates.problem, task.budget - layout.tokens
    limited = config.max_spans is not None or token_cap(config) is not None or config.reserve_gap_markers
    if limited or config.selection_unit == "span":
        return layout
    costs, gains = problem.arrays.costs + problem.arrays.openings, problem.arrays.gains
    long = set(np.flatnonzero((gains > problem.run_cost) & (costs > unused)).tolist()).difference(chosen)
    if not long:
        return layout
    shown = {(span.doc_id, segment.chunk_id) for span in layout.spans for segment in span.segments}
    count = task.call.counter.cache.count
    left_out = [seed for seed in task.scored.expanded.seeds if seed.key not in shown]
    short = [seed.key for seed in left_out if count(seed.chunk.text.strip()) <= unused]
    places = pieces_of(candidates, task.runs, short) if short else {}
    picks = join_picks(candidates, chosen)
    for key in short:
        part = next((_part_of_piece(task, candidates, number, key) for number in places[key] if number in long), None)
        if part is not None and (fuller := _lay_out(task, [*picks, part])).tokens <= task.budget:
            picks, layout = [*picks, part], fuller
    return layout


def _part_of_piece(task: _Fitting, candidates: CandidateSet, number: int, key: ChunkKey) -> Pick | None:
    """Return what a piece shows of one chunk alone, without white space at its ends; None where that is another's."""
    piece = candidates.pieces[number]
    run = task.runs[piece.run]
    at = next((at for at in range(piece.first, piece.last + 1) if run.chunks[at].key == key), None)
    if at is None:
        return None
    low, high = max(run.ranges[at][0], piece.start), min(run.ranges[at][1], piece.end)
    text = run.text[low:high]
    low, high = low + len(text) - len(text.lstrip()), low + len(text.rstrip())
    score = candidates.probabilities[number] if candidates.probabilities else None
    return Pick(piece.run, at, at, low, high, candidates.problem.gains[number], ((low, high),), score)


def _warn_of_top(call: Call, top: Sequence[ChunkKey], whole: frozenset[ChunkKey]) -> None:
    for key in top:
        if key not in whole:
            call.log.warn(
                f"keep_top={call.config.keep_top}: hit {key!r} is not shown whole, it does not fit "
                "token_budget, max_spans or max_tokens_per_document beside better ones"
            )


# ---- laying out: spans, ordered, rendered and counted


def _lay_out_chosen(task: _Fitting, candidates: CandidateSet, chosen: Sequence[int]) -> Layout:
    return _lay_out(task, join_picks(candidates, chosen))


def _lay_out(task: _Fitting, picks: Sequence[Pick]) -> Layout:
    # white space is worth something between two passages, and nothing by itself
    written = [span for span in map(partial(_span, task), picks) if not span.text.isspace()]
    spans = once_only(best_first(written), task.call.counter)
    # a span that was cut in two counts twice
    return _order_spans(task, spans[: task.call.config.max_spans])


def _span(task: _Fitting, pick: Pick) -> Span:
    span = task.spans.get(pick)
    if span is None:
        run = task.runs[pick.run]
        span = task.scorer.score(span_of(pick, run, task.call.counter))
        if task.call.config.selection_unit != "span":
            span = with_lead(span, pick, run, task.prefixes.setdefault(pick.run, Prefixes(run.text)))
        task.spans[pick] = span
    return span


def _order_spans(task: _Fitting, spans: Sequence[Span]) -> Layout:
    free, note = order_spans(spans, task.call.config, task.call.question)
    ordered = [*task.pinned.spans, *free]
    rendered = render(ordered, task.call.style)
    return Layout(ordered, rendered, tokens_of_text(rendered, ordered, task.call.counter), note)


def _show_parents(task: _Fitting, layout: Layout) -> Layout:
    """Show parents in place of spans that cover enough of them, as far as they fit."""
    if task.call.config.return_parents != "auto":
        return layout
    limit = task.call.config.max_parent_chars
    known = {name: parent for name, parent in task.scorer.parents.items() if len(parent.text) <= limit}
    touched = task.pinned.exclusions.touch_parents([*known.values()])
    parents = {name: parent for (name, parent), shown in zip(known.items(), touched, strict=True) if not shown}
    counts = {name: task.call.counter.cache.count(parent.text) for name, parent in parents.items()}
    spans = best_first([span for span in layout.spans if not span.pinned])
    kept, swaps = swap_in(spans, parents, counts, task.budget - layout.tokens, task.call.config)
    if not swaps:
        return layout
    swapped = _order_spans(task, best_first([task.scorer.score(span) for span in kept]))
    return replace(swapped, swaps=swaps) if swapped.tokens <= task.budget else layout


# ---- trimming, where not even the best candidate fits


def _trim_best(task: _Fitting, candidates: CandidateSet, allowance: int, tries: int = MAX_TRIMS) -> Fitted:
    """Cut the best candidate around its best sentence; choose among the others where not even a word of it fits."""
    call, cap = task.call, token_cap(task.call.config)
    limit = task.budget if cap is None else min(task.budget, task.budget - allowance + cap[1])
    name = f"token_budget={task.budget}" if cap is None or limit == task.budget else f"{cap[0]}={cap[1]}"
    empty = Fitted(_lay_out(task, []), frozenset(), candidates)
    best = _best(candidates)
    if best is None:
        return empty
    piece = candidates.pieces[best]
    run = task.runs[piece.run]

    def pick(start: int, end: int) -> Pick | None:
        """Part of the piece; None for a joiner alone, which is nothing to show."""
        low, high = piece.start + start, piece.start + end
        touched = [p for p in range(piece.first, piece.last + 1) if run.ranges[p][0] < high and run.ranges[p][1] > low]
        value = candidates.problem.gains[best] * (end - start) / (piece.end - piece.start)
        score = candidates.probabilities[best] if candidates.probabilities else None
        return Pick(piece.run, touched[0], touched[-1], low, high, value, ((low, high),), score) if touched else None

    def fits(start: int, end: int) -> bool:
        part = pick(start, end)
        return part is not None and _lay_out(task, [part]).tokens <= limit

    text = run.text[piece.start : piece.end]
    ranges = None if candidates.unit_of is None else line_ranges(text)
    part = trim(text, fits, call.question, within=_seed_range(task, candidates, best), ranges=ranges)
    if part is None or (shown := pick(*part)) is None:
        rest = _shorter(candidates, best, allowance)
        if tries <= 1 or _best(rest) is None:
            call.log.warn(f"{name} leaves no room for any of the best passage: the context holds no hit")
            return empty
        others = _fit(task, rest, allowance, tries - 1)
        if len(others.layout.spans) > len(task.pinned.spans):
            call.log.warn(f"{name} leaves no room for any of the passage of {run.doc_id!r}: others are shown")
        return replace(others, candidates=candidates)
    whole: frozenset[ChunkKey] = frozenset()
    if part == (0, piece.end - piece.start):
        pieces = pieces_of(candidates, task.runs, task.demand.top)
        whole = frozenset(key for key, some in pieces.items() if set(some) <= {best})
    else:
        call.log.warn(f"the best passage, of {run.doc_id!r}, was cut to fit {name}")
    return Fitted(_lay_out(task, [shown]), whole, candidates)


def _shorter(candidates: CandidateSet, best: int, allowance: int) -> CandidateSet:
    """Return the candidates that fit by themselves, without the best one; all but that where none does."""
    costs, openings = candidates.problem.arrays.costs, candidates.problem.arrays.openings
    gone = costs + openings > allowance
    gone[best] = True
    shorter = candidates.without(gone, allowance)
    if _best(shorter) is not None:
        return shorter
    gone[:] = False
    gone[best] = True
    return candidates.without(gone, allowance)


def _seed_range(task: _Fitting, candidates: CandidateSet, best: int) -> tuple[int, int]:
    """Where in a candidate's text its best seed stands: a whole window is trimmed around that."""
    piece = candidates.pieces[best]
    run, relevance = task.runs[piece.run], task.scorer.relevance
    at = max(range(piece.first, piece.last + 1), key=lambda p: (relevance.get(run.chunks[p].key, -1.0), -p))
    start, end = run.ranges[at]
    return max(0, start - piece.start), min(piece.end, end) - piece.start
