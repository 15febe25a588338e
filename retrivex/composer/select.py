"""Candidates -> the best ones within an allowance: the best hits, the hit lists' shares, then all others."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from retrivex.composer.call import Call
from retrivex.config import RetrievalConfig
from retrivex.model.chunk import ChunkKey
from retrivex.model.run import Run
from retrivex.scoring.scorer import Scores
from retrivex.selection.candidates import CandidateSet, Pick, join_picks, pieces_of
from retrivex.selection.counted import find_better
from retrivex.selection.greedy import fill
from retrivex.selection.problem import Limits, Selection, capacity_left, fits, measure
from retrivex.selection.solve import solve


@dataclass(frozen=True, slots=True)
class Demand:
    """What a selection has to serve beside the total value.

    Parameters
    ----------
    top : chunks of the best hits, which are to be shown whole
    quotas : per hit list its share of the budget and the values of the candidates to it; empty where lists were fused
    """

    top: Sequence[ChunkKey]
    quotas: Sequence[tuple[float, Scores]]


@dataclass(frozen=True, slots=True)
class Selected:
    """What was chosen.

    Parameters
    ----------
    chosen : positions of the candidates, ascending
    whole : the best hits, which are shown whole
    kept : positions that show them
    value : the objective, before what was left of the allowance was filled; None where nothing was proven
    """

    chosen: tuple[int, ...]
    whole: frozenset[ChunkKey]
    kept: tuple[int, ...] = ()
    value: float | None = None


def token_cap(config: RetrievalConfig) -> tuple[str, int] | None:
    """Return the option that limits the tokens of each document, by name, and its value; None where there is none."""
    cap = config.max_tokens_per_document
    return None if cap is None else ("max_tokens_per_document", cap)


def limits_of(call: Call, candidates: CandidateSet, allowance: int, keep: Collection[int] = ()) -> Limits:
    """Return what every choice for a call has to keep."""
    cap, documents = token_cap(call.config), candidates.problem.documents
    caps = None if cap is None or documents is None else [cap[1]] * (max(documents, default=-1) + 1)
    return Limits(allowance, call.config.max_spans, caps, keep)


def keep_top(
    call: Call, candidates: CandidateSet, runs: Sequence[Run], top: Sequence[ChunkKey], allowance: int
) -> Selected:
    """Choose the pieces of the best hits that are to be shown whole, best first as far as they fit."""
    kept: tuple[int, ...] = ()
    whole: set[ChunkKey] = set()
    limits = limits_of(call, candidates, allowance)
    pieces = pieces_of(candidates, runs, top) if top else {}
    # one by one only where something has to go: what is kept is then no longer than the budget
    everything = tuple(sorted({piece for some in pieces.values() for piece in some}))
    if fits(candidates.problem, everything, limits):
        return Selected(everything, frozenset(top), everything)
    for key in top:
        tried = tuple(sorted({*kept, *pieces[key]}))
        if fits(candidates.problem, tried, limits):
            kept = tried
            whole.add(key)
    return Selected(kept, frozenset(whole), kept)


def select(call: Call, candidates: CandidateSet, runs: Sequence[Run], demand: Demand, allowance: int) -> Selected:
    """Choose the best candidates within `allowance` tokens, and fill what they leave."""
    kept = keep_top(call, candidates, runs, demand.top, allowance)
    limits = limits_of(call, candidates, allowance, kept.chosen)
    spent = value = None
    if demand.quotas:
        chosen = _select_by_list(call, candidates, demand, limits)
    else:
        made = solve(candidates.problem, limits, call.config.selection)
        chosen, spent = made.chosen, made.tokens
        value = made.value if made.proven else None
        _record(call, made)
    chosen = fill(candidates.problem, chosen, limits, spent=spent, earning=candidates.stops)
    call.log.mark("select", len(candidates.problem), len(chosen))
    return Selected(chosen, kept.whole, kept.chosen, value)


def select_by_count(
    call: Call,
    candidates: CandidateSet,
    selected: Selected,
    allowance: int,
    count: Callable[[tuple[int, ...]], int],
    saved: int,
) -> Selected | None:
    """Return a choice that is worth more than `selected` and fits as it is written; None where there is none.

    Parameters
    ----------
    allowance : most tokens by `count`
    count, saved : as in `find_better`
    """
    problem, limits = candidates.problem, limits_of(call, candidates, allowance, selected.kept)
    value = max(selected.value or 0.0, measure(problem, selected.chosen)[0])
    chosen = find_better(problem, limits, value, count, saved)
    if chosen is None:
        return None
    made, tokens = measure(problem, chosen)
    _record(call, Selection(chosen, made, tokens, bound=made, proven=True))
    return replace(selected, chosen=chosen, value=made)


def _record(call: Call, made: Selection) -> None:
    """Record how good a selection is; warn of one that should be exact and is not proven to be."""
    bound = made.bound if math.isfinite(made.bound) else None
    call.log.selection = {"value": made.value, "bound": bound, "proven": made.proven}
    if call.config.selection == "exact" and not made.proven:
        call.log.warn(
            f"the selection was too large to prove: its value is {made.value:.4g}, the best possible is at most "
            f"{made.bound:.4g}"
        )


def _select_by_list(call: Call, candidates: CandidateSet, demand: Demand, limits: Limits) -> tuple[int, ...]:
    """Choose for each hit list within its share of what the kept pieces leave."""
    chosen = tuple(limits.keep)
    rest = limits.budget - measure(candidates.problem, chosen)[1]
    for share, scores in demand.quotas:
        chosen = _select_for_list(call, candidates, chosen, scores, replace(limits, budget=int(rest * share)))
    return _best_spans(candidates, chosen, limits)


def _select_for_list(
    call: Call, candidates: CandidateSet, chosen: tuple[int, ...], scores: Scores, limits: Limits
) -> tuple[int, ...]:
    """Add what is best for one hit list within its share; what other lists chose already is free."""
    problem = candidates.problem
    taken = set(chosen)
    mean = sum(problem.costs) / max(len(problem), 1) or 1.0
    ranks = [
        0.0 if i in taken or candidates.values[i] <= 0 else candidates.value_by(i, scores) for i in range(len(problem))
    ]
    own = replace(
        problem,
        costs=[0 if i in taken else cost for i, cost in enumerate(problem.costs)],
        openings=[0 if i in taken else opening for i, opening in enumerate(problem.openings)],
        gains=[(w - candidates.floor) * c / mean for w, c in zip(ranks, problem.costs, strict=True)],
        ranks=ranks,
    )
    left = None if limits.caps is None else capacity_left(problem, chosen, limits.caps)
    made = solve(own, Limits(limits.budget, caps=left), call.config.selection)
    return tuple(sorted(taken | set(made.chosen)))


def _best_spans(candidates: CandidateSet, chosen: tuple[int, ...], limits: Limits) -> tuple[int, ...]:
    """Keep the `max_spans` best spans of what the hit lists chose, those of the kept pieces first of all."""
    limit = limits.max_spans
    picks = join_picks(candidates, chosen)
    if limit is None or len(picks) <= limit:
        return chosen
    starts = [candidates.pieces[i] for i in limits.keep]

    def rank(pick: Pick) -> tuple[bool, float]:
        return (not any(p.run == pick.run and pick.start <= p.start < pick.end for p in starts), -pick.value)

    best = sorted(picks, key=rank)[:limit]
    places = list(zip(chosen, candidates.some(chosen), strict=True))
    return tuple(i for i, p in places if any(b.run == p.run and b.start <= p.start < b.end for b in best))


def refill(call: Call, candidates: CandidateSet, chosen: tuple[int, ...], unused: int) -> tuple[int, ...]:
    """Add candidates for tokens that counting ahead had reserved, and that were not needed."""
    ahead = measure(candidates.problem, chosen)[1]
    return fill(
        candidates.problem, chosen, limits_of(call, candidates, ahead + unused), spent=ahead, earning=candidates.stops
    )
