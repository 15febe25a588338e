"""Runs -> scored candidates: the value of each chunk or unit to the question, and to each hit list."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from retrivex.composer.call import Call
from retrivex.composer.expand import Expanded
from retrivex.composer.pinned import Pinned
from retrivex.errors import RetrivexError
from retrivex.expansion.seeds import Seed
from retrivex.model.chunk import ChunkKey
from retrivex.model.run import Run
from retrivex.rerank.protocol import ScoredSentence
from retrivex.scoring.cosine import cosines
from retrivex.scoring.diversity import discounted
from retrivex.scoring.knn_fallback import Capacity
from retrivex.scoring.scorer import best_of
from retrivex.scoring.scores import Scores
from retrivex.selection.candidates import CandidateSet, build_candidates


@dataclass(frozen=True, slots=True)
class ScoredCandidates:
    """Runs and the scores of their parts.

    Parameters
    ----------
    expanded : what the hits grew to
    runs : of contiguous text
    similarity : cosine of chunks with the question, where it is known
    scores : values of the candidates
    sentences : by question and run, what a sentence model says of them; None without one
    """

    expanded: Expanded
    runs: list[Run]
    similarity: dict[ChunkKey, float]
    scores: Scores
    sentences: Sequence[Sequence[Sequence[ScoredSentence]]] | None = None


def score(
    call: Call,
    pinned: Pinned,
    expanded: Expanded,
    runs: list[Run],
    sentences: Sequence[Sequence[Sequence[ScoredSentence]]] | None,
) -> ScoredCandidates:
    """Return the candidates' scores for the question."""
    similarity = _similarity(call, runs)
    scored = ScoredCandidates(expanded, runs, similarity, Scores(list), sentences)
    if call.scorer.model is None or not call.scorers:
        scores = _scores(call, pinned, scored, expanded.seeds)
    else:
        lists = _hits_by_list(expanded.seeds)
        parts = {
            call.scorers[number].question: (
                _scores(call, pinned, scored, own, 1 / len(lists), number), _led_to(scored, own)
            )
            for number, own in lists.items()
        }  # fmt: skip
        scores = best_of(parts, runs) if parts else _scores(call, pinned, scored, expanded.seeds)
    made, warnings = discounted(scores, runs, call.config.diversity)
    call.log.warnings += warnings
    return replace(scored, scores=made)


def _similarity(call: Call, runs: Sequence[Run]) -> dict[ChunkKey, float]:
    """Cosine of every candidate with the question; only where both are embedded."""
    if call.query_embedding is None:
        return {}
    found, warnings = cosines(runs, call.query_embedding)
    call.log.warnings += warnings
    return found


def _scores(
    call: Call,
    pinned: Pinned,
    scored: ScoredCandidates,
    seeds: Sequence[Seed],
    share: float = 1.0,
    number: int | None = None,
) -> Scores:
    """Return the candidates' scores for some of the hits, those of a list, which may fill a share of the budget."""
    config = call.config
    scorer = None if number is None or not call.scorers else call.scorers[number]
    sentences = None if scored.sentences is None else scored.sentences[0 if scorer is None else number or 0]
    capacity = Capacity(
        int(pinned.tokens_left * share),
        per_document=config.max_tokens_per_document,
        exclusions=pinned.exclusions,
        once=config.dedupe_overlaps,
        spans=config.max_spans,
    )
    expanded, expansion = scored.expanded, scored.expanded.expansion
    absent = {key for key, reason in expansion.refused.items() if reason in ("missing", "document end")}
    return (scorer or call.scorer).score(
        scored.runs, seeds, expanded.linked, expansion.continuity, scored.similarity, absent, capacity,
        sentences, None if scorer is None else {seed.key for seed in expanded.seeds},
    )  # fmt: skip


def _hits_by_list(seeds: Sequence[Seed]) -> dict[int, list[Seed]]:
    """Return the hits of each list that has some, best first, with their relevance in it."""
    made: dict[int, list[Seed]] = {}
    for seed in seeds:
        for number, relevance in seed.by_list.items():
            made.setdefault(number, []).append(seed._replace(relevance=relevance))
    return {number: sorted(made[number], key=lambda seed: (-seed.relevance, seed.key)) for number in sorted(made)}


def make_candidates(
    call: Call, pinned: Pinned, scored: ScoredCandidates, distinct: Collection[ChunkKey] = ()
) -> CandidateSet:
    """Return what the selection picks from; `distinct` chunks count although a better one has the same text."""
    counts, exclusions = call.candidate_counts, pinned.exclusions
    return build_candidates(scored.runs, scored.scores, exclusions, counts, call.style, call.config, distinct)


def score_by_list(call: Call, pinned: Pinned, scored: ScoredCandidates) -> list[tuple[float, Scores]]:
    """Return per hit list its share of the budget and the candidates' scores for it; empty without quotas."""
    config, seeds = call.config, scored.expanded.seeds
    if config.quotas is None:
        return []
    count = 1 + max((number for seed in seeds for number in seed.by_list), default=0)
    if count < 2:
        return []
    shares = config.quotas if isinstance(config.quotas, tuple) else (1.0,) * count
    if len(shares) < count:
        raise RetrivexError(f"quotas are {shares} for {count} hit lists: give one share for each list")
    lists = _hits_by_list(seeds)
    # what lists without hits do not need is the others'
    given = sum(shares[number] for number in lists)
    made = []
    for number, own in lists.items():
        share = shares[number] / given if given else 1 / len(lists)
        scores = _scores(call, pinned, scored, own, share, number)
        value, warnings = discounted(scores, scored.runs, config.diversity)
        call.log.warnings += warnings
        made.append((share, _restrict_to_list(value, scored, own)))
    return made


def _led_to(scored: ScoredCandidates, own: Sequence[Seed]) -> list[bool]:
    """Return which runs some hits, or links, led to."""
    keys = {seed.key for seed in own} | set(scored.expanded.linked)
    return [any(chunk.key in keys for chunk in run.chunks) for run in scored.runs]


def _restrict_to_list(value: Scores, scored: ScoredCandidates, own: Sequence[Seed]) -> Scores:
    """Set to 0 what a hit list did not lead to: its share of the budget is for its own; the best scores 1."""
    led_to = _led_to(scored, own)

    def chunks() -> list[list[float]]:
        rows = [row if mine else [0.0] * len(row) for row, mine in zip(value.chunks, led_to, strict=True)]
        best = max([max(row) for row in rows], default=0.0) or 1.0
        return [[gain / best for gain in row] for row in rows]

    units = value.units or ()
    values = [gain if led_to[unit.run] else 0.0 for gain, unit in zip(value.values, units, strict=False)]
    best = max(values, default=0.0) or 1.0
    return replace(value, make_chunks=chunks, values=[gain / best for gain in values])
