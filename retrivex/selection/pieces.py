"""Runs -> pieces: the chunks or units that can be picked, without what may not be shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrivex.merging.exclusions import Exclusions
from retrivex.merging.units import Unit, Units
from retrivex.model.chunk import ChunkKey
from retrivex.model.run import Run
from retrivex.text.ranges import overlapping, remaining

Flags = NDArray[np.bool_]


class Piece(NamedTuple):
    """A stretch of a run that can be picked.

    Parameters
    ----------
    run : number of the run
    first, last : positions in the run of the chunks it touches, inclusive
    start, end : offsets in the run's text
    """

    run: int
    first: int
    last: int
    start: int
    end: int


class CutRuns(NamedTuple):
    """Runs cut into pieces.

    Parameters
    ----------
    pieces : in document order
    joined : whether each continues the one before
    unit_of : number of the unit of each; None where chunks are picked
    excluded : chunks of which nothing is left
    """

    pieces: Sequence[Piece | Unit]
    joined: Flags
    unit_of: Sequence[int] | None
    excluded: set[ChunkKey]


def cut_runs(runs: Sequence[Run], units: Units | None, exclusions: Exclusions) -> CutRuns:
    """Cut runs into chunks or units; where nothing is excluded the units themselves are the pieces."""
    if units is None:
        return _chunk_pieces(runs, exclusions)
    if exclusions:
        return _cut_units(runs, units, exclusions)
    if units.hidden is None:
        return CutRuns(units, units.joined, range(len(units)), set())
    kept = units.without_hidden()
    return CutRuns(kept, kept.joined, units.whole.tolist(), set())


def _chunk_pieces(runs: Sequence[Run], exclusions: Exclusions) -> CutRuns:
    """One piece a chunk, or several where the middle is excluded; and which continue the one before.

    A chunk that adds no text to those before it is merged into the piece that shows it.
    """
    pieces: list[Piece] = []
    joined: list[bool] = []
    excluded: set[ChunkKey] = set()
    cuts_of = exclusions.cuts(runs)
    for number, (run, cuts) in enumerate(zip(runs, cuts_of, strict=True)):
        reached = -1
        for position, (start, end) in enumerate(run.ranges):
            parts = _readable(run, start, end, cuts) if cuts else [(start, end)]
            if not parts:
                excluded.add(run.chunks[position].key)
            for low, high in parts:
                if high <= reached and pieces[-1].start <= low:
                    pieces[-1] = pieces[-1]._replace(last=position)
                    continue
                # a chunk that lies across earlier ones is a piece of its own, which nothing continues
                follows = reached >= 0 and pieces[-1].end == reached
                joined.append(follows and not overlapping(cuts, reached, low))
                pieces.append(Piece(number, position, position, low, high))
                reached = max(reached, high)
    return CutRuns(pieces, np.array(joined, dtype=np.bool_), None, excluded)


def _readable(run: Run, start: int, end: int, cuts: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return what cuts leave of a stretch, without fragments of punctuation."""
    return [(low, high) for low, high in remaining(start, end, cuts) if any(c.isalnum() for c in run.text[low:high])]


def _cut_units(runs: Sequence[Run], units: Units, exclusions: Exclusions) -> CutRuns:
    """Make the pieces of units of which some are excluded, in whole or in part."""
    pieces: list[Piece] = []
    joined: list[bool] = []
    unit_of: list[int] = []
    left: set[tuple[int, int]] = set()
    cuts_of = exclusions.cuts(runs)
    for number in units.whole.tolist():
        unit = units[number]
        cuts = cuts_of[unit.run]
        parts = [(unit.start, unit.end, unit.first, unit.last)]
        if cuts:
            left_over = _readable(runs[unit.run], unit.start, unit.end, cuts)
            parts = [(*part, *touched) for part in left_over if (touched := _find_touched(runs[unit.run], unit, *part))]
        for low, high, first, last in parts:
            follows = bool(pieces) and pieces[-1].run == unit.run and number - unit_of[-1] <= 1
            # units of one run tile it, but for joiners between chunks: only a cut, or a hidden one, parts them
            joined.append(follows and not overlapping(cuts, pieces[-1].end, low))
            pieces.append(Piece(unit.run, first, last, low, high))
            unit_of.append(number)
        if parts and cuts:
            left.update((unit.run, at) for at in range(unit.first, unit.last + 1))
    excluded = {
        chunk.key
        for number, run in enumerate(runs)
        if cuts_of[number]
        for at, chunk in enumerate(run.chunks)
        if (number, at) not in left
    }
    return CutRuns(pieces, np.array(joined, dtype=np.bool_), unit_of, excluded)


def _find_touched(run: Run, unit: Unit, low: int, high: int) -> tuple[int, int] | None:
    """First and last of a unit's chunks that a part of it touches; None for a joiner between two that are gone."""
    inside = [p for p in range(unit.first, unit.last + 1) if run.ranges[p][0] < high and run.ranges[p][1] > low]
    return (inside[0], inside[-1]) if inside else None
