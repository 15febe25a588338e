"""From coarse to fine: which chunks are cut into units and valued in detail.

A budget holds a handful of the candidates. Each chunk is first valued by signals that cost next to nothing: the hits'
scores, the question's words, and its similarity where that is known. The best of them, as many as have `MARGIN` times
the budget together, are cut. The others stay as they are: they count for what surrounds a unit and for what is usual
among the candidates, and are not shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from retrivex.expansion.seeds import Seed
from retrivex.merging.offsets import OffsetIndex
from retrivex.model.chunk import ChunkKey
from retrivex.scoring.bm25 import FoundTerms, bm25, inverse_frequency, term_counts
from retrivex.scoring.features import fill_missing
from retrivex.scoring.hit_signal import standard_scores
from retrivex.scoring.knn_fallback import Capacity
from retrivex.text.ranges import remaining

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MARGIN = 4
"""Budgets that the chunks which are cut have together."""

FEWEST = 32
"""Chunks that are cut, whatever the budget is."""


def chunk_signals(
    axis: OffsetIndex,
    tokens: Integers,
    hits: tuple[Floats, Integers],
    similarity: Mapping[ChunkKey, float],
    terms: FoundTerms,
) -> Floats:
    """Return what each chunk is worth at a first glance, shape (c,), as a sum of standard scores.

    Parameters
    ----------
    axis : c chunks
    tokens : shape (c,), of each
    hits, similarity : as in `unit_features`
    terms : of the question, among the chunks
    """
    score, _ = hits
    made = standard_scores(score)
    counts = term_counts(terms, axis.starts).counts
    if len(counts):
        made += standard_scores(np.sqrt(bm25(counts, np.maximum(tokens, 1.0), inverse_frequency(counts))))
    return made + standard_scores(fill_missing(similarity, axis, score)) if similarity else made


def choose_fine(
    axis: OffsetIndex, tokens: Integers, values: Floats, capacity: Capacity, surely: Sequence[Seed]
) -> NDArray[np.bool_]:
    """Return which chunks are cut, shape (c,): some hits for sure, then the best, one of those with the same text.

    Parameters
    ----------
    axis : c chunks
    tokens : shape (c,), of each
    values : shape (c,), of each
    capacity : what the context may hold
    surely : hits that are cut whatever they are worth
    """
    fine = np.zeros(len(tokens), dtype=np.bool_)
    numbers, runs = axis.numbers, axis.run.tolist()
    fine[[numbers[seed.key] for seed in surely if seed.key in numbers]] = True
    left, cut = MARGIN * capacity.tokens, 0
    spent: dict[str, int] = {}
    seen: set[str] = set()
    shown_before = capacity.exclusions.cuts(axis.runs) if capacity.exclusions else None
    for at in np.argsort(-values, kind="stable").tolist():
        if left <= 0 and cut >= FEWEST:
            break
        chunk, cost, run = axis.chunks[at], int(tokens[at]), runs[at]
        doc_id, text = chunk.metadata.doc_id, chunk.text
        if capacity.once and text in seen:
            continue
        if capacity.per_document is not None and spent.get(doc_id, 0) >= MARGIN * capacity.per_document:
            continue
        if shown_before is not None:
            start = int(axis.starts[at] - axis.bases[run])
            if not remaining(start, start + len(text), shown_before[run]):
                continue
        fine[at] = True
        seen.add(text)
        spent[doc_id] = spent.get(doc_id, 0) + cost
        left, cut = left - cost, cut + 1
    return fine
