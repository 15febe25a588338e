"""Runs -> what the selection can pick: pieces with their price in tokens and their gain."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrivex.config import RetrievalConfig
from retrivex.merging.exclusions import Exclusions
from retrivex.merging.units import Unit, Units
from retrivex.model.chunk import ChunkKey
from retrivex.model.run import Run
from retrivex.rendering.render import Style, opening_samples
from retrivex.scoring.effort import expected_shares
from retrivex.scoring.scores import Scores
from retrivex.selection.duplicates import find_repeats
from retrivex.selection.problem import Problem
from retrivex.text.leads import Prefixes, leads_of, may_have_lead
from retrivex.text.ranges import overlapping, remaining
from retrivex.tokens.stored import TextCounts

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

VALUE_DIGITS = 12
"""Decimals of a value that count: processors differ in the last of a float, and equal values must stay equal."""


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


@dataclass(frozen=True)
class CandidateSet:
    """Pieces in document order, and the same as numbers for the solver.

    Parameters
    ----------
    pieces, problem : n each
    gains : shape (n,), value of each piece times its tokens, in best pieces of mean length
    probabilities : of each piece, the least score of a span that holds it; None where spans are scored by formula
    unit_of : of each piece, the number of its unit; None where chunks are picked
    excluded : chunks of which nothing is left, because they are pinned or were shown before
    repeated : chunks whose text stands in a better one, by the key of the other
    near : of those, the similarity of chunks that are almost the same
    expected : shape (n,), share of the evidence that is expected in each piece; None where it is not known
    """

    pieces: Sequence[Piece | Unit]
    problem: Problem
    gains: Floats
    excluded: set[ChunkKey]
    repeated: dict[ChunkKey, ChunkKey]
    probabilities: list[float] | None = None
    unit_of: Sequence[int] | None = None
    near: dict[ChunkKey, float] = field(default_factory=dict)
    expected: Floats | None = None

    def some(self, chosen: Sequence[int]) -> Sequence[Piece | Unit]:
        """Return some of the pieces."""
        return self.pieces.pick(chosen) if isinstance(self.pieces, Units) else [self.pieces[i] for i in chosen]

    def valued_by(self, scores: Scores) -> Problem:
        """Return the problem with the values of other scores of the same candidates."""
        if self.unit_of is not None:
            values = _of_units(scores.values, self.unit_of)
        else:
            values = [max(scores.chunks[p.run][p.first : p.last + 1]) for p in self.pieces]
        return replace(self.problem, values=np.where(self.problem.values > 0, values, 0.0))


class _Cut(NamedTuple):
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

    @property
    def is_units(self) -> bool:
        """Whether the pieces are whole units, and all that may be shown."""
        return isinstance(self.pieces, Units)


def _chunk_pieces(runs: Sequence[Run], exclusions: Exclusions) -> _Cut:
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
    return _Cut(pieces, np.array(joined, dtype=np.bool_), None, excluded)


def _readable(run: Run, start: int, end: int, cuts: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return what cuts leave of a stretch, without fragments of punctuation."""
    return [(low, high) for low, high in remaining(start, end, cuts) if any(c.isalnum() for c in run.text[low:high])]


def _prices(runs: Sequence[Run], units: Units | None, cut: _Cut, cache: TextCounts) -> tuple[Integers, Integers]:
    """Tokens that each piece adds to the one before it, and the tokens more where a span opens at it."""
    if units is None or cut.unit_of is None:
        return _chunk_prices(runs, cut.pieces, cut.joined, cache)
    costs = cut.pieces.tokens if isinstance(cut.pieces, Units) else _unit_costs(units, cut.pieces, cut.unit_of)
    return costs, np.zeros(len(costs), dtype=np.int64)


def _chunk_prices(
    runs: Sequence[Run], pieces: Sequence[Piece | Unit], joined: Flags, cache: TextCounts
) -> tuple[Integers, Integers]:
    whole = cache.count_many([
        run.chunks[p.first].text if run.ranges[p.first] == (p.start, p.end) else run.text[p.start : p.end]
        for p in pieces
        for run in (runs[p.run],)
    ])  # fmt: skip
    costs, extra = list(whole), [0] * len(whole)
    reached = 0
    for i, (piece, follows) in enumerate(zip(pieces, joined.tolist(), strict=True)):
        if not follows:
            reached = piece.end
            continue
        if piece.start < reached:
            # the overlap is there already where the one before is shown, and has to be paid where it is not
            costs[i] = cache.count(runs[piece.run].text[reached : piece.end]) if piece.end > reached else 0
            extra[i] = max(0, whole[i] - costs[i])
        reached = max(reached, piece.end)
    return np.array(costs, dtype=np.int64), np.array(extra, dtype=np.int64)


def _cut_units(runs: Sequence[Run], units: Units, exclusions: Exclusions) -> _Cut:
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
            same = bool(pieces) and pieces[-1].run == unit.run
            # units of one run tile it, but for joiners between chunks: only a cut parts them
            joined.append(same and not overlapping(cuts, pieces[-1].end, low))
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
    return _Cut(pieces, np.array(joined, dtype=np.bool_), unit_of, excluded)


def _find_touched(run: Run, unit: Unit, low: int, high: int) -> tuple[int, int] | None:
    """First and last of a unit's chunks that a part of it touches; None for a joiner between two that are gone."""
    inside = [p for p in range(unit.first, unit.last + 1) if run.ranges[p][0] < high and run.ranges[p][1] > low]
    return (inside[0], inside[-1]) if inside else None


def build_candidates(
    runs: Sequence[Run],
    scores: Scores,
    exclusions: Exclusions,
    cache: TextCounts,
    style: Style,
    config: RetrievalConfig,
    distinct: Collection[ChunkKey] = (),
) -> CandidateSet:
    """Make what the selection picks from; what is worth no more than `min_value` is worth nothing.

    Parameters
    ----------
    runs : m of them
    scores : values in [0, 1] of chunks, or of units
    exclusions : what may not be shown
    cache : counts tokens
    style : decides what opening a span costs
    config : `min_value`, `run_cost`, `dedupe_overlaps`, `near_duplicate_threshold`, `selection_unit`
    distinct : chunks that count although a better one has the same text
    """
    cut = _cut(runs, scores.units, exclusions)
    found = find_repeats(runs, scores, config)
    repeated = {key: other for key, other in found.of.items() if key not in distinct}
    values = np.array(_values(runs, scores, cut, repeated), dtype=np.float64).round(VALUE_DIGITS)
    costs, openings = _prices(runs, scores.units, cut, cache)
    if style.prefixes and config.selection_unit != "span":
        openings += _lead_tokens(runs, cut, cache)
    problem = Problem(
        costs,
        openings + _opening_tokens(runs, scores.units, cut, cache, style),
        np.where(values > config.min_value, values, 0.0),
        cut.joined,
        _documents(runs, cut.pieces),
        config.run_cost * float(costs.mean() if len(costs) else 0.0),
    )
    probabilities = _probabilities(scores, cut)
    made = CandidateSet(
        cut.pieces,
        problem,
        _gains(problem),
        cut.excluded,
        repeated,
        probabilities,
        cut.unit_of,
        found.similarity,
        _expected(scores, probabilities),
    )
    return _whole_runs(made) if config.selection_unit == "span" else made


def _gains(problem: Problem) -> Floats:
    mean = float(problem.costs.mean()) if problem.costs.any() else 1.0
    return np.asarray(problem.values * np.maximum(problem.costs, 1) / mean, dtype=np.float64)


def _cut(runs: Sequence[Run], units: Units | None, exclusions: Exclusions) -> _Cut:
    """Cut runs into chunks or units; where nothing is excluded the units themselves are the pieces."""
    if units is None:
        return _chunk_pieces(runs, exclusions)
    if exclusions:
        return _cut_units(runs, units, exclusions)
    if units.hidden is None:
        return _Cut(units, units.joined, range(len(units)), set())
    kept = units.without_hidden()
    return _Cut(kept, kept.joined, units.whole.tolist(), set())


def _values(runs: Sequence[Run], scores: Scores, cut: _Cut, repeated: Collection[ChunkKey]) -> list[float]:
    """Value of each piece, 0 where all of its chunks repeat a better one."""
    if cut.unit_of is None:
        rows = scores.chunks
        values = [
            rows[p.run][p.first] if p.first == p.last else max(rows[p.run][p.first : p.last + 1]) for p in cut.pieces
        ]
    else:
        values = _of_units(scores.values, cut.unit_of)
    if not repeated:
        return values
    # a unit across the border of a repeated chunk also says what follows it
    again = [all(chunk.key in repeated for chunk in runs[p.run].chunks[p.first : p.last + 1]) for p in cut.pieces]
    return [0.0 if once_more else value for once_more, value in zip(again, values, strict=True)]


def _probabilities(scores: Scores, cut: _Cut) -> list[float] | None:
    """Probability of each piece; None with the weighted scorer."""
    if scores.model is None:
        return None
    if cut.unit_of is not None:
        return _of_units(scores.probabilities, cut.unit_of)
    return [max(scores.chunk_probabilities[p.run][p.first : p.last + 1]) for p in cut.pieces]


def _expected(scores: Scores, probabilities: Sequence[float] | None) -> Floats | None:
    """Share of the evidence that is expected in each piece; None where the nearest hits count instead."""
    if scores.model is None or probabilities is None or (scores.hedged is not None and scores.hedged.any()):
        return None
    return expected_shares(np.array(probabilities), scores.model.sharpness)


def _of_units(values: list[float], unit_of: Sequence[int]) -> list[float]:
    """Return the values of the pieces' units; where the pieces are the units, the same list."""
    return values if isinstance(unit_of, range) else [values[number] for number in unit_of]


def _opening_tokens(runs: Sequence[Run], units: Units | None, cut: _Cut, cache: TextCounts, style: Style) -> Integers:
    """Tokens of what opening a span at each piece adds around its text."""
    if units is not None and isinstance(cut.pieces, Units):
        samples = opening_samples(units.axis.chunks, style)
        return np.array(cache.count_many(samples), dtype=np.int64)[cut.pieces.chunk]
    samples = opening_samples([runs[p.run].chunks[p.first] for p in cut.pieces], style)
    return np.array(cache.count_many(samples), dtype=np.int64)


def _lead_tokens(runs: Sequence[Run], cut: _Cut, cache: TextCounts) -> Integers:
    """Tokens of the head of a table, or the line in front of a list, that a span opening at each piece begins with."""
    tokens = np.zeros(len(cut.pieces), dtype=np.int64)
    known = {number: Prefixes(run.text, leads) for number, run in enumerate(runs) if (leads := leads_of(run.text))}
    if not known:
        return tokens
    for i, piece in enumerate(cut.pieces):
        if piece.run in known and may_have_lead(runs[piece.run].text, piece.start):
            run, own = runs[piece.run], runs[piece.run].chunks[piece.first].metadata.prefix
            prefix = known[piece.run].at(run.ranges[piece.first][0], piece.start, own)
            tokens[i] = cache.count(prefix) if prefix and prefix != own else 0
    return tokens


def _documents(runs: Sequence[Run], pieces: Sequence[Piece | Unit]) -> Integers:
    """Return the number of the document that each piece lies in, from 0."""
    numbers: dict[str, int] = {}
    of_run = np.array([numbers.setdefault(run.doc_id, len(numbers)) for run in runs], dtype=np.int64)
    return of_run[pieces.run if isinstance(pieces, Units) else [piece.run for piece in pieces]]


def chosen_keys(made: CandidateSet, runs: Sequence[Run], chosen: Sequence[int]) -> set[ChunkKey]:
    """Return the chunks that chosen pieces show something of."""
    return {runs[piece.run].chunks[at].key for piece in made.some(chosen) for at in range(piece.first, piece.last + 1)}


def pieces_of(made: CandidateSet, runs: Sequence[Run], keys: Sequence[ChunkKey]) -> dict[ChunkKey, tuple[int, ...]]:
    """Return the pieces that show all of each chunk, or the better copy of it, that may be shown."""
    shown: dict[ChunkKey, list[int]] = {}
    for number, piece in enumerate(made.pieces):
        run = runs[piece.run]
        for at in range(piece.first, piece.last + 1):
            # of chunks that overlap each shows its own
            start, end = run.ranges[at]
            if run.text[max(start, piece.start) : min(end, piece.end)].strip():
                shown.setdefault(run.chunks[at].key, []).append(number)
    return {key: tuple(shown.get(_copy_of(made, key), ())) for key in keys}


def _copy_of(made: CandidateSet, key: ChunkKey) -> ChunkKey:
    while key in made.repeated:
        key = made.repeated[key]
    return key


def _unit_costs(
    units: Units,
    pieces: Sequence[Piece | Unit],
    unit_of: Sequence[int],
) -> Integers:
    """Tokens of each piece: its share of those of its unit, of which a part may be excluded."""
    numbers = np.array(unit_of, dtype=np.int64)
    lengths = np.array([piece.end - piece.start for piece in pieces], dtype=np.int64)
    whole = units.end[numbers] - units.start[numbers]
    return np.asarray(-(-units.tokens[numbers] * lengths // np.maximum(whole, 1)), dtype=np.int64)


def _whole_runs(made: CandidateSet) -> CandidateSet:
    """Merge joined pieces into one candidate each: spans are taken whole or not at all."""
    if not made.pieces:
        return made
    problem = made.problem
    starts = np.flatnonzero(~problem.joined)
    groups = [range(a, b) for a, b in zip(starts.tolist(), [*starts[1:].tolist(), len(made.pieces)], strict=True)]
    pieces = [
        Piece(made.pieces[g[0]].run, made.pieces[g[0]].first, made.pieces[g[-1]].last, made.pieces[g[0]].start,
              max(made.pieces[i].end for i in g))
        for g in groups
    ]  # fmt: skip
    whole = Problem(
        np.add.reduceat(problem.costs, starts),
        problem.openings[starts],
        np.maximum.reduceat(problem.values, starts),
        np.zeros(len(starts), dtype=np.bool_),
        problem.documents[starts],
        problem.span_price,
    )
    probabilities = [max(made.probabilities[i] for i in g) for g in groups] if made.probabilities else None
    expected = None if made.expected is None else np.add.reduceat(made.expected, starts)
    return replace(
        made,
        pieces=pieces,
        problem=whole,
        gains=np.add.reduceat(made.gains, starts),
        probabilities=probabilities,
        unit_of=None,
        expected=expected,
    )


class Pick(NamedTuple):
    """Chosen pieces that make one span; fields as in `Piece`.

    Parameters
    ----------
    value : what the selection counted for them
    score : of the best piece; None where spans are scored by formula
    """

    run: int
    first: int
    last: int
    start: int
    end: int
    value: float
    score: float | None = None


def join_picks(made: CandidateSet, chosen: Sequence[int]) -> list[Pick]:
    """Merge chosen pieces that touch or overlap into one stretch of text each, so that nothing is shown twice."""
    picks: list[Pick] = []
    members: list[int] = []
    group: list[Piece | Unit] = []
    reached = -1
    for i, piece in zip(chosen, made.some(chosen), strict=True):
        follows = bool(members) and piece.run == group[-1].run
        if follows and not (members[-1] == i - 1 and made.problem.continues[i]) and piece.start > reached:
            follows = False
        if members and not follows:
            picks.append(_pick(made, members, group))
            members, group = [], []
        reached = max(reached, piece.end) if follows else piece.end
        members.append(i)
        group.append(piece)
    return [*picks, _pick(made, members, group)] if members else []


def _pick(made: CandidateSet, members: Sequence[int], pieces: Sequence[Piece | Unit]) -> Pick:
    """One pick of pieces that touch, overlap or continue each other."""
    reached, last = max([piece.end for piece in pieces]), max([piece.last for piece in pieces])
    probabilities = made.probabilities
    value = float(made.gains[list(members)].sum())
    score = max([probabilities[i] for i in members]) if probabilities else None
    return Pick(pieces[0].run, pieces[0].first, last, pieces[0].start, reached, value, score)
