"""What is known about each unit of a query's candidates, as numbers that mean the same for every query.

Three signals run along the units: similarity with the question (of the chunks, interpolated between their centres),
the hits' own scores (decaying from chunk to chunk), and the words shared with the question (at several widths). Each is
brought to a common scale by its own distribution over the candidates of the query, so that it does not matter
what kind of score, model, collection or language it comes from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retrivex.merging.offsets import OffsetIndex
from retrivex.merging.units import Unit, Units
from retrivex.model.chunk import ChunkKey
from retrivex.scoring.bm25 import FoundTerms, TermCounts, bm25, inverse_frequency, term_counts
from retrivex.scoring.document_match import (
    DOCUMENT_FEATURES,
    DocumentMatch,
    document_features,
    document_of_units,
    with_texts,
)
from retrivex.scoring.hit_signal import standard_scores

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

WIDTHS = (150, 400, 1100)
"""Tokens on each side over which signals are averaged: a paragraph, a section, a page or two."""

WORD_WIDTHS = (60, 200)
"""Tokens on each side in which words of the question count together."""

_REACHES = np.array([*WORD_WIDTHS, *WIDTHS], dtype=np.float64)[:, None]

MIN_OTHER_WORDS = 2
"""Words beside a document's name that a question must have for its name not to count in its units."""

NAMES = (
    "similarity", "similarity below best", "similarity, better side", "similarity, worse side",
    *(f"similarity within {width} tokens" for width in WIDTHS),
    "hit score", "hit score below best", "is a hit", "chunks from a hit",
    *(f"hit score within {width} tokens" for width in WIDTHS),
    "words", "words below best", "words, better side", "words, worse side",
    *(f"words within {width} tokens" for width in WIDTHS),
    *(f"words together within {width} tokens" for width in WORD_WIDTHS),
    *(f"words together within {width} tokens, below best" for width in WORD_WIDTHS),
    "share of words", "similarity x words", "similarity x words together",
    *DOCUMENT_FEATURES,
)  # fmt: skip


def name_without_embeddings(name: str) -> str:
    """Return what a feature is where no chunk has an embedding: hit scores stand in for the similarity.

    Examples
    --------
    >>> name_without_embeddings("similarity below best"), name_without_embeddings("words")
    ('hit score below best', 'words')
    """
    return name.replace("similarity", "hit score")


@dataclass(frozen=True, slots=True)
class UnitTable:
    """Features of a query's units.

    Parameters
    ----------
    units : n units
    values : shape (n, len(NAMES))
    coverage : share of the question's words that occur among the candidates, see `word_coverage`
    match : which document is meant; None where documents were left out of account
    """

    units: Sequence[Unit]
    values: Floats
    coverage: float = 0.0
    match: DocumentMatch | None = None


class _Line:
    """The units on their documents' axes, in tokens."""

    def __init__(self, units: Units) -> None:
        self.tokens = np.maximum(units.tokens.astype(np.float64), 1.0)
        self.new_run = ~units.joined
        mean = float(np.add.reduce(self.tokens)) / max(1, len(units.axis.chunks))  # tokens of a chunk
        gaps = np.zeros(len(units))
        gaps[self.new_run.nonzero()[0][1:]] = _gaps(units.axis, mean)
        ends = (self.tokens + gaps).cumsum()
        centres = ends - self.tokens / 2
        # first and last + 1 of the units whose centres lie within each width of each unit's
        self.low = centres.searchsorted(centres - _REACHES, side="left")
        self.high = centres.searchsorted(centres + _REACHES, side="right")

    def sides(self, signals: Floats) -> tuple[Floats, Floats]:
        """Larger and smaller of the two neighbours' values of signals, shape (s, n) each.

        A unit at the edge of a run has one neighbour or none.
        """
        before, after = signals.copy(), signals.copy()
        inside = ~self.new_run[1:]
        np.copyto(before[:, 1:], signals[:, :-1], where=inside)
        np.copyto(after[:, :-1], signals[:, 1:], where=inside)
        return np.maximum(before, after), np.minimum(before, after)


def _gaps(axis: OffsetIndex, mean: float) -> list[float]:
    """Tokens between each two runs: of the chunks between them, each of `mean` tokens, or far in other documents."""
    far, keys = 10.0 * max(WIDTHS), axis.keys
    borders = [(keys[at - 1], keys[at]) for at in axis.firsts[1:].tolist()]
    return [
        min(far, max(0, right - left - 1) * mean) if before == after else far
        for (before, left), (after, right) in borders
    ]


def _sums(signals: Floats, low: Integers, high: Integers) -> Floats:
    """Return sums of signals, shape (s, n), from `low` to `high`, shape (w, n) each; of shape (w, s, n)."""
    sums = np.zeros((signals.shape[1] + 1, len(signals)))
    signals.T.cumsum(axis=0, out=sums[1:])
    return (sums.take(high, axis=0) - sums.take(low, axis=0)).transpose(0, 2, 1)


class _Centres:
    """The centres of chunks and units on the axis of characters, for interpolation between chunks."""

    def __init__(self, units: Units) -> None:
        axis = units.axis
        middles = (axis.starts + axis.ends) / 2
        numbers = np.arange(len(middles))
        if np.count_nonzero(middles[1:] < middles[:-1]):
            # chunks inside other chunks may stand before their neighbour's centre: the axis has to ascend
            numbers = np.lexsort((middles, axis.run))
        # beyond the outer centres of a run a value stays as it is
        self.order = numbers.repeat(1 + axis.is_first + axis.is_last)
        self.places = middles[self.order]
        firsts = axis.firsts + 2 * np.arange(len(axis.firsts))
        self.places[firsts] = axis.bases - 0.5
        self.places[firsts + axis.sizes + 1] = axis.run_ends + 0.5
        self.at = axis.bases[units.run] + (units.start + units.end) / 2

    def along(self, of_chunk: Floats) -> Floats:
        """Interpolate a value of chunks, shape (c,), at the units."""
        return np.asarray(np.interp(self.at, self.places, of_chunk[self.order]), dtype=np.float64)


def unit_features(
    units: Units,
    hits: tuple[Floats, Integers],
    similarity: Mapping[ChunkKey, float],
    found: FoundTerms,
    match: DocumentMatch | None = None,
) -> UnitTable:
    """Describe every unit.

    Parameters
    ----------
    units : n units of the candidates
    hits : of `hit_signal`
    similarity : cosine of chunks with the question, where both are embedded; may be empty or miss some
    found : words of the question among the candidates
    match : names of the candidates' documents; None leaves documents out of account

    Returns
    -------
    UnitTable
        One row a unit, one column a name of `NAMES`.
    """
    count = len(units)
    if not count:
        return UnitTable(units, np.zeros((0, len(NAMES))))
    line, centres = _Line(units), _Centres(units)
    score, distance = hits
    hit = centres.along(score)
    alike = standard_scores(centres.along(fill_missing(similarity, units.axis, score)) if similarity else hit)
    terms = term_counts(found, units.axis.bases[units.run] + units.start)
    by_document = np.zeros((len(DOCUMENT_FEATURES), count))
    if match is not None:
        document = document_of_units(units, match)
        match = with_texts(match, terms.all, document)
        by_document = document_features(match, terms.kept, document)
    words = _word_signals(terms, line, match)
    standard = standard_scores(np.sqrt(words[:-1]))
    own, together = standard[0], standard[1:]
    low, high = line.low[len(WORD_WIDTHS) :], line.high[len(WORD_WIDTHS) :]
    signals = np.array((alike, hit, own))
    around, hit_around, words_around = (_sums(signals, low, high) / (high - low)[:, None]).transpose(1, 0, 2)
    steps = _least(distance, units)
    near, _, worded = np.minimum(np.maximum(signals, -2.0), 4.0)
    below = signals - np.maximum.reduce(signals, axis=1, keepdims=True)
    more, less = line.sides(signals)
    rows = (
        alike, below[0], more[0], less[0], *around,
        hit, below[1], steps == 0, np.minimum(steps, 4), *hit_around,
        own, below[2], more[2], less[2], *words_around,
        *together, *(together - np.maximum.reduce(together, axis=1, keepdims=True)),
        words[-1], near * worded, near * together[0],
        *by_document,
    )  # fmt: skip
    table = np.empty((len(rows), count))
    for at, row in enumerate(rows):
        table[at] = row
    return UnitTable(units, np.ascontiguousarray(table.T), terms.coverage, match)


def _least(distance: NDArray[np.int64], units: Units) -> NDArray[np.int64]:
    """Return the least value of the chunks that each unit touches."""
    least = distance[units.chunk]
    for at in (units.last > units.first).nonzero()[0].tolist():
        first = units.chunk[at]
        least[at] = distance[first : first + 1 + units.last[at] - units.first[at]].min()
    return least


def fill_missing(similarity: Mapping[ChunkKey, float], axis: OffsetIndex, score: Floats) -> Floats:
    """Give chunks without an embedding the similarity that chunks with a hit score like theirs have."""
    made = np.array([similarity.get(key, np.nan) for key in axis.keys])
    known = ~np.isnan(made)
    if not known.all():
        scores, found = score[known], made[known]
        spread = float(scores.std())
        slope = float(found.std()) / spread if spread > 1e-9 else 0.0
        made[~known] = found.mean() + slope * (score[~known] - scores.mean())
    return made


def _word_signals(terms: TermCounts, line: _Line, match: DocumentMatch | None) -> Floats:
    """Return BM25 of units and of what is around them, and the share of words that each has.

    Words that name the document that is meant say which one it is, and nothing of where in it the answer stands: they
    count for none of its units, unless they are all that the question says.
    """
    counts = terms.counts
    made = np.zeros((2 + len(WORD_WIDTHS), len(line.tokens)))
    if not len(counts):
        return made
    idf = inverse_frequency(counts)
    if match is not None:
        naming = match.name_terms[terms.kept]
        if len(naming) - np.count_nonzero(naming) >= MIN_OTHER_WORDS:
            idf = np.where(naming, 0.0, idf)
    made[0] = bm25(counts, line.tokens, idf)
    low, high = line.low[: len(WORD_WIDTHS)], line.high[: len(WORD_WIDTHS)]
    lengths = _sums(line.tokens[None], low, high)[:, 0]
    made[1:-1] = [bm25(*around, idf) for around in zip(_sums(counts, low, high), lengths, strict=True)]
    made[-1] = idf @ (counts > 0) / np.add.reduce(idf)
    return made
