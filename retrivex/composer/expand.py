"""Hits -> the neighbours and linked chunks that they grow to, fetched in one request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from retrivex.composer.call import Call, Steps
from retrivex.composer.fetch import Fetched, fetch_windows, name_keys
from retrivex.composer.rerank import apply_rerank_scores, rerank
from retrivex.composer.whole import find_documents, plan_documents
from retrivex.errors import HitError
from retrivex.expansion.guards import with_policies
from retrivex.expansion.links import follow
from retrivex.expansion.seeds import Seed, as_hit_lists, prepare_seeds, scope_detail
from retrivex.expansion.windows import Expansion, grow, plan_windows, widened_reach
from retrivex.merging.intervals import merge_windows
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.hit import DroppedHit
from retrivex.model.window import Window
from retrivex.tokens.sampled import sampled_counts

NO_HITS = "no hits were given: there is nothing to choose from; see what the retriever found"


@dataclass(frozen=True, slots=True)
class Expanded:
    """Hits and what they grew to.

    Parameters
    ----------
    seeds, dropped : hits that are used, best first, and those that are not
    found : chunks by key, as they were used
    expansion : window of each seed, and why it ends there
    linked : strength of chunks that links reach
    links : the links, from chunk to chunk
    documents : short ones, which were fetched whole and may be shown whole
    """

    seeds: list[Seed]
    dropped: list[DroppedHit]
    found: dict[ChunkKey, Chunk]
    expansion: Expansion
    linked: dict[ChunkKey, float]
    links: list[tuple[ChunkKey, ChunkKey]]
    documents: frozenset[str] = frozenset()


def expand(call: Call) -> Steps[Expanded]:
    """Grow hits to their neighbours and along their links; the chunk store is asked once, and once a hop."""
    config = with_policies(call.config, call.question)
    seeds, dropped = yield from rank_hits(call)
    if not seeds and not dropped:
        call.log.warn(NO_HITS)
    call.log.mark("seeds", len(seeds) + len(dropped), len(seeds))
    reaches = _reaches(call, seeds)
    planned = plan_windows(seeds, config, reaches)
    if call.whole_documents is not None:
        planned = plan_documents(call, seeds, planned, call.whole_documents)
    merged = merge_windows(planned)
    fetched = yield from fetch_windows(call, seeds, planned, merged)
    if fetched.out_of_scope:
        dropped += _hidden_hits(call, seeds, fetched.out_of_scope)
        seeds, planned, reaches = _keep_visible(seeds, planned, reaches, fetched.out_of_scope)
        merged = merge_windows(planned)
    found = fetched.found
    expansion = grow(seeds, planned, merged, found, config, reaches, call.signatures, fetched.ends)
    documents: frozenset[str] = frozenset()
    if call.whole_documents is not None:
        documents = find_documents(call, seeds, planned, fetched, expansion, call.whole_documents)
    if call.scorer.model is None:  # the weighted scorer asks for the continuity of every chunk
        expansion.continuity = dict(expansion.continuity)
    _warn_of(call, expansion, fetched)
    linked, links = yield from _follow_links(call, seeds, found, expansion)
    call.log.mark("expand", len(seeds), sum(map(len, expansion.windows)))
    return Expanded(seeds, dropped, found, expansion, linked, links, documents)


def rank_hits(call: Call) -> Steps[tuple[list[Seed], list[DroppedHit]]]:
    """Return the usable hits, best first, and the others; a reranker scores all of them, whatever `k` is."""
    config = call.config
    if call.rerank_scale is None:
        return prepare_seeds(call.seed_hits, config, call.allowed)
    lists = as_hit_lists(call.seed_hits)
    seeds, dropped = prepare_seeds(lists, config.override(k=None), call.allowed)
    scores = yield from _rerank(call, seeds)
    if scores is None:
        return prepare_seeds(lists, config, call.allowed)
    kept, beyond = apply_rerank_scores(seeds, scores, call.rerank_scale, config)
    return kept, dropped + beyond


def _rerank(call: Call, seeds: Sequence[Seed]) -> Steps[list[dict[int, float]] | None]:
    """Return a reranker's scores of each hit by its lists, for their questions; None where hits keep their own."""
    asked: list[str | None] = [scorer.question for scorer in call.scorers]
    made: list[dict[int, float]] = [{} for _ in seeds]
    for number, question in enumerate(asked or [call.question]):
        places = [at for at, seed in enumerate(seeds) if not asked or number in seed.by_list]
        scores = yield from rerank([seeds[at] for at in places], question, call.log, call.config.strict)
        if scores is None and places:
            return None
        for at, score in zip(places, () if scores is None else scores.tolist(), strict=True):
            made[at] |= {number: score} if asked else dict.fromkeys(seeds[at].by_list, score)
    return made or None


def _reaches(call: Call, seeds: Sequence[Seed]) -> list[tuple[int, int]]:
    """Return how many neighbours each seed gets: more where the calibrated scorer had too little to choose from.

    The hits of a document that the question names are widened as if they were all: what answers it is there.
    """
    config, model = call.config, call.scorer.model
    if model is None:  # the weighted scorer pays for every neighbour
        return [config.reach] * len(seeds)
    best = [seed.chunk.text for seed in seeds]

    def count_many(texts: Sequence[str]) -> list[int]:
        found: list[int] = sampled_counts(texts, best, call.candidate_counts).tolist()
        return found

    reach = widened_reach(seeds, config, count_many)
    named = call.scorer.find_named([seed.chunk for seed in seeds]) if config.pool_factor is not None else None
    if named is None:
        return [reach] * len(seeds)
    wide = widened_reach([seed for seed in seeds if seed.key[0] == named], config, count_many)
    return [wide if seed.key[0] == named else reach for seed in seeds]


def _hidden_hits(call: Call, seeds: Sequence[Seed], out_of_scope: Sequence[ChunkKey]) -> list[DroppedHit]:
    """Hits that the store says belong to another scope, whatever the retriever says; an error with `strict`."""
    hidden = set(out_of_scope)
    details = [(seed, scope_detail(seed.key, "of the store")) for seed in seeds if seed.key in hidden]
    if details and call.config.strict:
        raise HitError(details[0][1])
    return [DroppedHit(*seed.key, seed.score, "scope", detail) for seed, detail in details]


def _keep_visible(
    seeds: Sequence[Seed],
    planned: Sequence[Window],
    reaches: Sequence[tuple[int, int]],
    out_of_scope: Sequence[ChunkKey],
) -> tuple[list[Seed], list[Window], list[tuple[int, int]]]:
    """Return the seeds that may be shown, with their windows and reaches."""
    hidden = set(out_of_scope)
    kept = [at for at, seed in enumerate(seeds) if seed.key not in hidden]
    return [seeds[at] for at in kept], [planned[at] for at in kept], [reaches[at] for at in kept]


def _warn_of(call: Call, expansion: Expansion, fetched: Fetched) -> None:
    if expansion.holes and fetched.complete:  # a store that failed may have them
        keys = name_keys(sorted(expansion.holes))
        call.log.warn(f"neighbours missing from the chunk store, or not for this call, spans end there: {keys}")
    if expansion.mixed:
        call.log.warn(
            "embeddings of different sizes, or not finite, among neighbours: their continuity was taken from "
            "common words"
        )


def _follow_links(
    call: Call, seeds: Sequence[Seed], found: dict[ChunkKey, Chunk], expansion: Expansion
) -> Steps[tuple[dict[ChunkKey, float], list[tuple[ChunkKey, ChunkKey]]]]:
    if not call.config.follow_links:
        return {}, []
    linked, links, report = yield from follow(seeds, found, expansion, call.config)
    call.log.requests += report.requests
    call.log.warnings += report.warnings
    return linked, links
