"""Runs -> what the selection can pick: pieces with their price in tokens and their gain."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from retrivex.config import RetrievalConfig
from retrivex.merging.exclusions import Exclusions
from retrivex.merging.units import Unit, Units
from retrivex.model.chunk import ChunkKey
from retrivex.model.run import Run
from retrivex.rendering.render import Style
from retrivex.scoring.effort import expected_shares
from retrivex.scoring.scores import Scores
from retrivex.selection.duplicates import find_repeats
from retrivex.selection.pieces import CutRuns, Piece, cut_runs
from retrivex.selection.prices import lead_tokens, opening_tokens, prices
from retrivex.selection.problem import Problem
from retrivex.tokens.stored import TextCounts

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


VALUE_DIGITS = 12
"""Decimals of a value that count: processors differ in the last of a float, and equal values must stay equal."""


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

    def places(self, chosen: Sequence[int]) -> Sequence[Integers]:
        """Return the fields of a `Piece` of some of the pieces, a column each."""
        if isinstance(self.pieces, Units):
            numbers = np.array(chosen, dtype=np.int64)
            return [row[numbers] for row in self.pieces.places]
        return list(np.array([self.pieces[i][:5] for i in chosen], dtype=np.int64).T)

    def valued_by(self, scores: Scores) -> Problem:
        """Return the problem with the values of other scores of the same candidates."""
        if self.unit_of is not None:
            values = _of_units(scores.values, self.unit_of)
        else:
            values = [max(scores.chunks[p.run][p.first : p.last + 1]) for p in self.pieces]
        return replace(self.problem, values=np.where(self.problem.values > 0, values, 0.0))


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
    cut = cut_runs(runs, scores.units, exclusions)
    found = find_repeats(runs, scores, config)
    repeated = {key: other for key, other in found.of.items() if key not in distinct}
    values = np.array(_values(runs, scores, cut, repeated), dtype=np.float64).round(VALUE_DIGITS)
    costs, openings = prices(runs, scores.units, cut, cache, counted=config.max_tokens_per_document is not None)
    if style.prefixes and config.selection_unit != "span":
        openings += lead_tokens(runs, cut, cache)
    problem = Problem(
        costs,
        openings + opening_tokens(runs, scores.units, cut, cache, style),
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
        _expected(scores, probabilities, cut.unit_of),
    )
    return _whole_runs(made) if config.selection_unit == "span" else made


def _gains(problem: Problem) -> Floats:
    mean = float(problem.costs.mean()) if problem.costs.any() else 1.0
    return np.asarray(problem.values * np.maximum(problem.costs, 1) / mean, dtype=np.float64)


def _values(runs: Sequence[Run], scores: Scores, cut: CutRuns, repeated: Collection[ChunkKey]) -> list[float]:
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


def _probabilities(scores: Scores, cut: CutRuns) -> list[float] | None:
    """Probability of each piece; None with the weighted scorer."""
    if scores.model is None:
        return None
    if cut.unit_of is not None:
        return _of_units(scores.probabilities, cut.unit_of)
    return [max(scores.chunk_probabilities[p.run][p.first : p.last + 1]) for p in cut.pieces]


def _expected(scores: Scores, probabilities: Sequence[float] | None, unit_of: Sequence[int] | None) -> Floats | None:
    """Share of the evidence that is expected in each piece; None where the nearest hits count instead."""
    if scores.model is None or probabilities is None or (scores.hedged is not None and scores.hedged.any()):
        return None
    if scores.parts and scores.expected is not None and unit_of is not None:
        return scores.expected[list(unit_of)]  # of each question as much
    return expected_shares(np.array(probabilities), scores.model.sharpness)


def _of_units(values: list[float], unit_of: Sequence[int]) -> list[float]:
    """Return the values of the pieces' units; where the pieces are the units, the same list."""
    return values if isinstance(unit_of, range) else [values[number] for number in unit_of]


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
