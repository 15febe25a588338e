r"""The exact choice among a few rows: a dynamic program over rows, tokens and spans, in plain numpy.

For every number of tokens *t* and spans *r* it keeps the best value with the last row taken, and without it. A row that
continues the one before may extend its span or open a new one. With a cap per document, each document has a table
:math:`v_d(r, t)` of its own, up to its cap, and the tables are combined one after the other,

.. math:: V_d(r, t) = \max_{r', t'} V_{d-1}(r - r', t - t') + v_d(r', t')

where only the :math:`(r', t')` matter that are worth more than any with fewer spans or tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrivex.selection.problem import TOLERANCE

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Row(NamedTuple):
    """A candidate, or several that are taken together.

    Parameters
    ----------
    gain : what it is worth
    cost : its tokens; 0 where they are paid already
    opening : more tokens where a span opens at it
    joined : whether it continues the row before it, of the same part
    forced : whether every set has to hold it
    """

    gain: float
    cost: int
    opening: int
    joined: bool
    forced: bool


class Part(NamedTuple):
    """Rows that share a cap, in order, by their numbers, and the most tokens that they may take."""

    numbers: Sequence[int]
    tokens: int


class _Table(NamedTuple):
    """Best values of a part, and how they came about.

    Parameters
    ----------
    part : numbers of its rows
    taken, skipped : shape (layers, tokens + 1), best value with and without the last row
    after_taken, extends : shape (n, layers, tokens + 1), whether the best without a row has the one before it, and
        whether the best with it extends the span of the one before it
    """

    part: Sequence[int]
    taken: Floats
    skipped: Floats
    after_taken: Flags
    extends: Flags

    @property
    def values(self) -> Floats:
        """Best value with at most so many spans and tokens."""
        return np.maximum(self.taken, self.skipped)


def count_cells(parts: Sequence[Part], tokens: int, layers: int) -> int:
    """Return how many cells `best_rows` would fill at a time."""
    cells = sum(len(part.numbers) * (part.tokens + 1) for part in parts)
    return max(cells, len(parts) * (tokens + 1) if len(parts) > 1 else 0) * layers


def best_rows(
    rows: Sequence[Row], parts: Sequence[Part], tokens: int, run_cost: float, layers: int
) -> tuple[int, ...] | None:
    """Return the numbers of the best set of rows, ascending; None where no set holds what is forced.

    Parameters
    ----------
    rows : in order
    parts : of all rows
    tokens : most of all parts together
    run_cost : price of a span, in the unit of the gains
    layers : most spans and 1; 1 where spans are not counted
    """
    tables = [_fill_table(rows, part, run_cost, layers) for part in parts]
    if len(tables) == 1:
        values = tables[0].values
        return tuple(_trace_back(rows, tables[0], *_last(values))) if np.isfinite(values[_last(values)]) else None
    return _combine(rows, tables, tokens, layers)


def _last(values: Floats) -> tuple[int, int]:
    return values.shape[0] - 1, values.shape[1] - 1


def _fill_table(rows: Sequence[Row], part: Part, run_cost: float, layers: int) -> _Table:
    shape, up = (layers, part.tokens + 1), int(layers > 1)
    skipped, taken = np.zeros(shape), np.full(shape, -np.inf)
    after_taken, extends = np.zeros((2, len(part.numbers), *shape), dtype=np.bool_)
    for at, number in enumerate(part.numbers):
        gain, cost, opening, joined, forced = rows[number]
        np.greater(taken, skipped, out=after_taken[at])
        best = np.maximum(taken, skipped)
        made = _spend(skipped if joined else best, up, cost + opening) + (gain - run_cost)
        if joined:
            extended = _spend(taken, 0, cost) + gain
            np.greater_equal(extended, made, out=extends[at])
            np.maximum(extended, made, out=made)
        taken, skipped = made, np.full(shape, -np.inf) if forced else best
    return _Table(part.numbers, taken, skipped, after_taken, extends)


def _spend(values: Floats, spans: int, tokens: int) -> Floats:
    """Return the values of the states that have opened so many spans and spent so many tokens more."""
    layers, width = values.shape
    made = np.full_like(values, -np.inf)
    if tokens < width and spans < layers:
        made[spans:, tokens:] = values[: layers - spans, : width - tokens]
    return made


def _trace_back(rows: Sequence[Row], table: _Table, layer: int, spent: int) -> list[int]:
    """Return the rows behind the best value of a table for so many spans and tokens, ascending."""
    chosen: list[int] = []
    on = bool(table.taken[layer, spent] > table.skipped[layer, spent])
    for at in range(len(table.part) - 1, -1, -1):
        if not on:
            on = bool(table.after_taken[at, layer, spent])
            continue
        row = rows[table.part[at]]
        chosen.append(table.part[at])
        on = bool(table.extends[at, layer, spent])
        spent -= row.cost
        if not on:
            spent -= row.opening
            layer -= len(table.taken) > 1
            on = not row.joined and bool(table.after_taken[at, layer, spent])
    return chosen[::-1]


def _combine(rows: Sequence[Row], tables: Sequence[_Table], tokens: int, layers: int) -> tuple[int, ...] | None:
    """Return the rows of the best sum of the tables: one state of each, within all spans and tokens."""
    best = np.zeros((layers, tokens + 1))
    steps: list[tuple[list[tuple[int, int]], NDArray[np.int32]]] = []
    for table in tables:
        values, made, took = table.values, np.full_like(best, -np.inf), np.zeros(best.shape, dtype=np.int32)
        states = _useful_states(values)
        for number, (spans, spent) in enumerate(states):
            offered = best[: layers - spans, : tokens + 1 - spent] + values[spans, spent]
            better = offered > made[spans:, spent:]
            made[spans:, spent:][better] = offered[better]
            took[spans:, spent:][better] = number
        best = made
        steps.append((states, took))
    layer, left = _last(best)
    if not np.isfinite(best[layer, left]):
        return None
    chosen: list[int] = []
    for table, (states, took) in reversed(list(zip(tables, steps, strict=True))):
        spans, spent = states[int(took[layer, left])]
        chosen += _trace_back(rows, table, spans, spent)
        layer, left = layer - spans, left - spent
    return tuple(sorted(chosen))


def _useful_states(values: Floats) -> list[tuple[int, int]]:
    """Return the spans and tokens that are worth more than any with fewer of either."""
    fewer = np.full_like(values, -np.inf)
    fewer[:, 1:] = values[:, :-1]
    np.maximum(fewer[1:], values[:-1], out=fewer[1:])
    with np.errstate(invalid="ignore"):  # -inf is no gain over -inf
        spans, tokens = np.nonzero(values > fewer + TOLERANCE)
    return list(zip(spans.tolist(), tokens.tolist(), strict=True))
