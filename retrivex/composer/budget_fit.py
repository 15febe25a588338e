"""Candidates -> the final layout: choose, render, count; where the text is too long, give up what was taken last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from retrivex.composer.call import Call
from retrivex.composer.layout import Fitting, Layout, lay_out, lay_out_chosen, show_parents
from retrivex.composer.pinned import Pinned
from retrivex.composer.score import ScoredCandidates, make_candidates, score_by_list
from retrivex.composer.select import Demand, Selected, keep_all, keep_top, refill, select, token_cap
from retrivex.composer.spans import SpanScorer
from retrivex.composer.whole import keep_documents, shown_whole
from retrivex.merging.parents import PlacedParent
from retrivex.merging.units import Unit
from retrivex.model.chunk import ChunkKey
from retrivex.rendering.trimming import trim
from retrivex.scoring.effort import OVERLAPPING
from retrivex.selection.candidates import CandidateSet, chosen_keys, pieces_of
from retrivex.selection.duplicates import unshown_repeats
from retrivex.selection.picks import Pick, join_picks
from retrivex.selection.pieces import Piece
from retrivex.text.structure import line_ranges
from retrivex.tokens.sampled import sampled_counts

MAX_ROUNDS = 8
"""Rounds of giving up, filling or trimming, each with a new layout."""

UNUSED = 50
"""One part in so many of the budget may stay unused, where filling it up would be another layout for a few words."""

_UNSURE = 100  # tokens by which an estimate of a short text may be too high


@dataclass(frozen=True, slots=True)
class Fitted:
    """The final layout, the best hits that it shows whole, the candidates, and whether it stopped before they ended."""

    layout: Layout
    whole: frozenset[ChunkKey]
    candidates: CandidateSet
    stopped: bool = False


def fit_to_budget(
    call: Call, pinned: Pinned, scored: ScoredCandidates, candidates: CandidateSet, parents: Mapping[str, PlacedParent]
) -> Fitted:
    """Return the layout of the best choice whose text has at most `token_budget` tokens."""
    seeds, continuity = scored.expanded.seeds, scored.expanded.expansion.continuity
    scorer = SpanScorer.of(seeds, continuity, parents, call.config, scored.scores.scorer)
    demand = Demand(list(scorer.relevance)[: call.config.keep_top], score_by_list(call, pinned, scored))
    task = Fitting(call, pinned, scored, scorer, demand)
    allowance = task.budget - (lay_out(task, []).tokens if pinned.spans else 0)
    fitted = _fit(task, candidates, allowance)
    for key in demand.top:
        if key not in fitted.whole:
            call.log.warn(
                f"keep_top={call.config.keep_top}: hit {key!r} is not shown whole, it does not fit "
                "token_budget, max_spans or max_tokens_per_document beside better ones"
            )
    if call.whole_documents is not None:
        found = scored.expanded.documents
        call.log.selection["whole_documents"] = shown_whole(scored.runs, fitted.layout.spans, found)
    call.log.mark("render", len(fitted.layout.spans), fitted.layout.tokens)
    return fitted


def _fit(task: Fitting, candidates: CandidateSet, allowance: int) -> Fitted:
    """Choose, and give up what was taken last until the text fits; trim the best candidate where nothing does."""
    best = _best(candidates)
    fitted = None if best is None else _show_all_hits(task, candidates, allowance)
    if fitted is not None:
        return fitted
    kept = keep_top(task.call, candidates, task.runs, task.demand.top, allowance)
    if best is None and not kept.order:
        return Fitted(lay_out(task, []), frozenset(), candidates)
    # where the best does not fit by itself, choosing others would leave it out
    if kept.order or (best is not None and _price(candidates, best) <= allowance):
        fitted = _fit_choice(task, candidates, kept, allowance)
    return _trim_best(task, candidates, allowance) if fitted is None else fitted


def _fit_choice(task: Fitting, candidates: CandidateSet, kept: Selected, allowance: int) -> Fitted | None:
    """Choose beside what is kept, and give up what was taken last until the text fits; None where nothing does."""
    selected = select(task.call, candidates, kept, task.demand, allowance)
    repeated = candidates.repeated
    lone = unshown_repeats(repeated, chosen_keys(candidates, task.runs, selected.chosen)) if repeated else None
    if lone:  # a copy counts again where the better one is not shown
        candidates = make_candidates(task.call, task.pinned, task.scored, distinct=lone)
        kept = keep_top(task.call, candidates, task.runs, task.demand.top, allowance)
        selected = select(task.call, candidates, kept, task.demand, allowance)
    if task.scored.expanded.documents:
        first = _keep_documents(task, candidates, kept, selected.order, allowance)
        ascending = replace(first, order=tuple(sorted(first.order)), kept=len(first.order))
        selected = select(task.call, candidates, ascending, task.demand, allowance)
        # what is given up goes from the end
        selected = replace(selected, order=(*first.order, *selected.order[ascending.kept :]), kept=kept.kept)
    return _give_up_excess(task, candidates, selected)


def _keep_documents(
    task: Fitting, candidates: CandidateSet, kept: Selected, ranked: Sequence[int], allowance: int
) -> Selected:
    return keep_documents(task.call, candidates, task.runs, task.scored.expanded.documents, kept, ranked, allowance)


def _show_all_hits(task: Fitting, candidates: CandidateSet, allowance: int) -> Fitted | None:
    """Show every word of all hits, and fill up, with full effort; None where they do not fit together.

    Where there is no room to complete what the ends of hits cut, they are shown as they were found.
    """
    call, hits = task.call, list(task.scorer.relevance)
    if call.config.effort != "full":
        return None
    texts = [seed.chunk.text for seed in task.scored.expanded.seeds]
    if sum(call.candidate_counts.count_many(texts)) > OVERLAPPING * allowance:
        return None
    if (fitted := _show_all(task, candidates, hits, allowance)) is not None:
        return fitted
    bare = make_candidates(call, task.pinned, replace(task.scored, scores=replace(task.scored.scores, units=None)))
    return _show_all(task, bare, hits, allowance)


def _show_all(task: Fitting, candidates: CandidateSet, hits: Sequence[ChunkKey], allowance: int) -> Fitted | None:
    """Show all of some hits, and fill up; None where their text is too long, whatever it was priced at."""
    kept, log = keep_all(task.call, candidates, task.runs, hits), task.call.log
    if kept is not None and task.scored.expanded.documents:
        kept = _keep_documents(task, candidates, kept, kept.order, allowance)
    fitted = None if kept is None or not kept.order else _give_up_excess(task, candidates, kept)
    if fitted is not None:
        log.selection = {"stopped": False, "left_out": 0.0}
        log.mark("select", len(candidates.problem), len(fitted.layout.spans))
    return fitted


def _give_up_excess(task: Fitting, candidates: CandidateSet, selected: Selected) -> Fitted | None:
    """Lay out a choice, without what was taken last as far as it is too long; None where nothing of it can go."""
    if not selected.order:
        return None
    layout = lay_out_chosen(task, candidates, selected.chosen)
    for _ in range(MAX_ROUNDS):
        if layout.tokens <= task.budget:
            fuller = _show_short_hits(task, candidates, *_fill_up(task, candidates, selected, layout))
            return Fitted(show_parents(task, fuller), selected.whole, candidates, selected.stopped)
        # what is written around passages takes its share, too: markers of gaps are not priced
        shorter = selected.without_last(candidates, task.budget / layout.tokens)
        if shorter is None or not shorter.order:
            return None
        selected, layout = shorter, lay_out_chosen(task, candidates, shorter.chosen)
    return None


def _best(candidates: CandidateSet) -> int | None:
    values = candidates.problem.values
    return int(values.argmax()) if values.any() else None


def _price(candidates: CandidateSet, number: int) -> int:
    """Tokens that a candidate takes by itself."""
    return int(candidates.problem.costs[number] + candidates.problem.openings[number])


def _fill_up(task: Fitting, candidates: CandidateSet, selected: Selected, layout: Layout) -> tuple[Selected, Layout]:
    """Use the tokens that were reserved and not needed: what is added may need fewer as well."""
    unused = task.budget - layout.tokens
    for _ in range(MAX_ROUNDS):
        more = selected if unused <= task.budget // UNUSED else refill(task.call, candidates, selected, unused)
        if more == selected:
            break
        fuller = lay_out_chosen(task, candidates, more.chosen)
        if fuller.tokens <= task.budget:
            selected, layout = more, fuller
            unused = task.budget - layout.tokens
        else:
            unused -= fuller.tokens - task.budget
    return selected, layout


def _show_short_hits(task: Fitting, candidates: CandidateSet, selected: Selected, layout: Layout) -> Layout:
    """Show the hits that do not fit only as parts of longer pieces: of sentences of several chunks, or blank lines."""
    config, unused = task.call.config, task.budget - layout.tokens
    limited = config.max_spans is not None or token_cap(config) is not None
    if selected.stopped or limited or config.selection_unit == "span" or unused <= task.budget // UNUSED:
        return layout
    problem = candidates.problem
    costs = problem.costs + problem.openings
    long = set(np.flatnonzero((problem.values > 0) & (costs > unused)).tolist()).difference(selected.order)
    if not long:
        return layout
    shown = {(span.doc_id, segment.chunk_id) for span in layout.spans for segment in span.segments}
    count = task.call.counter.count
    left_out = [seed for seed in task.scored.expanded.seeds if seed.key not in shown]
    texts = [seed.chunk.text.strip() for seed in left_out]
    # counted only where it may be short
    about = sampled_counts(texts, [seed.chunk.text for seed in task.scored.expanded.seeds], task.call.candidate_counts)
    may_fit = zip(left_out, texts, (about <= 2 * unused + _UNSURE).tolist(), strict=True)
    short = [seed.key for seed, text, may in may_fit if may and count(text) <= unused]
    places = pieces_of(candidates, task.runs, short) if short else {}
    picks = join_picks(candidates, selected.chosen)
    for key in short:
        part = next((_part_of_piece(task, candidates, number, key) for number in places[key] if number in long), None)
        if part is not None and (fuller := lay_out(task, [*picks, part])).tokens <= task.budget:
            picks, layout = [*picks, part], fuller
    return layout


def _part_of_piece(task: Fitting, candidates: CandidateSet, number: int, key: ChunkKey) -> Pick | None:
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
    return Pick(piece.run, at, at, low, high, float(candidates.gains[number]), score)


# ---- trimming, where not even the best candidate fits


def _trim_best(task: Fitting, candidates: CandidateSet, allowance: int) -> Fitted:
    """Cut the best candidate around its best sentence; choose among the others where not even a word of it fits."""
    call, cap = task.call, token_cap(task.call.config)
    name, limit = f"token_budget={task.budget}", task.budget
    if cap is not None and task.budget - allowance + cap[1] < limit:
        name, limit = f"{cap[0]}={cap[1]}", task.budget - allowance + cap[1]
    values = candidates.problem.values
    ranked = np.argsort(-values, kind="stable")
    for place, number in enumerate(ranked[values[ranked] > 0][:MAX_ROUNDS].tolist()):
        doc_id = task.runs[candidates.pieces[number].run].doc_id
        pick = _trimmed(task, candidates, number, limit)
        if pick is not None:
            return _fit_trimmed(task, candidates, number, pick, name)
        others = None if place else _fit_choice(task, candidates, Selected((), 0, frozenset()), allowance)
        if others is not None:
            call.log.warn(f"{name} leaves no room for any of the passage of {doc_id!r}: others are shown")
            return others
    call.log.warn(f"{name} leaves no room for any of the best passage: the context holds no hit")
    return Fitted(lay_out(task, []), frozenset(), candidates)


def _fit_trimmed(task: Fitting, candidates: CandidateSet, number: int, pick: Pick, name: str) -> Fitted:
    """Lay out what a candidate was cut to, and say so; all of it may fit, where its price was too high."""
    piece = candidates.pieces[number]
    whole: frozenset[ChunkKey] = frozenset()
    if (pick.start, pick.end) == (piece.start, piece.end):
        pieces = pieces_of(candidates, task.runs, task.demand.top)
        whole = frozenset(key for key, some in pieces.items() if set(some) <= {number})
    else:
        task.call.log.warn(f"the best passage, of {task.runs[piece.run].doc_id!r}, was cut to fit {name}")
    return Fitted(lay_out(task, [pick]), whole, candidates)


def _trimmed(task: Fitting, candidates: CandidateSet, number: int, limit: int) -> Pick | None:
    """Return as much of a candidate as fits, around its best sentence; None where nothing of it does."""
    piece = candidates.pieces[number]
    run = task.runs[piece.run]
    text = run.text[piece.start : piece.end]

    def pick(start: int, end: int) -> Pick | None:
        """Part of the piece; None for a joiner alone, which is nothing to show."""
        low, high = piece.start + start, piece.start + end
        touched = [p for p in range(piece.first, piece.last + 1) if run.ranges[p][0] < high and run.ranges[p][1] > low]
        value = float(candidates.gains[number]) * (end - start) / len(text)
        score = candidates.probabilities[number] if candidates.probabilities else None
        return Pick(piece.run, touched[0], touched[-1], low, high, value, score) if touched else None

    def fits(start: int, end: int) -> bool:
        part = pick(start, end)
        return part is not None and lay_out(task, [part]).tokens <= limit

    ranges = None if candidates.unit_of is None else line_ranges(text)
    part = trim(text, fits, task.call.question, within=_seed_range(task, piece), ranges=ranges)
    return None if part is None else pick(*part)


def _seed_range(task: Fitting, piece: Piece | Unit) -> tuple[int, int]:
    """Where in a candidate's text its best seed stands: a whole window is trimmed around that."""
    number, first, last, low, high = piece[:5]
    run, relevance = task.runs[number], task.scorer.relevance
    at = max(range(first, last + 1), key=lambda p: (relevance.get(run.chunks[p].key, -1.0), -p))
    start, end = run.ranges[at]
    return max(0, start - low), min(high, end) - low
