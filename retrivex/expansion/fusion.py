"""Fusion: several rankings of the same chunks merged into one, by their ranks or by their scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from retrivex.errors import HitError, quoted
from retrivex.model.chunk import ChunkKey
from retrivex.model.hit import SeedHit
from retrivex.model.numbers import finite

DEFAULT_RRF_K = 60
"""The constant of Cormack, Clarke and Buettcher (2009); larger flattens the advantage of the first ranks."""


def fuse(
    rankings: Sequence[Sequence[SeedHit]], weights: Sequence[float] | None = None, by: Literal["rank", "score"] = "rank"
) -> list[SeedHit]:
    """Fuse the hits of several retrievers into one list, best first, for `SpanComposer.compose`.

    Parameters
    ----------
    rankings : hits, best first, one sequence a retriever
    weights : of the rankings, at least 0; None: all alike
    by : `rank`, see `reciprocal_rank_fusion`, for scores that cannot be compared; `score`, see `relative_score_fusion`,
        where larger scores are better in all of them

    Raises
    ------
    HitError
        If `by` is neither, there are not as many weights as rankings, or one is negative or not finite.

    Examples
    --------
    >>> from retrivex.model.chunk import Chunk, ChunkMetadata
    >>> bees, wasps = (Chunk(text, ChunkMetadata(text, 0)) for text in ("bees", "wasps"))
    >>> words, meaning = [SeedHit(bees, 11.2), SeedHit(wasps, 3.0)], [SeedHit(wasps, 0.8), SeedHit(bees, 0.1)]
    >>> [hit.chunk.text for hit in fuse([words, meaning], weights=(1, 3))]
    ['wasps', 'bees']
    """
    if by not in ("rank", "score"):
        raise HitError(f"by is {quoted(by)}: choose rank or score")
    given = [1.0] * len(rankings) if weights is None else weights
    return reciprocal_rank_fusion(rankings, weights=given) if by == "rank" else relative_score_fusion(rankings, given)


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[SeedHit]], k: int = DEFAULT_RRF_K, weights: Sequence[float] | None = None
) -> list[SeedHit]:
    r"""Fuse rankings into one list, best first.

    .. math:: \mathrm{score}(c) = \sum_{r \in \mathrm{rankings}} \frac{w_r}{k + \mathrm{rank}_r(c)}

    with ranks from 1 and only over the rankings that hold the chunk. The scores of the hits play no part, so lists of
    different scales (BM25, cosine) may be mixed.

    Parameters
    ----------
    rankings : hits, best first, one sequence a ranking; a chunk listed twice in one of them counts at its best rank
    k : at least 0
    weights : w, of the rankings, at least 0; None: all 1

    Returns
    -------
    list of SeedHit
        One hit a chunk with the fused score. A chunk found in several rankings keeps all else of the first.
        Equal scores are ordered by `(doc_id, chunk_id)`.

    Raises
    ------
    HitError
        If `k` is negative, or the weights do not fit.

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
    given = [1.0] * len(rankings) if weights is None else _checked(weights, rankings)
    hits: dict[ChunkKey, SeedHit] = {}
    shares: dict[ChunkKey, list[float]] = {}
    for ranking, weight in zip(rankings, given, strict=True):
        for rank, key in enumerate(_distinct(ranking, hits), start=1):
            shares.setdefault(key, []).append(weight / (k + rank))
    return _best_first(shares, hits)


def relative_score_fusion(rankings: Sequence[Sequence[SeedHit]], weights: Sequence[float]) -> list[SeedHit]:
    r"""Fuse rankings into one list by the relative scores of their hits, best first.

    .. math:: \mathrm{score}(c) = \sum_r w_r \frac{s_r(c) - \min s_r}{\max s_r - \min s_r}

    over the rankings that hold the chunk. The best hit of a ranking adds its whole weight, whatever else was found, so
    that a chunk found by one ranking alone can come first; the last adds nothing, as does a chunk that is not in the
    ranking. Where all scores of a ranking are equal, or there is one, its hits add its whole weight.

    Parameters
    ----------
    rankings : hits, in any order; larger scores are better. A chunk listed twice in one of them counts at its best
        score. An empty ranking adds nothing
    weights : of the rankings, at least 0

    Returns
    -------
    list of SeedHit
        One hit a chunk with the fused score, in [0, sum of the weights]; larger is better. A chunk found in several
        rankings keeps all else of the first. Equal scores are ordered by `(doc_id, chunk_id)`.

    Raises
    ------
    HitError
        If there are not as many weights as rankings, or one is negative or not finite.

    References
    ----------
    Bruch, Gai, Ingber: An Analysis of Fusion Functions for Hybrid Retrieval. ACM TOIS 42(1), 2023: the convex
    combination of min-max normalised scores.

    Examples
    --------
    >>> from retrivex.model.chunk import Chunk, ChunkMetadata
    >>> bees, wasps, ants = (Chunk(text, ChunkMetadata(text, 0)) for text in ("bees", "wasps", "ants"))
    >>> words = [SeedHit(bees, 8.0), SeedHit(wasps, 6.0), SeedHit(ants, 4.0)]
    >>> meaning = [SeedHit(wasps, 0.8), SeedHit(ants, 0.5)]
    >>> fused = relative_score_fusion([words, meaning], weights=(0.5, 0.5))
    >>> [(hit.chunk.text, hit.similarity_score) for hit in fused]
    [('wasps', 0.75), ('bees', 0.5), ('ants', 0.0)]
    """
    hits: dict[ChunkKey, SeedHit] = {}
    shares: dict[ChunkKey, list[float]] = {}
    for ranking, weight in zip(rankings, _checked(weights, rankings), strict=True):
        best: dict[ChunkKey, float] = {}
        for hit in ranking:
            hits.setdefault(hit.key, hit)
            best[hit.key] = max(hit.similarity_score, best.get(hit.key, hit.similarity_score))
        for key, share in _relative(best).items():
            shares.setdefault(key, []).append(weight * share)
    return _best_first(shares, hits)


def _checked(weights: Sequence[float], rankings: Sequence[object]) -> Sequence[float]:
    if len(rankings) != len(weights):
        raise HitError(f"{len(rankings)} rankings with {len(weights)} weights: give each ranking its weight")
    if any(finite(weight) is None or weight < 0 for weight in weights):
        raise HitError(f"weights are {tuple(weights)}: each must be a finite number of at least 0")
    return weights


def _relative(scores: Mapping[ChunkKey, float]) -> dict[ChunkKey, float]:
    """Bring the scores of a ranking to [0, 1]: 1 for the best, 0 for the lowest; all 1 where they are equal."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    # halves, because the whole range of finite scores is not a finite number
    width = high / 2 - low / 2
    return {key: (score / 2 - low / 2) / width if width > 0 else 1.0 for key, score in scores.items()}


def _best_first(shares: Mapping[ChunkKey, Sequence[float]], hits: Mapping[ChunkKey, SeedHit]) -> list[SeedHit]:
    """Return the hits with the sums of their shares, best first, ties by key."""
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
