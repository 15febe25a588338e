"""Runs -> what the selection can pick: pieces with their price in tokens and their gain."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from retrivex.chunk import ChunkKey
from retrivex.config import RetrievalConfig
from retrivex.exclusions import Exclusions
from retrivex.ranges import remaining
from retrivex.rendering import Style, opening_samples
from retrivex.selection import Candidates
from retrivex.stitching import Run
from retrivex.tokens import TokenCache

MIN_REPEATED = 40
"""Characters from which on two equal chunks count as the same passage indexed twice; shorter ones recur by chance."""


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


@dataclass(frozen=True, slots=True)
class CandidateSet:
    """Pieces in document order, and the same as numbers for the selection.

    Parameters
    ----------
    pieces, numbers : n each
    values : of each piece, as a share of the query's best
    excluded : chunks of which nothing is left, because they are pinned or were shown before
    repeated : chunks whose text stands in a better one, by the key of the other
    """

    pieces: list[Piece]
    numbers: Candidates
    values: list[float]
    excluded: set[ChunkKey]
    repeated: dict[ChunkKey, ChunkKey]


def repeated_chunks(runs: Sequence[Run], values: Sequence[Sequence[float]]) -> dict[ChunkKey, ChunkKey]:
    """Chunks with the same text as a chunk of another run that is worth more, mapped to that one."""
    best: dict[str, tuple[float, int, ChunkKey]] = {}
    repeated: dict[ChunkKey, ChunkKey] = {}
    for number, (run, row) in enumerate(zip(runs, values, strict=True)):
        for chunk, value in zip(run.chunks, row, strict=True):
            if len(chunk.text) < MIN_REPEATED:
                continue
            known = best.get(chunk.text)
            if known is None or known[1] == number:
                best.setdefault(chunk.text, (value, number, chunk.key))
            elif known[0] >= value:
                repeated[chunk.key] = known[2]
            else:
                repeated[known[2]] = chunk.key
                best[chunk.text] = (value, number, chunk.key)
    return repeated


def _chunk_pieces(runs: Sequence[Run], exclusions: Exclusions) -> tuple[list[Piece], list[bool], set[ChunkKey]]:
    """One piece a chunk, or several where the middle is excluded; and which continue the one before.

    A chunk that adds no text to those before it melts into the piece that shows it.
    """
    pieces: list[Piece] = []
    joined: list[bool] = []
    excluded: set[ChunkKey] = set()
    for number, run in enumerate(runs):
        cuts = exclusions.cuts(run) if exclusions else []
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
                joined.append(follows and not (cuts and any(a < low and b > reached for a, b in cuts)))
                pieces.append(Piece(number, position, position, low, high))
                reached = max(reached, high)
    return pieces, joined, excluded


def _readable(run: Run, start: int, end: int, cuts: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return what cuts leave of a stretch, without scraps of punctuation."""
    return [(low, high) for low, high in remaining(start, end, cuts) if any(c.isalnum() for c in run.text[low:high])]


def _prices(
    runs: Sequence[Run], pieces: Sequence[Piece], joined: Sequence[bool], cache: TokenCache
) -> tuple[list[int], list[int]]:
    """Tokens that each piece adds to the one before it, and what it costs more where a run opens at it."""
    whole = cache.count_many([
        run.chunks[p.first].text if run.ranges[p.first] == (p.start, p.end) else run.text[p.start : p.end]
        for p in pieces
        for run in (runs[p.run],)
    ])  # fmt: skip
    costs, extra = list(whole), [0] * len(whole)
    reached = 0
    for i, piece in enumerate(pieces):
        if not joined[i]:
            reached = piece.end
            continue
        if piece.start < reached:
            # the overlap is there already where the one before is shown, and has to be paid where it is not
            costs[i] = cache.count(runs[piece.run].text[reached : piece.end]) if piece.end > reached else 0
            extra[i] = max(0, whole[i] - costs[i])
        reached = max(reached, piece.end)
    return costs, extra


def build_candidates(
    runs: Sequence[Run],
    values: Sequence[Sequence[float]],
    exclusions: Exclusions,
    cache: TokenCache,
    style: Style,
    config: RetrievalConfig,
    distinct: Collection[ChunkKey] = (),
) -> CandidateSet:
    """Make what the selection picks from: gain = (value - `min_value`) * tokens / mean tokens.

    Parameters
    ----------
    runs : m of them
    values : per run, one value in [0, 1] a chunk
    exclusions : what may not be shown
    cache : counts tokens
    style : decides what opening a span costs
    config : `min_value`, `dedupe_overlaps`, `selection_unit`
    distinct : chunks that count although a better one has the same text
    """
    pieces, joined, excluded = _chunk_pieces(runs, exclusions)
    repeated = repeated_chunks(runs, values) if config.dedupe_overlaps and len(runs) > 1 else {}
    repeated = {key: other for key, other in repeated.items() if key not in distinct}
    worth = [
        0.0
        if repeated and runs[p.run].chunks[p.first].key in repeated
        else values[p.run][p.first]
        if p.first == p.last
        else max(values[p.run][p.first : p.last + 1])
        for p in pieces
    ]
    costs, extra = _prices(runs, pieces, joined, cache)
    samples = cache.count_many(opening_samples([runs[p.run].chunks[p.first] for p in pieces], style))
    openings = [sample + repeated_part for sample, repeated_part in zip(samples, extra, strict=True)]
    mean = sum(costs) / len(costs) if sum(costs) else 1.0
    # a piece that costs nothing, of white space or control characters, is still worth having if it was a hit
    gains = [(value - config.min_value) * max(cost, 1) / mean for value, cost in zip(worth, costs, strict=True)]
    numbers = Candidates(costs, openings, gains, joined, worth)
    made = CandidateSet(pieces, numbers, worth, excluded, repeated)
    return _whole_runs(made) if config.selection_unit == "span" else made


def _whole_runs(made: CandidateSet) -> CandidateSet:
    """Melt joined pieces into one candidate each: spans are taken whole or not at all."""
    if not made.pieces:
        return made
    numbers = made.numbers
    starts = [i for i, joined in enumerate(numbers.joined) if not joined]
    groups = [range(a, b) for a, b in zip(starts, [*starts[1:], len(made.pieces)], strict=True)]
    pieces = [
        Piece(made.pieces[g[0]].run, made.pieces[g[0]].first, made.pieces[g[-1]].last, made.pieces[g[0]].start,
              max(made.pieces[i].end for i in g))
        for g in groups
    ]  # fmt: skip
    values = [max(made.values[i] for i in g) for g in groups]
    whole = Candidates(
        costs=[sum(numbers.costs[i] for i in g) for g in groups],
        openings=[numbers.openings[g[0]] for g in groups],
        gains=[sum(numbers.gains[i] for i in g) for g in groups],
        joined=[False] * len(groups),
        ranks=values,
    )
    return CandidateSet(pieces, whole, values, made.excluded, made.repeated)


@dataclass(frozen=True, slots=True)
class Pick:
    """Chosen pieces that make one span; fields as in `Piece`.

    Parameters
    ----------
    value : what the selection counted for them
    parts : the pieces as `(start, end)` in the run's text, each without what the one before it shows
    """

    run: int
    first: int
    last: int
    start: int
    end: int
    value: float
    parts: tuple[tuple[int, int], ...]


def join_picks(made: CandidateSet, chosen: Sequence[int]) -> list[Pick]:
    """Melt chosen pieces that touch or overlap into one stretch of text each, so that nothing is shown twice."""
    picks: list[Pick] = []
    joined = made.numbers.joined
    for _, group in groupby(chosen, key=lambda i: made.pieces[i].run):
        members: list[int] = []
        reached = -1
        for i in group:
            piece = made.pieces[i]
            if members and not (joined[i] and members[-1] == i - 1) and piece.start > reached:
                picks.append(_pick(made, members))
                members, reached = [], -1
            members.append(i)
            reached = max(reached, piece.end)
        picks.append(_pick(made, members))
    return picks


def _pick(made: CandidateSet, members: Sequence[int]) -> Pick:
    """One pick of pieces that touch, overlap or continue each other."""
    pieces = [made.pieces[i] for i in members]
    parts: list[tuple[int, int]] = []
    reached = -1
    for piece in pieces:
        start = max(piece.start, reached)
        if start < piece.end:
            parts.append((start, piece.end))
            reached = piece.end
    value = sum(made.numbers.gains[i] for i in members)
    last = max(piece.last for piece in pieces)
    return Pick(pieces[0].run, pieces[0].first, last, pieces[0].start, reached, value, tuple(parts))
