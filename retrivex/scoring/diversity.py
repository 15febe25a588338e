r"""Candidates are worth less where they repeat better ones of other passages.

The value of a chunk is multiplied by :math:`1 - d \max_{s} \mathrm{sim}(c, s)` over the better chunks s of other runs,
with d the `diversity` of the config. Chunks are taken best first, each time by their value after what was taken before:
maximal marginal relevance, as a discount that never makes a candidate worthless unless it is a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from retrivex.model.chunk import Chunk
from retrivex.model.run import Run
from retrivex.scoring.scores import Scores
from retrivex.similarity.pairwise import EmbeddingSimilarity, Similarity, TextSimilarity
from retrivex.similarity.vectors import Floats, as_matrix


def discounted(scores: Scores, runs: Sequence[Run], diversity: float) -> tuple[Scores, list[str]]:
    """Return the values after the discount, and warnings.

    Parameters
    ----------
    scores : of the candidates
    runs : m of them
    diversity : d, in [0, 1]; 0 leaves values as they are
    """
    if not diversity or len(runs) < 2:
        return scores, []
    similarity, warnings = _similarity([chunk for run in runs for chunk in run.chunks])
    numbers = np.repeat(np.arange(len(runs)), [len(run.chunks) for run in runs])
    factors = _factors(np.concatenate(scores.chunks), numbers, similarity, diversity)
    rows = [part.tolist() for part in np.split(factors, np.cumsum([len(run.chunks) for run in runs])[:-1])]
    chunk_values = [
        [value * factor for value, factor in zip(values, row, strict=True)]
        for values, row in zip(scores.chunks, rows, strict=True)
    ]
    # a unit that lies across chunks says what the newest of them says
    units = scores.units or ()
    values = [
        value * max(rows[unit.run][unit.first : unit.last + 1])
        for value, unit in zip(scores.values, units, strict=False)
    ]
    return replace(scores, make_chunks=chunk_values.copy, values=values or scores.values), warnings


def _factors(values: Floats, runs: NDArray[np.int64], similarity: Similarity, diversity: float) -> Floats:
    repeated = np.zeros(len(values))
    waiting = np.ones(len(values), dtype=bool)
    for _ in range(len(values)):
        best = int(np.where(waiting, values * (1 - diversity * repeated), -1.0).argmax())
        waiting[best] = False
        others = waiting & (runs != runs[best])
        repeated[others] = np.maximum(repeated, similarity.of(best))[others]
    factors: Floats = 1 - diversity * repeated
    return factors


def _similarity(chunks: Sequence[Chunk]) -> tuple[Similarity, list[str]]:
    """Compare embeddings where all candidates have them, texts elsewhere."""
    rows = [chunk.embedding for chunk in chunks]
    if all(row is None for row in rows):
        return TextSimilarity([chunk.text for chunk in chunks]), []
    if (matrix := as_matrix(rows)) is not None:
        return EmbeddingSimilarity(matrix), []
    return TextSimilarity([chunk.text for chunk in chunks]), [
        "not all candidates have embeddings of one size: diversity compared their texts"
    ]
