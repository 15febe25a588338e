"""Picks -> the text: spans, ordered, rendered and counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from retrivex.composer.call import Call
from retrivex.composer.order import OrderNote, order_spans
from retrivex.composer.pinned import Pinned
from retrivex.composer.score import ScoredCandidates
from retrivex.composer.select import Demand
from retrivex.composer.spans import SpanScorer, best_first, span_of, with_lead
from retrivex.merging.swaps import swap_in
from retrivex.model.run import Run
from retrivex.model.span import Span
from retrivex.rendering.render import Rendered, render
from retrivex.selection.candidates import CandidateSet
from retrivex.selection.duplicates import once_only
from retrivex.selection.picks import Pick, join_picks
from retrivex.text.leads import Prefixes


@dataclass(frozen=True, slots=True)
class Layout:
    """Spans in their final order, as text, counted."""

    spans: list[Span]
    rendered: Rendered
    tokens: int
    order: OrderNote
    swaps: list[tuple[Span, Span]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Fitting:
    """What all rounds of fitting a call to its budget have in common.

    Parameters
    ----------
    call : what was asked for
    pinned : spans that come first, and what may not be shown
    scored : runs and their values
    scorer : scores the spans that are made
    demand : the hits to be kept and the hit lists
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
        """The candidates."""
        return self.scored.runs

    @property
    def budget(self) -> int:
        """Most tokens of the context."""
        return self.call.config.token_budget


def lay_out_chosen(task: Fitting, candidates: CandidateSet, chosen: Sequence[int]) -> Layout:
    """Lay out some of the candidates."""
    return lay_out(task, join_picks(candidates, chosen))


def lay_out(task: Fitting, picks: Sequence[Pick]) -> Layout:
    """Make the spans of picks, each text once, in their order, as a text that is counted."""
    # white space is worth something between two passages, and nothing by itself
    written = [span for span in map(partial(_span, task), picks) if not span.text.isspace()]
    spans = once_only(best_first(written), task.call.counter)
    # a span that was cut in two counts twice
    return _order_spans(task, spans[: task.call.config.max_spans])


def _span(task: Fitting, pick: Pick) -> Span:
    span = task.spans.get(pick)
    if span is None:
        run = task.runs[pick.run]
        span = task.scorer.score(span_of(pick, run, task.call.counter))
        if task.call.config.selection_unit != "span":
            span = with_lead(span, pick, run, task.prefixes.setdefault(pick.run, Prefixes(run.text)))
        task.spans[pick] = span
    return span


def _order_spans(task: Fitting, spans: Sequence[Span]) -> Layout:
    free, note = order_spans(spans, task.call.config, task.call.question)
    ordered = [*task.pinned.spans, *free]
    rendered = render(ordered, task.call.style)
    return Layout(ordered, rendered, task.call.counter.count_joined(rendered.text), note)


def show_parents(task: Fitting, layout: Layout) -> Layout:
    """Show parents in place of spans that cover enough of them, as far as they fit."""
    if task.call.config.return_parents == "never":
        return layout
    limit = task.call.config.max_parent_chars
    known = {name: parent for name, parent in task.scorer.parents.items() if len(parent.text) <= limit}
    touched = task.pinned.exclusions.touch_parents([*known.values()])
    parents = {name: parent for (name, parent), shown in zip(known.items(), touched, strict=True) if not shown}
    counts = {name: task.call.counter.count(parent.text) for name, parent in parents.items()}
    spans = best_first([span for span in layout.spans if not span.pinned])
    kept, swaps = swap_in(spans, parents, counts, task.budget - layout.tokens, task.call.config)
    if not swaps:
        return layout
    swapped = _order_spans(task, best_first([task.scorer.score(span) for span in kept]))
    return replace(swapped, swaps=swaps) if swapped.tokens <= task.budget else layout
