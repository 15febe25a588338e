"""Candidates -> the ones worth most within an allowance: the best hits, the hit lists' shares, then all others."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from retrivex.composer.call import Call
from retrivex.model.chunk import ChunkKey
from retrivex.model.run import Run
from retrivex.scoring.scorer import Valuation
from retrivex.selection.candidates import CandidateSet, Pick, join_picks, pieces_of
from retrivex.selection.constraints import choose, fits
from retrivex.selection.problem import Candidates, fill, measure, room_left


@dataclass(frozen=True, slots=True)
class Demand:
    """What a selection has to serve beside the total value.

    Parameters
    ----------
    top : chunks of the best hits, which are to be shown whole
    quotas : per hit list its share of the budget and the values of the candidates to it; empty where lists were fused
    """

    top: Sequence[ChunkKey]
    quotas: Sequence[tuple[float, Valuation]]


@dataclass(frozen=True, slots=True)
class Selected:
    """Positions of the chosen candidates, ascending, and the best hits that are shown whole."""

    chosen: tuple[int, ...]
    whole: frozenset[ChunkKey]


def caps_of(call: Call, candidates: CandidateSet) -> list[int] | None:
    """Most tokens of each document; None without a limit."""
    cap, documents = call.config.max_tokens_per_document, candidates.numbers.documents
    return None if cap is None or documents is None else [cap] * (max(documents, default=-1) + 1)


def keep_top(
    call: Call, candidates: CandidateSet, runs: Sequence[Run], top: Sequence[ChunkKey], allowance: int
) -> Selected:
    """Choose the pieces of the best hits that are to be shown whole, best first as far as they fit."""
    kept: tuple[int, ...] = ()
    whole: set[ChunkKey] = set()
    caps = caps_of(call, candidates)
    for key in top:
        tried = tuple(sorted({*kept, *pieces_of(candidates, runs, key)}))
        if fits(candidates.numbers, tried, allowance, max_runs=call.config.max_spans, caps=caps):
            kept = tried
            whole.add(key)
    return Selected(kept, frozenset(whole))


def select(call: Call, candidates: CandidateSet, runs: Sequence[Run], demand: Demand, allowance: int) -> Selected:
    """Choose the candidates worth most within `allowance` tokens, and fill what they leave."""
    config, numbers, caps = call.config, candidates.numbers, caps_of(call, candidates)
    began, spent = len(numbers), None
    kept = keep_top(call, candidates, runs, demand.top, allowance)
    if demand.quotas:
        chosen = _select_by_list(call, candidates, demand, kept.chosen, allowance)
    else:
        made = choose(
            numbers,
            allowance,
            run_cost=config.opening_cost,
            max_runs=config.max_spans,
            method=config.selection,
            keep=kept.chosen,
            caps=caps,
        )
        chosen, spent = made.chosen, made.tokens
        call.log.selection = {
            "value": made.value,
            "bound": made.bound if math.isfinite(made.bound) else None,
            "proven": made.proven,
        }
        if config.selection == "exact" and not made.proven:
            call.log.warn(
                f"the selection was too large to prove: worth {made.value:.4g}, the best possible is at most "
                f"{made.bound:.4g}"
            )
    chosen = fill(
        numbers,
        chosen,
        allowance,
        run_cost=config.opening_cost,
        max_runs=config.max_spans,
        caps=caps,
        spent=spent,
    )
    call.log.mark("select", began, len(chosen))
    return Selected(chosen, kept.whole)


def _select_by_list(
    call: Call, candidates: CandidateSet, demand: Demand, kept: tuple[int, ...], allowance: int
) -> tuple[int, ...]:
    """Choose for each hit list within its share of what the kept pieces leave."""
    rest = allowance - measure(candidates.numbers, kept, 0.0)[1]
    chosen = kept
    for share, valuation in demand.quotas:
        chosen = _select_for_list(call, candidates, chosen, valuation, int(rest * share))
    return _best_spans(candidates, chosen, kept, call.config.max_spans)


def _select_for_list(
    call: Call, candidates: CandidateSet, chosen: tuple[int, ...], valuation: Valuation, allowance: int
) -> tuple[int, ...]:
    """Add what is best for one hit list within its share; what other lists chose already is free."""
    numbers, config = candidates.numbers, call.config
    taken = set(chosen)
    mean = sum(numbers.costs) / max(len(numbers), 1) or 1.0
    worth = [
        0.0 if i in taken or candidates.values[i] <= 0 else candidates.worth(i, valuation) for i in range(len(numbers))
    ]
    own = Candidates(
        costs=[0 if i in taken else cost for i, cost in enumerate(numbers.costs)],
        openings=[0 if i in taken else opening for i, opening in enumerate(numbers.openings)],
        gains=[(w - config.min_value) * c / mean for w, c in zip(worth, numbers.costs, strict=True)],
        joined=numbers.joined,
        ranks=worth,
        documents=numbers.documents,
    )
    caps = caps_of(call, candidates)
    left = None if caps is None else room_left(numbers, chosen, caps)
    made = choose(own, allowance, run_cost=config.opening_cost, method=config.selection, caps=left)
    return tuple(sorted(taken | set(made.chosen)))


def _best_spans(
    candidates: CandidateSet, chosen: tuple[int, ...], kept: Collection[int], limit: int | None
) -> tuple[int, ...]:
    """Keep the `limit` best spans of what the hit lists chose, those of the kept pieces first of all."""
    picks = join_picks(candidates, chosen)
    if limit is None or len(picks) <= limit:
        return chosen
    starts = [candidates.pieces[i] for i in kept]

    def rank(pick: Pick) -> tuple[bool, float]:
        return (not any(p.run == pick.run and pick.start <= p.start < pick.end for p in starts), -pick.value)

    best = sorted(picks, key=rank)[:limit]
    places = list(zip(chosen, candidates.some(chosen), strict=True))
    return tuple(i for i, p in places if any(b.run == p.run and b.start <= p.start < b.end for b in best))


def refill(call: Call, candidates: CandidateSet, chosen: tuple[int, ...], unused: int) -> tuple[int, ...]:
    """Add candidates for tokens that counting ahead had reserved for separators and markers, and were not needed."""
    ahead = measure(candidates.numbers, chosen, 0.0)[1]
    return fill(
        candidates.numbers,
        chosen,
        ahead + unused,
        run_cost=call.config.opening_cost,
        max_runs=call.config.max_spans,
        caps=caps_of(call, candidates),
        spent=ahead,
    )
