"""Reciprocal rank fusion: several rankings of the same chunks merged into one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from retrivex.errors import HitError
from retrivex.model.chunk import ChunkKey
from retrivex.model.hit import SeedHit

DEFAULT_RRF_K = 60
"""The constant of Cormack, Clarke and Buettcher (2009); larger flattens the advantage of the first ranks."""


def reciprocal_rank_fusion(rankings: Sequence[Sequence[SeedHit]], k: int = DEFAULT_RRF_K) -> list[SeedHit]:
    r"""Fuse rankings into one list, best first.

    .. math:: \mathrm{score}(c) = \sum_{r \in \mathrm{rankings}} \frac{1}{k + \mathrm{rank}_r(c)}

    with ranks from 1 and only over the rankings that hold the chunk. The scores of the hits play no part, so lists of
    different scales (BM25, cosine) may be mixed.

    Parameters
    ----------
    rankings : hits, best first, one sequence a ranking; a chunk listed twice in one of them counts at its best rank
    k : at least 0

    Returns
    -------
    list of SeedHit
        One hit a chunk with the fused score. A chunk found in several rankings keeps all else of the first.
        Equal scores are ordered by `(doc_id, chunk_id)`.

    Raises
    ------
    HitError
        If `k` is negative.

    References
    ----------
    Cormack, Clarke, Buettcher: Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods.
    SIGIR 2009.

    Examples
    --------
    >>> from retrivex.model.chunk import Chunk, ChunkMetadata
    >>> bees, wasps = (Chunk(text, ChunkMetadata(text, 0)) for text in ("bees", "wasps"))
    >>> words, meaning = [SeedHit(bees, 11.2), SeedHit(wasps, 3.0)], [SeedHit(wasps, 0.8)]
    >>> [(hit.chunk.text, round(hit.similarity_score, 4)) for hit in reciprocal_rank_fusion([words, meaning])]
    [('wasps', 0.0325), ('bees', 0.0164)]
    """
    if k < 0:
        raise HitError(f"k of reciprocal rank fusion is {k}: it must be at least 0; {DEFAULT_RRF_K} is usual")
    hits: dict[ChunkKey, SeedHit] = {}
    shares: dict[ChunkKey, list[float]] = {}
    for ranking in rankings:
        for rank, key in enumerate(_distinct(ranking, hits), start=1):
            shares.setdefault(key, []).append(1.0 / (k + rank))
    # fsum: rounding must not depend on the order of the rankings
    scores = {key: math.fsum(parts) for key, parts in shares.items()}
    best_first = sorted(scores, key=lambda key: (-scores[key], key))
    return [replace(hits[key], similarity_score=scores[key]) for key in best_first]


def _distinct(ranking: Sequence[SeedHit], hits: dict[ChunkKey, SeedHit]) -> list[ChunkKey]:
    """Return the keys of `ranking` without repeats, and note hits whose chunk is seen for the first time."""
    keys = list(dict.fromkeys(hit.key for hit in ranking))
    for hit in ranking:
        hits.setdefault(hit.key, hit)
    return keys
