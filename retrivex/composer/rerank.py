"""Hits with a reranker's scores in place of their retriever's."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from retrivex.composer.fetch import name_keys
from retrivex.composition.trace import Log
from retrivex.config import RetrievalConfig
from retrivex.expansion.seeds import Seed, normalise
from retrivex.model.chunk import ChunkKey
from retrivex.model.hit import DroppedHit
from retrivex.rerank.calling import RerankReply, RerankRequest
from retrivex.rerank.protocol import ScoreScale


def rerank(
    seeds: Sequence[Seed], question: str | None, log: Log, strict: bool
) -> Generator[RerankRequest, RerankReply, NDArray[np.float64] | None]:
    """Yield the texts of `seeds` to a reranker; return its scores, shape (n,), or None where they keep their own.

    Raises
    ------
    RerankError
        With `strict`, if the reranker failed.
    """
    if question is None or not question.strip():
        log.warn("hits were not reranked: a reranker reads the question; pass query=...")
        return None
    if not seeds:
        return None
    reply = yield RerankRequest(question, tuple(seed.chunk.text for seed in seeds))
    if reply.problem is not None and strict:
        raise reply.problem
    if reply.problem is not None:
        log.warn(f"hits were not reranked and keep the scores of their retriever: {reply.problem}")
    if reply.cut:
        log.warn(_describe_cut([seeds[at].key for at in reply.cut], len(seeds)))
    log.mark("rerank", len(seeds), 0 if reply.scores is None else len(seeds))
    return reply.scores


def _describe_cut(cut: Sequence[ChunkKey], count: int) -> str:
    return (
        f"the reranker read only a part of {len(cut)} of {count} chunks, as they are longer than it can read: "
        f"{name_keys(sorted(cut))}; cut documents into smaller chunks, or take a model that reads more"
    )


def apply_rerank_scores(
    seeds: Sequence[Seed], scores: Sequence[Mapping[int, float]], scale: ScoreScale, config: RetrievalConfig
) -> tuple[list[Seed], list[DroppedHit]]:
    """Return the best `config.k` by a reranker's scores with their new relevance, and the others.

    Relevance is normalised as that of hits is, by the scale of the reranker; within each hit list as well, by the
    scores for its question. The best score of a hit ranks it. `score` stays what the retriever gave.

    Parameters
    ----------
    seeds : n hits, whatever `k` is
    scores : of each of the n hits, by the number of each list that holds it; larger is better
    scale : range of the scores
    config : `k`
    """
    own = config.override(score_scale=scale)
    ranked = sorted(zip(scores, seeds, strict=True), key=lambda pair: (-max(pair[0].values()), pair[1].key))
    kept = ranked[: config.k]
    relevance = normalise([max(each.values()) for each, _ in kept], own)
    by_list: list[dict[int, float]] = [{} for _ in kept]
    for number in sorted({number for _, seed in kept for number in seed.by_list}):
        places = [at for at, (_, seed) in enumerate(kept) if number in seed.by_list]
        for at, value in zip(places, normalise([kept[at][0][number] for at in places], own), strict=True):
            by_list[at][number] = value
    made = [
        seed._replace(relevance=value, by_list=lists)
        for (_, seed), value, lists in zip(kept, relevance, by_list, strict=True)
    ]
    detail = f"only the best k={config.k} hits, by the reranker, are used as seeds"
    beyond = [DroppedHit(*seed.key, seed.score, "beyond_k", detail) for _, seed in ranked[len(kept) :]]
    return made, beyond
