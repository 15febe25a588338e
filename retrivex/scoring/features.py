"""What is known about each unit of a query's candidates, as numbers that mean the same for every query.

Three signals run along the units: similarity with the question (of the chunks, interpolated between their centres),
the hits' own scores (fading from chunk to chunk), and the words shared with the question (at several widths). Each is
brought to a common scale by its own distribution over the candidates of the query, so that it does not matter
what kind of score, model, collection or language it comes from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retrivex.chunk import ChunkKey
from retrivex.scoring.lexical import bm25, inverse_frequency, term_counts
from retrivex.scoring.words import WordPool
from retrivex.seeding import Seed
from retrivex.stitching import Run
from retrivex.units import Unit

Floats = NDArray[np.float64]

WIDTHS = (150, 400, 1100)
"""Tokens on each side over which signals are averaged: a paragraph, a section, a page or two."""

WORD_WIDTHS = (60, 200)
"""Tokens on each side in which words of the question count together."""

_FARTHEST = 8  # chunks from a hit; beyond that it makes no difference

FADE = 0.6
"""What is left of a hit's score one chunk away, above the worst hit's."""

NAMES = (
    "similarity", "similarity rank", "similarity below best", "similarity, better side", "similarity, worse side",
    *(f"similarity within {width} tokens" for width in WIDTHS),
    "hit score", "hit rank", "hit score below best", "is a hit", "chunks from a hit",
    *(f"hit score within {width} tokens" for width in WIDTHS),
    "hits in document", "best document",
    "words", "words rank", "words below best", "words, better side", "words, worse side",
    *(f"words within {width} tokens" for width in WIDTHS),
    *(f"words together within {width} tokens" for width in WORD_WIDTHS),
    *(f"words together within {width} tokens, below best" for width in WORD_WIDTHS),
    "share of words", "similarity x words", "similarity x words together",
    "similarity spread", "words spread",
    "broad x similarity", "broad x similarity around", "broad x words", "broad x words around",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class UnitTable:
    """Features of a query's units.

    Parameters
    ----------
    units : n units
    values : shape (n, len(NAMES))
    """

    units: list[Unit]
    values: Floats


def _z(signal: Floats) -> Floats:
    """Return standard scores over the units of the query; all 0 where they are equal."""
    spread = float(signal.std())
    return (signal - signal.mean()) / spread if spread > 1e-9 else np.zeros_like(signal)


def _rank(signal: Floats) -> Floats:
    """Minus the logarithm of the rank, 0 for the best; equal values share the best rank of theirs."""
    ordered = np.sort(signal)
    above = len(signal) - np.searchsorted(ordered, signal, side="right")
    return -np.log1p(above)


class _Line:
    """The units on their documents' axes, in tokens."""

    def __init__(self, runs: Sequence[Run], units: Sequence[Unit]) -> None:
        count = len(units)
        self.tokens = np.maximum(np.array([unit.tokens for unit in units], dtype=np.float64), 1.0)
        run_of = np.array([unit.run for unit in units], dtype=np.int64)
        mean = float(self.tokens.sum()) / max(1, sum(map(len, runs)))  # tokens of a chunk
        gaps = np.zeros(count)
        new = np.flatnonzero(np.diff(run_of)) + 1
        far = 10.0 * max(WIDTHS)
        for at in new.tolist():
            left, right = runs[run_of[at - 1]], runs[run_of[at]]
            same = left.doc_id == right.doc_id
            between = right.chunks[0].metadata.chunk_id - left.chunks[-1].metadata.chunk_id - 1
            gaps[at] = min(far, max(0, between) * mean) if same else far
        ends = np.cumsum(self.tokens + gaps)
        self.centres = ends - self.tokens / 2
        self.new_run = np.concatenate(([True], np.diff(run_of) > 0)) if count else np.zeros(0, dtype=bool)
        self._bounds: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}

    def bounds(self, width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First and last + 1 of the units whose centres lie within `width` tokens of each unit's."""
        if width not in self._bounds:
            low = np.searchsorted(self.centres, self.centres - width, side="left")
            high = np.searchsorted(self.centres, self.centres + width, side="right")
            self._bounds[width] = low, high
        return self._bounds[width]

    def total(self, signal: Floats, width: int) -> Floats:
        """Sum of a signal of shape (..., n) over the units within `width` tokens."""
        low, high = self.bounds(width)
        sums = np.zeros((*signal.shape[:-1], signal.shape[-1] + 1))
        np.cumsum(signal, axis=-1, out=sums[..., 1:])
        return np.asarray(sums[..., high] - sums[..., low], dtype=np.float64)

    def mean(self, signal: Floats, width: int) -> Floats:
        """Mean over the units within `width` tokens."""
        low, high = self.bounds(width)
        return self.total(signal, width) / (high - low)

    def sides(self, signal: Floats) -> tuple[Floats, Floats]:
        """Larger and smaller of the two neighbours' values; a unit at the edge of a run has one neighbour or none."""
        before = np.concatenate((signal[:1], signal[:-1]))
        after = np.concatenate((signal[1:], signal[-1:]))
        before = np.where(self.new_run, signal, before)
        last = np.concatenate((self.new_run[1:], [True]))
        after = np.where(last, signal, after)
        return np.maximum(before, after), np.minimum(before, after)


class _Centres:
    """The centres of chunks and units on one axis of characters, for interpolation between chunks."""

    def __init__(self, runs: Sequence[Run], units: Sequence[Unit]) -> None:
        self.keys = [[chunk.key for chunk in run.chunks] for run in runs]
        places: list[float] = []
        self.bases: list[int] = []
        base = 0
        for run in runs:
            self.bases.append(base)
            # chunks inside other chunks may stand before their neighbour's centre: the axis has to ascend
            middles = sorted([base + (low + high) / 2 for low, high in run.ranges])
            places += [base - 0.5, *middles, base + len(run.text) + 0.5]
            base += len(run.text) + 2
        self.places = np.array(places)
        self.at = np.array([self.bases[unit.run] + (unit.start + unit.end) / 2 for unit in units])

    def along(self, of_chunk: Mapping[ChunkKey, float]) -> Floats:
        """Interpolate a value of chunks at the units; beyond the outer centres of a run it stays as it is."""
        values: list[float] = []
        for keys in self.keys:
            row = [of_chunk[key] for key in keys]
            values += [row[0], *row, row[-1]]
        return np.asarray(np.interp(self.at, self.places, values), dtype=np.float64)


def _hit_signal(
    keys: Sequence[Sequence[ChunkKey]], seeds: Sequence[Seed], linked: Mapping[ChunkKey, float]
) -> tuple[dict[ChunkKey, float], dict[ChunkKey, float], dict[ChunkKey, int]]:
    """Score, rank and distance of every chunk from the hits of its run: fading towards the worst hit's."""
    scores = np.fromiter((seed.relevance for seed in seeds), dtype=np.float64, count=len(seeds))
    standard = _z(scores)
    floor = float(standard.min()) - 0.5
    lifted = {seed.key: float(z) - floor for seed, z in zip(seeds, standard, strict=True)}
    highest = max(lifted.values(), default=0.0)
    for key, strength in linked.items():
        lifted.setdefault(key, strength * highest)
    ranks = {seed.key: float(np.log1p(len(seeds)) - np.log1p(at)) for at, seed in enumerate(seeds)}
    score: dict[ChunkKey, float] = {}
    rank: dict[ChunkKey, float] = {}
    distance: dict[ChunkKey, int] = {}
    for row in keys:
        if len(row) == 1:
            key = row[0]
            score[key], rank[key] = lifted.get(key, 0.0) + floor, ranks.get(key, 0.0)
            distance[key] = 0 if key in lifted else _FARTHEST
            continue
        score.update(zip(row, [value + floor for value in _faded([lifted.get(key, 0.0) for key in row])], strict=True))
        rank.update(zip(row, _faded([ranks.get(key, 0.0) for key in row]), strict=True))
        distance.update(zip(row, _steps([key in lifted for key in row]), strict=True))
    return score, rank, distance


def _faded(row: list[float]) -> list[float]:
    carry = 0.0
    for at, value in enumerate(row):
        carry = row[at] = value if value > carry * FADE else carry * FADE
    carry = 0.0
    for at in range(len(row) - 1, -1, -1):
        value = row[at]
        carry = row[at] = value if value > carry * FADE else carry * FADE
    return row


def _steps(is_hit: Sequence[bool]) -> list[int]:
    """Chunks to the nearest hit, `_FARTHEST` at most."""
    row, carry = [], _FARTHEST
    for hit in is_hit:
        carry = 0 if hit else min(carry + 1, _FARTHEST)
        row.append(carry)
    for at in range(len(row) - 2, -1, -1):
        row[at] = min(row[at], row[at + 1] + 1)
    return row


def unit_features(
    question: str,
    runs: Sequence[Run],
    units: list[Unit],
    seeds: Sequence[Seed],
    similarity: Mapping[ChunkKey, float],
    linked: Mapping[ChunkKey, float] | None = None,
    pool: WordPool | None = None,
) -> UnitTable:
    """Describe every unit.

    Parameters
    ----------
    question : any language
    runs : m runs of candidates
    units : n units of them, in order
    seeds : the hits, best first
    similarity : cosine of chunks with the question, where both are embedded; may be empty or miss some
    linked : strength in [0, 1] with which links reach a chunk
    pool : words of the runs, where they are known

    Returns
    -------
    UnitTable
        One row a unit, one column a name of `NAMES`.
    """
    if not units:
        return UnitTable(units, np.zeros((0, len(NAMES))))
    line = _Line(runs, units)
    centres = _Centres(runs, units)
    score, rank, distance = _hit_signal(centres.keys, seeds, linked or {})
    hit = centres.along(score)
    hit_rank = centres.along(rank)
    alike = _z(centres.along(_completed(similarity, score))) if similarity else _z(hit)
    columns: list[Floats] = []
    columns += [alike, _rank(alike), alike - alike.max(), *line.sides(alike)]
    around = [line.mean(alike, width) for width in WIDTHS]
    columns += around
    rows = [[distance[key] for key in keys] for keys in centres.keys]
    steps = np.array(
        [
            rows[run][first] if first == last else min(rows[run][first : last + 1])
            for run, first, last, _, _, _ in units
        ],
        dtype=np.float64,
    )
    columns += [hit, hit_rank, hit - hit.max(), (steps == 0).astype(np.float64), np.minimum(steps, 4.0)]
    columns += [line.mean(hit, width) for width in WIDTHS]
    columns += _document_features(runs, units, seeds)
    words = _word_signals(question, pool or WordPool.of([run.text for run in runs]), units, line, centres)
    own = _z(np.sqrt(words[0]))
    columns += [own, _rank(words[0]), own - own.max(), *line.sides(own)]
    words_around = [line.mean(own, width) for width in WIDTHS]
    columns += words_around
    together = [_z(np.sqrt(row)) for row in words[1 : 1 + len(WORD_WIDTHS)]]
    columns += together
    columns += [row - row.max() for row in together]
    columns += [words[-1], np.clip(alike, -2, 4) * np.clip(own, -2, 4), np.clip(alike, -2, 4) * together[0]]
    # how far the best stands out tells a question for one sentence from one for a whole passage
    spread, word_spread = float(alike.max()), float(own.max())
    columns += [np.full(len(units), spread), np.full(len(units), word_spread)]
    broad = 1.0 / (1.0 + np.exp(word_spread - 3.0))
    columns += [broad * alike, broad * around[1], broad * own, broad * words_around[1]]
    return UnitTable(units, np.stack(columns, axis=1))


def _completed(similarity: Mapping[ChunkKey, float], score: Mapping[ChunkKey, float]) -> dict[ChunkKey, float]:
    """Give chunks without an embedding the similarity that chunks with a hit score like theirs have."""
    missing = [key for key in score if key not in similarity]
    if not missing:
        return dict(similarity)
    known = np.fromiter((similarity[key] for key in similarity), np.float64, len(similarity))
    scores = np.fromiter((score.get(key, 0.0) for key in similarity), np.float64, len(similarity))
    spread = float(scores.std())
    slope = float(known.std()) / spread if spread > 1e-9 else 0.0
    guessed = {key: float(known.mean() + slope * (score[key] - scores.mean())) for key in missing}
    return {**similarity, **guessed}


def _document_features(runs: Sequence[Run], units: Sequence[Unit], seeds: Sequence[Seed]) -> list[Floats]:
    """Share of the hits that lie in the unit's document, and whether the best hit does."""
    hits: dict[str, int] = {}
    for seed in seeds:
        hits[seed.key[0]] = hits.get(seed.key[0], 0) + 1
    best = seeds[0].key[0] if seeds else None
    share = [hits.get(run.doc_id, 0) / max(1, len(seeds)) for run in runs]
    same = [1.0 if run.doc_id == best else 0.0 for run in runs]
    of = [unit.run for unit in units]
    return [np.asarray(share)[of], np.asarray(same)[of]]


def _word_signals(question: str, pool: WordPool, units: Sequence[Unit], line: _Line, centres: _Centres) -> list[Floats]:
    """BM25 of each unit, of its surroundings at each of `WORD_WIDTHS`, and the share of the words it holds."""
    starts = np.array([centres.bases[unit.run] + unit.start for unit in units], dtype=np.int64)
    counts = term_counts(question, pool, starts)
    if not len(counts):
        return [np.zeros(len(units))] * (2 + len(WORD_WIDTHS))
    idf = inverse_frequency(counts)
    made = [bm25(counts, line.tokens, idf)]
    for width in WORD_WIDTHS:
        made.append(bm25(line.total(counts, width), line.total(line.tokens, width), idf))
    return [*made, np.asarray(idf @ (counts > 0) / idf.sum(), dtype=np.float64)]
