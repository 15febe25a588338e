"""What pieces cost: tokens to choose by; what is shown is counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from retrivex.merging.units import Unit, Units
from retrivex.model.run import Run
from retrivex.rendering.render import Style, opening_samples
from retrivex.selection.pieces import CutRuns, Piece
from retrivex.text.leads import Prefixes, leads_of, may_have_lead
from retrivex.tokens.stored import TextCounts

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


def prices(
    runs: Sequence[Run], units: Units | None, cut: CutRuns, cache: TextCounts, *, counted: bool = False
) -> tuple[Integers, Integers]:
    """Tokens that each piece adds to the one before it, and the tokens more where a span opens at it.

    Units have their share of the tokens of their chunks, or with `counted` their own.
    """
    if units is None or cut.unit_of is None:
        return _chunk_prices(runs, cut.pieces, cut.joined, cache)
    if counted:
        texts = [runs[piece.run].text[piece.start : piece.end] for piece in cut.pieces]
        costs = np.array(cache.count_many(texts), dtype=np.int64)
    else:
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


def opening_tokens(runs: Sequence[Run], units: Units | None, cut: CutRuns, cache: TextCounts, style: Style) -> Integers:
    """Tokens of what opening a span at each piece adds around its text."""
    if units is not None and isinstance(cut.pieces, Units):
        samples = opening_samples(units.axis.chunks, style)
        return np.array(cache.count_many(samples), dtype=np.int64)[cut.pieces.chunk]
    samples = opening_samples([runs[p.run].chunks[p.first] for p in cut.pieces], style)
    return np.array(cache.count_many(samples), dtype=np.int64)


def lead_tokens(runs: Sequence[Run], cut: CutRuns, cache: TextCounts) -> Integers:
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


def _unit_costs(units: Units, pieces: Sequence[Piece | Unit], unit_of: Sequence[int]) -> Integers:
    """Tokens of each piece: its share of those of its unit, of which a part may be excluded."""
    numbers = np.array(unit_of, dtype=np.int64)
    lengths = np.array([piece.end - piece.start for piece in pieces], dtype=np.int64)
    whole = units.end[numbers] - units.start[numbers]
    return np.asarray(-(-units.tokens[numbers] * lengths // np.maximum(whole, 1)), dtype=np.int64)
