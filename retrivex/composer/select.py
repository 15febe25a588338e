"""Candidates -> the best ones within an allowance: the best hits, the hit lists' shares, then all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from retrivex.composer.call import Call
from retrivex.config import RetrievalConfig
from retrivex.model.chunk import ChunkKey
from retrivex.model.run import Run
from retrivex.scoring.effort import count_needed
from retrivex.scoring.scores import Scores
from retrivex.selection.candidates import CandidateSet, pieces_of
from retrivex.selection.greedy import choose
from retrivex.selection.problem import Limits, fits, tokens_of


@dataclass(frozen=True, slots=True)
class Demand:
    """What a selection has to serve beside the total worth.

    Parameters
    ----------
    top : chunks of the best hits, which are to be shown whole as far as they fit
    quotas : per hit list its share of the budget and the values of the candidates to it; empty where lists were fused
    """

    top: Sequence[ChunkKey]
    quotas: Sequence[tuple[float, Scores]]


@dataclass(frozen=True, slots=True)
class Selected:
    """What was chosen.

    Parameters
    ----------
    order : positions of the candidates, in the order in which they were taken; what is kept comes first
    kept : how many of them are kept whatever they are worth
    whole : the best hits, which are shown whole
    stopped : whether there was room for more, which is expected to hold next to nothing
    given_up : positions that were taken last, and made the text too long
    """

    order: tuple[int, ...]
    kept: int
    whole: frozenset[ChunkKey]
    stopped: bool = False
    given_up: tuple[int, ...] = ()

    @property
    def chosen(self) -> tuple[int, ...]:
        """The same, ascending."""
        return tuple(sorted(self.order))

    def without_last(self, candidates: CandidateSet, share: float) -> Selected | None:
        """Give up the last that were taken, down to a share of the tokens; None where only what is kept is left."""
        order, most = self.order, share * tokens_of(candidates.problem, self.chosen)
        while len(order) > self.kept:
            order = order[:-1]
            if tokens_of(candidates.problem, sorted(order)) <= most:
                break
        gone = self.order[len(order) :]
        return replace(self, order=order, given_up=gone) if gone else None


def token_cap(config: RetrievalConfig) -> tuple[str, int] | None:
    """Return the option that limits the tokens of each document, by name, and its value; None where there is none."""
    cap = config.max_tokens_per_document
    return None if cap is None else ("max_tokens_per_document", cap)


def limits_of(call: Call, allowance: int) -> Limits:
    """Return what every choice for a call has to keep."""
    _, cap = token_cap(call.config) or ("", None)
    return Limits(allowance, call.config.max_spans, cap)


def keep_top(
    call: Call, candidates: CandidateSet, runs: Sequence[Run], top: Sequence[ChunkKey], allowance: int
) -> Selected:
    """Choose the pieces of the best hits that are to be shown whole, best first as far as they fit."""
    every = keep_all(call, candidates, runs, top, allowance)
    if every is not None:
        return every
    limits = limits_of(call, allowance)
    pieces = pieces_of(candidates, runs, top)
    kept: tuple[int, ...] = ()
    whole: set[ChunkKey] = set()
    for key in top:
        tried = tuple(sorted({*kept, *pieces[key]}))
        if fits(candidates.problem, tried, limits):
            kept = tried
            whole.add(key)
    return Selected(kept, len(kept), frozenset(whole))


def keep_all(
    call: Call, candidates: CandidateSet, runs: Sequence[Run], keys: Sequence[ChunkKey], allowance: int
) -> Selected | None:
    """Choose all pieces of some hits; None where they do not fit together."""
    pieces = pieces_of(candidates, runs, keys) if keys else {}
    every = tuple(sorted({piece for some in pieces.values() for piece in some}))
    if not fits(candidates.problem, every, limits_of(call, allowance)):
        return None
    return Selected(every, len(every), frozenset(keys))


def select(call: Call, candidates: CandidateSet, kept: Selected, demand: Demand, allowance: int) -> Selected:
    """Choose the best candidates within `allowance` tokens; less where the rest is expected to hold next to nothing."""
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
    if candidates.expected is not None:
        expected = candidates.expected[order]
        needed = max(kept.kept, 1, count_needed(expected, call.config.effort))
        left_out = float(expected[needed:].sum())
    call.log.selection = {"stopped": needed < len(order), "left_out": left_out}
    call.log.mark("select", len(candidates.problem), needed)
    return replace(kept, order=tuple(order[:needed]), stopped=needed < len(order))


def refill(call: Call, candidates: CandidateSet, selected: Selected, unused: int) -> Selected:
    """Add candidates for tokens that counting ahead had reserved, and that were not needed."""
    if selected.stopped:
        return selected
    ahead = tokens_of(candidates.problem, selected.chosen)
    order = choose(candidates.problem, limits_of(call, ahead + unused), selected.chosen, selected.given_up)
    return replace(selected, order=(*selected.order, *order[len(selected.order) :]))
