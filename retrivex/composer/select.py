"""Candidates -> the best ones within an allowance: the best hits, the hit lists' shares, then all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from retrivex.composer.call import Call
from retrivex.model.chunk import ChunkKey
from retrivex.model.run import Run
from retrivex.scoring.effort import count_needed
from retrivex.scoring.scorer import Scores
from retrivex.selection.candidates import CandidateSet, pieces_of
from retrivex.selection.greedy import choose
from retrivex.selection.problem import Limits, fits, tokens_of


@dataclass(frozen=True, slots=True)
class Demand:
    """What a selection has to serve beside the total worth.

    Parameters
    ----------
    top : chunks of the best hits, which are to be shown whole as far as they fit
    all : chunks of all hits, which are to be shown whole where all of them fit
    quotas : per hit list its share of the budget and the values of the candidates to it; empty where lists were fused
    """

    top: Sequence[ChunkKey]
    all: Sequence[ChunkKey]
    quotas: Sequence[tuple[float, Scores]]


@dataclass(frozen=True, slots=True)
class Selected:
    """What was chosen.

    Parameters
    ----------
    order : positions of the candidates, in the order in which they were taken; what is kept comes first
    kept : how many of them are kept whatever they are worth
    whole : the best hits, which are shown whole
    stopped : whether there was room for more, which is not expected to hold anything
    """

    order: tuple[int, ...]
    kept: int
    whole: frozenset[ChunkKey]
    stopped: bool = False

    @property
    def chosen(self) -> tuple[int, ...]:
        """The same, ascending."""
        return tuple(sorted(self.order))

    def without_last(self, candidates: CandidateSet, tokens: int) -> Selected | None:
        """Give up the last that were taken, until they free so many tokens; None where only what is kept is left."""
        order, had = self.order, tokens_of(candidates.problem, self.chosen)
        while len(order) > self.kept:
            order = order[:-1]
            if had - tokens_of(candidates.problem, sorted(order)) >= tokens:
                break
        return replace(self, order=order) if len(order) < len(self.order) else None


def limits_of(call: Call, allowance: int) -> Limits:
    """Return what every choice for a call has to keep."""
    return Limits(allowance, call.config.max_spans, call.config.max_tokens_per_document)


def keep_hits(call: Call, candidates: CandidateSet, runs: Sequence[Run], demand: Demand, allowance: int) -> Selected:
    """Choose the pieces of the hits that are to be shown whole: all where they fit, else the best as far as they do."""
    limits = limits_of(call, allowance)
    pieces = pieces_of(candidates, runs, [*demand.top, *demand.all]) if demand.top or demand.all else {}
    kept: tuple[int, ...] = ()
    whole: set[ChunkKey] = set()
    for keys in (demand.all, demand.top):
        every = tuple(sorted({piece for key in keys for piece in pieces[key]}))
        if every and fits(candidates.problem, every, limits):
            return Selected(every, len(every), frozenset(demand.top))
    for key in demand.top:
        tried = tuple(sorted({*kept, *pieces[key]}))
        if fits(candidates.problem, tried, limits):
            kept = tried
            whole.add(key)
    return Selected(kept, len(kept), frozenset(whole))


def select(call: Call, candidates: CandidateSet, runs: Sequence[Run], demand: Demand, allowance: int) -> Selected:
    """Choose the best candidates within `allowance` tokens; less where the rest is not expected to be worth it."""
    kept = keep_hits(call, candidates, runs, demand, allowance)
    limits = limits_of(call, allowance)
    order = list(kept.order)
    for share, scores in demand.quotas:
        left = allowance - tokens_of(candidates.problem, kept.order)
        own = replace(limits, budget=tokens_of(candidates.problem, sorted(order)) + int(left * share))
        order = choose(candidates.valued_by(scores), own, sorted(order))
    if demand.quotas:
        call.log.mark("select", len(candidates.problem), len(order))
        return replace(kept, order=tuple(order))
    order = choose(candidates.problem, limits, kept.order)
    needed, left_out = len(order), 0.0
    if call.scorer.name == "calibrated":
        values = candidates.problem.values
        needed = max(kept.kept, 1, count_needed(values[order], float(values.sum()), call.config.effort))
        left_out = float(values[order[needed:]].sum() / max(float(values.sum()), 1e-12))
    call.log.selection = {"stopped": needed < len(order), "left_out": left_out}
    call.log.mark("select", len(candidates.problem), needed)
    return replace(kept, order=tuple(order[:needed]), stopped=needed < len(order))


def refill(call: Call, candidates: CandidateSet, selected: Selected, unused: int) -> Selected:
    """Add candidates for tokens that counting ahead had reserved, and that were not needed."""
    if selected.stopped:
        return selected
    ahead = tokens_of(candidates.problem, selected.chosen)
    order = choose(candidates.problem, limits_of(call, ahead + unused), selected.chosen)
    return replace(selected, order=(*selected.order, *order[len(selected.order) :]))
