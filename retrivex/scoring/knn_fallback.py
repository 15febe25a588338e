"""Falls back to nearest-neighbour ranking when the question's words do not occur in the candidates.

The calibrated scorer trusts common words more than they deserve where a question is asked in other words than those of
its answer. Where too little of the question's words occurs among the candidates (`is_mismatched`), what plain nearest
neighbours would show of the hits within the budget (`knn_weights`) counts as well: `interpolate` gives each unit the
larger of the two values.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from retrivex.expansion.seeds import Seed
from retrivex.merging.exclusions import MIN_REPEATED, Exclusions
from retrivex.merging.units import Unit, Units
from retrivex.model.run import Run
from retrivex.scoring.features import NAMES, UnitTable
from retrivex.text.ranges import remaining

Floats = NDArray[np.float64]

MIN_COVERAGE = 0.7
"""Share of the question's words that has to occur among the candidates for the scorer to be trusted alone. Chosen on
one set, the paraphrased needles; the pages beside the results have the others."""

MIN_SPREAD = 1e-9
"""A signal with a smaller spread over the units carries no information."""

LAST_HIT_WEIGHT = 0.6
"""Weight of a hit for which the capacity is used up."""

_SIMILARITY = NAMES.index("similarity")


@dataclass(frozen=True, slots=True)
class Capacity:
    """Tokens and spans that the nearest hits may fill.

    Parameters
    ----------
    tokens : for all of them
    per_document : most tokens of each document; None for no limit
    exclusions : what may not be shown, and so fills nothing
    once : whether chunks of equal text fill it once, in whichever runs
    spans : most spans; None for any number
    """

    tokens: int
    per_document: int | None = None
    exclusions: Exclusions = field(default_factory=Exclusions)
    once: bool = False
    spans: int | None = None


def interpolate(
    shares: Floats,
    table: UnitTable,
    runs: Sequence[Run],
    units: Units,
    seeds: Sequence[Seed],
    capacity: Capacity,
    weight: float,
) -> tuple[Floats, NDArray[np.bool_]]:
    """Give units of the nearest hits at least their weight where the question's words are not among the candidates.

    Parameters
    ----------
    shares : shape (n,), the scorer's values of the units, as shares of the best
    table : features of the units
    runs, units : the candidates
    seeds : the hits, best first
    capacity : what the hits may fill
    weight : of the nearest hit, in [0, 1]; 0 switches the fallback off

    Returns
    -------
    values
        Shape (n,), at most 1.
    fallback
        Shape (n,), whether a unit counts for more than the scorer gave it.
    """
    if not weight or not is_mismatched(table):
        return shares, np.zeros(len(shares), dtype=np.bool_)
    near = weight * knn_weights(runs, units, seeds, capacity)
    values = np.maximum(shares, near)
    return values / max(1.0, float(values.max())), near > shares


def is_mismatched(table: UnitTable) -> bool:
    """Return whether the question's words say too little about which units answer it.

    Never where all units are equally similar, as the nearest hits are no guide then.

    Examples
    --------
    >>> values = np.zeros((3, len(NAMES)))
    >>> values[:, NAMES.index("similarity")] = [1.2, 0.0, -1.2]
    >>> [is_mismatched(UnitTable([], values, coverage)) for coverage in (0.6, 0.8)]
    [True, False]
    """
    if table.coverage >= MIN_COVERAGE or len(table.values) < 2:
        return False
    return float(np.ptp(table.values[:, _SIMILARITY])) > MIN_SPREAD


def knn_weights(runs: Sequence[Run], units: Units, seeds: Sequence[Seed], capacity: Capacity) -> Floats:
    """Return the weight of each unit in a nearest-neighbour ranking: 0 where there is no capacity for its hit.

    Hits are taken whole, one after the other: the first has weight 1, and the more of the capacity is used before a
    hit, the smaller its weight, towards `LAST_HIT_WEIGHT`. So a unit of high value takes the place of the last hits,
    not of the first. A unit that lies across chunks, or where chunks overlap, belongs to every hit that it has text of,
    and is counted once. A hit that does not fit is passed over, and so is one that would be a span too many.

    Parameters
    ----------
    runs : of candidates
    units : n, cut from the runs
    seeds : the hits, best first
    capacity : what they may fill
    """
    weights: Floats = np.zeros(len(units))
    places, chunks, run_of = units.axis.numbers, units.axis.chunks, units.axis.run.tolist()
    costs = _costs(runs, units, capacity.exclusions)
    left, spent = capacity.tokens, dict.fromkeys([seed.key[0] for seed in seeds], 0)
    first_run: dict[str, int] = {}
    shown: set[int] = set()
    for seed in seeds:
        if left <= 0:
            break
        at = places.get(seed.key)
        if at is None or first_run.get(text := chunks[at].text, run := run_of[at]) != run:
            continue
        if capacity.spans is not None and _spans({*shown, at}, run_of) > capacity.spans:
            continue
        touching = units.touching(at)
        tokens, doc_id = sum([costs[i] for i in touching]), seed.key[0]
        allowed = left if capacity.per_document is None else min(left, capacity.per_document - spent[doc_id])
        if 0 < tokens <= allowed:
            own = [i for i in touching if costs[i]]
            weights[own] = 1.0 - (1.0 - LAST_HIT_WEIGHT) * (1.0 - left / capacity.tokens)
            left -= tokens
            spent[doc_id] += tokens
            shown.add(at)
            if capacity.once and len(text) >= MIN_REPEATED:
                first_run.setdefault(text, run)
            for i in own:
                costs[i] = 0
    return weights


def _spans(places: Set[int], run_of: Sequence[int]) -> int:
    """How many spans chunks make that stand side by side in their runs, or do not."""
    return sum(at - 1 not in places or run_of[at - 1] != run_of[at] for at in places)


def _costs(runs: Sequence[Run], units: Units, exclusions: Exclusions) -> list[int]:
    """Tokens of each unit, 0 for those of which nothing may be shown."""
    tokens = units.tokens if units.hidden is None else np.where(units.hidden, 0, units.tokens)
    costs: list[int] = tokens.tolist()
    if not exclusions:
        return costs
    cuts = exclusions.cuts(runs)
    return [
        tokens if not cuts[unit.run] or _is_left(runs[unit.run], unit, cuts[unit.run]) else 0
        for tokens, unit in zip(costs, units, strict=True)
    ]


def _is_left(run: Run, unit: Unit, cuts: Sequence[tuple[int, int]]) -> bool:
    """Whether cuts leave something of a unit that is to be read."""
    return any(
        character.isalnum() for low, high in remaining(unit.start, unit.end, cuts) for character in run.text[low:high]
    )
