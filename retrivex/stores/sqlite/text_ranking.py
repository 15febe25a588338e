"""BM25 without scoring every match: which rows can be among the best is decided by which words they hold.

SQLite's full-text index scores a row in microseconds and finds it in a hundredth of that. In a large index a question
with frequent words matches a good part of all rows, of which only few can be among the best: those with the rare
words, and those with several of the frequent ones. `promising` returns an expression for such rows. They are then
scored by the whole question, so that scores are the same as ever; rows that are left out hold words of less weight
than any row that is scored.

The threshold is chosen from the frequencies of the words as if they occurred independently of each other. Compare
MaxScore: H. Turtle and J. Flood, Query evaluation: strategies and optimizations, Information Processing and Management
31(6), 1995; here the bound is on the words' weights alone.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from typing import Any

import numpy as np

SMALL_INDEX = 20_000
"""Chunks up to which every match is scored."""

_FEW = 1500  # matches that are all scored
_COUNTED = 4000  # rows of a term up to which they are counted; more are estimated

_MIN_HITS = 20
_SLACK = 0.75  # a word that stands thrice in a row counts 1.6 times as much as one that stands there once
_MOST_SCORED = 20_000
_MAX_TERMS = 12  # whose combinations are weighed: 4,096 of them; more frequent ones are scored all the same
_WINDOWS = 8  # places of the index at which the frequency of a word is estimated
_SAMPLED = 32  # of so many rows, one is looked at
_EPSILON = 1e-9

MATCH_JOINS = "CROSS JOIN chunks c ON c.id = f.rowid CROSS JOIN documents d ON d.id = c.document"
"""Chunks and documents of the matches f, for a restriction on them."""

_COUNT = "SELECT count(*) FROM (SELECT 1 FROM chunk_fts f {joins} WHERE f.chunk_fts MATCH ?{restriction} LIMIT ?)"


def promising(
    connection: sqlite3.Connection, terms: Sequence[str], k: int, restriction: str, values: Sequence[Any]
) -> str | None:
    """Return an FTS5 expression for the rows that are worth scoring; None where all matches are.

    Parameters
    ----------
    terms : quoted, of the question
    k : hits that are asked for
    restriction, values : SQL conditions on chunks (c) and documents (d), and what they bind; empty for all
    """
    rows = connection.execute("SELECT max(id) FROM chunks").fetchone()[0] or 0
    if rows <= SMALL_INDEX or len(terms) < 2:
        return None
    found = [_frequency(connection, term, rows) for term in terms]
    if sum(found) <= _FEW:
        return None
    weighed = sorted(
        ((_weight(frequency, rows), term, frequency) for term, frequency in zip(terms, found, strict=True)),
        key=lambda item: -item[0],
    )[:_MAX_TERMS]
    weights, expected = _combinations([item[0] for item in weighed], [item[2] / rows for item in weighed])
    by_weight = [(term, weight) for weight, term, _ in weighed]
    expected *= rows
    hits = max(k, _MIN_HITS)
    at = int(np.searchsorted(expected, hits))
    last = len(weights) - 1  # the combination of no word at all
    found_by = _COUNT.format(joins=MATCH_JOINS if restriction else "", restriction=restriction)
    while at < last:
        expression = _expression(by_weight, float(weights[at]))
        if connection.execute(found_by, (expression, *values, hits)).fetchone()[0] == hits:
            break
        # fewer than independent words would give, or than the restriction leaves
        at = int(np.searchsorted(expected, 4 * expected[at], side="right"))
    if at >= last:
        return None
    least = max(_SLACK * weights[at], weights[np.searchsorted(expected, _MOST_SCORED) - 1])
    return _expression(by_weight, float(least)) if least > weights[-2] else None


def _frequency(connection: sqlite3.Connection, term: str, rows: int) -> float:
    """Return in how many rows a term occurs: exactly up to `_COUNTED`, estimated from a sample beyond."""
    count: int = connection.execute(_COUNT.format(joins="", restriction=""), (term, _COUNTED + 1)).fetchone()[0]
    if count <= _COUNTED:
        return count
    size = max(rows // (_WINDOWS * _SAMPLED), 1)
    sampled = 0
    for start in range(0, rows, max(rows // _WINDOWS, 1)):
        sampled += connection.execute(
            "SELECT count(*) FROM chunk_fts WHERE chunk_fts MATCH ? AND rowid > ? AND rowid <= ?",
            (term, start, start + size),
        ).fetchone()[0]
    return max(_COUNTED, min(rows, sampled * _SAMPLED))


def _weight(frequency: float, rows: int) -> float:
    """Return a term's weight in BM25, as FTS5 computes it."""
    return max(math.log((rows - frequency + 0.5) / (frequency + 0.5)), 1e-6)


def _combinations(weights: Sequence[float], shares: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the weight of each combination of terms, heaviest first, and the share of rows that have that or more."""
    sums, probabilities = np.zeros(1), np.ones(1)
    for weight, share in zip(weights, shares, strict=True):
        sums = np.concatenate([sums, sums + weight])
        probabilities = np.concatenate([probabilities * (1 - share), probabilities * share])
    order = np.argsort(-sums, kind="stable")
    return sums[order], np.cumsum(probabilities[order])


def _expression(terms: Sequence[tuple[str, float]], least: float) -> str:
    """Return the FTS5 expression for rows whose terms weigh at least so much together.

    Examples
    --------
    >>> _expression([('"rare"', 5.0), ('"often"', 2.0), ('"oftener"', 1.0)], 3.0)
    '("rare" OR ("often" AND "oftener"))'
    """
    found = _threshold(terms, least)
    assert isinstance(found, str)  # some combination weighs that much, and the empty one does not
    return found


def _threshold(terms: Sequence[tuple[str, float]], least: float) -> str | bool:
    """Return an expression, or whether every row qualifies, or none does."""
    if least <= _EPSILON:
        return True
    if sum(weight for _, weight in terms) < least - _EPSILON:
        return False
    (term, weight), rest = terms[0], terms[1:]
    with_it, without = _threshold(rest, least - weight), _threshold(rest, least)
    if without is True:
        return True
    parts = [f"({term} AND {with_it})" if isinstance(with_it, str) else term] if with_it else []
    parts += [without] if isinstance(without, str) else []
    return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"
