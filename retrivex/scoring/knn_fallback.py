"""What plain nearest neighbours would show: the best hits that fit, one after the other."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from retrivex.expansion.seeds import Seed
from retrivex.merging.exclusions import MIN_REPEATED, Exclusions
from retrivex.merging.units import Unit, Units
from retrivex.model.run import Run
from retrivex.text.ranges import remaining

LAST = 0.6
"""What a hit would count for which the room is full."""

OPENING = 2.0
"""Of a span's price, what a short hit gets back: the price once, and once for its marks, which cost about as much."""

_MOST = 0.5  # that a short hit counts more


@dataclass(frozen=True, slots=True)
class Room:
    """What hits may fill.

    Parameters
    ----------
    tokens : for all of them
    per_document : most tokens of each document; None for no limit
    exclusions : what may not be shown, and so fills nothing
    once : whether chunks of equal text fill it once, in whichever runs
    run_cost : price of one more span, in best units of mean length
    spans : most spans; None for any number
    """

    tokens: int
    per_document: int | None = None
    exclusions: Exclusions = field(default_factory=Exclusions)
    once: bool = False
    run_cost: float = 0.0
    spans: int | None = None


def nearest_that_fit(runs: Sequence[Run], units: Units, seeds: Sequence[Seed], room: Room) -> NDArray[np.float64]:
    """Return how much units count for being near: 0 where there is no room left for their hits.

    Hits are taken whole, one after the other: the first counts 1, and the fuller the room is before a hit, the less it
    counts, towards `LAST`. So where something else is worth more, it takes the place of the last ones, as it would with
    plain nearest neighbours. A unit that lies across chunks, or where chunks overlap, belongs to every hit that it says
    something of, and is paid once. A hit that there is no room for is passed over, and so is one that would be a span
    too many.

    Nearest neighbours count hits, not tokens. So a hit that is shorter than the candidates' chunks are on average, as
    the last of a document often is, counts more by the token: by what opening a span costs it more, half of what a
    unit counts at most.

    Parameters
    ----------
    runs : of candidates
    units : n, cut from the runs
    seeds : the hits, best first
    room : what they may fill
    """
    nearest: NDArray[np.float64] = np.zeros(len(units))
    places, chunks, run_of = units.axis.numbers, units.axis.chunks, units.axis.run.tolist()
    costs = _costs(runs, units, room.exclusions)
    whole = costs.copy()
    ordinary = sum(costs) / len(chunks)
    price = OPENING * room.run_cost * sum(costs) / len(costs)  # of a span, in tokens
    left, spent = room.tokens, dict.fromkeys([seed.key[0] for seed in seeds], 0)
    first_run: dict[str, int] = {}
    shown: set[int] = set()
    for seed in seeds:
        if left <= 0:
            break
        at = places.get(seed.key)
        if at is None or first_run.get(text := chunks[at].text, run := run_of[at]) != run:
            continue
        if room.spans is not None and _spans({*shown, at}, run_of) > room.spans:
            continue
        touching = units.touching(at)
        tokens, doc_id = sum([costs[i] for i in touching]), seed.key[0]
        allowed = left if room.per_document is None else min(left, room.per_document - spent[doc_id])
        if 0 < tokens <= allowed:
            own = [i for i in touching if costs[i]]
            length = sum([whole[i] for i in touching])  # also of what better hits have paid
            short = min(price * (1 / length - 1 / ordinary), _MOST) if length < ordinary else 0.0
            nearest[own] = 1.0 - (1.0 - LAST) * (1.0 - left / room.tokens) + short
            left -= tokens
            spent[doc_id] += tokens
            shown.add(at)
            if room.once and len(text) >= MIN_REPEATED:
                first_run.setdefault(text, run)
            for i in own:
                costs[i] = 0
    return nearest


def _spans(places: Set[int], run_of: Sequence[int]) -> int:
    """How many spans chunks make that stand side by side in their runs, or do not."""
    return sum(at - 1 not in places or run_of[at - 1] != run_of[at] for at in places)


def _costs(runs: Sequence[Run], units: Units, exclusions: Exclusions) -> list[int]:
    """Tokens of each unit, 0 for those of which nothing may be shown."""
    costs: list[int] = units.tokens.tolist()
    if not exclusions:
        return costs
    cuts = [exclusions.cuts(run) for run in runs]
    return [
        tokens if not cuts[unit.run] or _is_left(runs[unit.run], unit, cuts[unit.run]) else 0
        for tokens, unit in zip(costs, units, strict=True)
    ]


def _is_left(run: Run, unit: Unit, cuts: Sequence[tuple[int, int]]) -> bool:
    """Whether cuts leave something of a unit that is to be read."""
    return any(
        character.isalnum() for low, high in remaining(unit.start, unit.end, cuts) for character in run.text[low:high]
    )
