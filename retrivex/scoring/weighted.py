r"""The weighted scorer: the published formula for spans, and chunk values in the same spirit.

A span's score is :math:`w_0 s + w_1 a + w_2 c + w_3 b`, every factor in [0, 1]:

- *similarity* s: relevance of the best seed in it (1 is the best hit of the query, 0 where it holds no seed);
- *adjacency* a: mean over its chunks of :math:`e^{-\beta d}`, d the distance in chunks to the nearest seed;
- *continuity* c: mean cosine (or share of common words) of neighbouring chunks, negative ones as 0; a single
  chunk gets the neutral 0.5, since being alone is no merit;
- *parent* b: 1 if it holds a whole parent, else 0.

For the selection every *chunk* has a value. A seed with relevance r has strength :math:`\rho = f + (1 - f) r`, so
that the worst hit is still worth f = `WORST_SEED`. Its value is :math:`w_0 \rho`. A neighbour's value falls with
every step from a seed, more where the text breaks off:

.. math:: w_1 \rho \prod_{\text{steps}} \min\bigl(1,\; e^{-\beta} (1 - w_2 (1 - c)) (1 + w_3 [\text{same parent}])\bigr)

(:math:`w_2` at most 1 here). A chunk takes the largest value that it has from any seed; all are divided by the
query's largest. One hit, or equal scores: every seed has relevance 1. All weights 0: all chunks are worth 1.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from retrivex.config import RetrievalConfig
from retrivex.expansion.continuity import Continuity
from retrivex.expansion.seeds import seed_strength
from retrivex.model.chunk import ChunkKey
from retrivex.model.run import Run

NEUTRAL_CONTINUITY = 0.5


@dataclass(frozen=True, slots=True)
class SpanFactors:
    """The four factors of a span's score, each in [0, 1], and the score itself."""

    similarity: float
    adjacency: float
    continuity: float
    parent: float
    score: float


def chunk_values(
    runs: Sequence[Run],
    relevance: Mapping[ChunkKey, float],
    linked: Mapping[ChunkKey, float],
    continuity: Mapping[ChunkKey, Continuity],
    config: RetrievalConfig,
    query_similarity: Mapping[ChunkKey, float] | None = None,
) -> list[list[float]]:
    """Value of every chunk of every run, in [0, 1]; the largest is 1.

    Parameters
    ----------
    runs : what the seeds grew to
    relevance : of the seeds, in [0, 1], by key
    linked : strength in [0, 1] with which links reach a chunk, by key
    continuity : of each chunk with the one before it, by key
    config : `weights`
    query_similarity : cosine with the question as a share of the best, in [0, 1], by key, where both are embedded;
        what a neighbour gets from a seed is multiplied by it. A seed keeps the score its retriever gave it

    Returns
    -------
    list of list of float
        One list a run, one value a chunk.
    """
    values = [_run_values(run, relevance, linked, continuity, config, query_similarity or {}) for run in runs]
    largest = max((max(row) for row in values), default=0.0)
    if largest <= 0:
        return [[1.0] * len(row) for row in values]
    return [[value / largest for value in row] for row in values]


def _run_values(
    run: Run,
    relevance: Mapping[ChunkKey, float],
    linked: Mapping[ChunkKey, float],
    continuity: Mapping[ChunkKey, Continuity],
    config: RetrievalConfig,
    query_similarity: Mapping[ChunkKey, float],
) -> list[float]:
    decay = math.exp(-config.weights.decay)
    w0, w1 = config.weights.similarity, config.weights.adjacency
    w2, w3 = min(config.weights.continuity, 1.0), config.weights.parent
    values: list[float] = []
    leaving: list[float] = []
    steps: list[float] = []
    carry, parent = 0.0, None
    for chunk in run.chunks:
        metadata = chunk.metadata
        key = (metadata.doc_id, metadata.chunk_id)
        known = continuity.get(key)
        flow = NEUTRAL_CONTINUITY if known is None else known.value
        # an embedding's cosine may be negative, or 1.0000001
        flow = 0.0 if flow < 0.0 else 1.0 if flow > 1.0 else flow
        step = decay * (1.0 - w2 * (1.0 - flow))
        if parent is not None and parent == metadata.parent_id:
            step *= 1.0 + w3
        parent = metadata.parent_id
        steps.append(step if step < 1.0 else 1.0)
        carry *= steps[-1]
        found = relevance.get(key)
        own = w1 * linked.get(key, 0.0)
        if found is not None:
            strength = seed_strength(found)
            own = max(own, w0 * strength)
            leaving.append(w1 * strength)
        else:
            leaving.append(0.0)
        reached = carry * query_similarity.get(key, 1.0)
        values.append(own if own > reached else reached)
        carry = carry if carry > leaving[-1] else leaving[-1]
    carry = 0.0
    for i in range(len(values) - 1, -1, -1):
        reached = carry * query_similarity.get(run.chunks[i].key, 1.0) if query_similarity and carry else carry
        if reached > values[i]:
            values[i] = reached
        carry = (carry if carry > leaving[i] else leaving[i]) * steps[i]
    return values


def adjacency(chunk_ids: Sequence[int], seed_ids: Sequence[int], decay: float) -> float:
    r"""How near a span's chunks lie to their closest seed, in [0, 1].

    .. math:: \frac{1}{n} \sum_i e^{-\beta \min_j |p_i - s_j|}

    A mean, not a sum: a sum would let the longest span win whatever it holds.

    Parameters
    ----------
    chunk_ids : n >= 1 positions of the span's chunks
    seed_ids : positions of the seeds in the same document, ascending; none gives 0
    decay : beta, per chunk of distance; 0 ignores distance

    Examples
    --------
    >>> round(adjacency([4, 5, 6], [5], decay=0.7), 4)
    0.6644
    """
    if not seed_ids:
        return 0.0
    return sum([math.exp(-decay * _nearest(p, seed_ids)) for p in chunk_ids]) / len(chunk_ids)


def _nearest(place: int, seed_ids: Sequence[int]) -> int:
    at = bisect_left(seed_ids, place)
    return min([abs(place - seed) for seed in seed_ids[max(at - 1, 0) : at + 1]])


def span_factors(
    chunk_keys: Sequence[ChunkKey],
    relevance: Mapping[ChunkKey, float],
    seed_ids: Sequence[int],
    continuity: Mapping[ChunkKey, Continuity],
    whole_parent: bool,
    config: RetrievalConfig,
) -> SpanFactors:
    """Score a span by the published formula.

    Parameters
    ----------
    chunk_keys : of its n >= 1 chunks, in order
    relevance : of the seeds, in [0, 1], by key
    seed_ids : positions of the seeds in the span's document, ascending
    continuity : of each chunk with the one before it, by key
    whole_parent : whether the span holds all of a parent
    config : `weights`
    """
    weights = config.weights
    similarity = max([relevance.get(key, 0.0) for key in chunk_keys], default=0.0)
    distance_factor = adjacency([key[1] for key in chunk_keys], seed_ids, weights.decay)
    flows = [min(max(continuity[key].value, 0.0), 1.0) for key in chunk_keys[1:] if key in continuity]
    flow = sum(flows) / len(flows) if flows else NEUTRAL_CONTINUITY
    parent = 1.0 if whole_parent else 0.0
    score = (
        weights.similarity * similarity
        + weights.adjacency * distance_factor
        + weights.continuity * flow
        + weights.parent * parent
    )
    return SpanFactors(similarity, distance_factor, flow, parent, score)
