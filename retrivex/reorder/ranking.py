"""Filters and deduplicates candidates, and ranks them by priority or by maximal marginal relevance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import PassageError, quoted
from retrivex.model.fields import MISSING, read_field
from retrivex.reorder.diagnostics import CallLog, DroppedPassage
from retrivex.reorder.options import Diversity, ReorderOptions
from retrivex.reorder.passage import Candidate, Ranked, name_group, split_pair
from retrivex.reorder.priority import compute_priorities
from retrivex.similarity.deduplicate import find_duplicates
from retrivex.similarity.mmr import pick_diverse
from retrivex.similarity.pairwise import EmbeddingSimilarity, Similarity, TextSimilarity
from retrivex.similarity.vectors import finite_vector

T = TypeVar("T")


def limit(candidates: Sequence[Candidate[T]], options: ReorderOptions, log: CallLog) -> list[Candidate[T]]:
    """Return the first `max_input` candidates, or all.

    Raises
    ------
    PassageError
        If there are more and `max_input_behavior` is `raise`.
    """
    most = options.max_input
    if most is None or len(candidates) <= most:
        return list(candidates)
    if options.max_input_behavior == "raise":
        raise PassageError(
            f"{len(candidates)} passages are more than max_input={most}: give fewer, raise it, or pass "
            "max_input_behavior='truncate'"
        )
    log.drop(candidates[most:], "max_input")
    log.warnings.append(f"only the first {most} of {len(candidates)} passages are taken (max_input)")
    return list(candidates[:most])


def filter_candidates(candidates: Sequence[Candidate[T]], options: ReorderOptions, log: CallLog) -> list[Candidate[T]]:
    """Clamp scores, then leave out what scores too low, then duplicates."""
    left = list(candidates)
    if options.score_clamp is not None:
        low, high = options.score_clamp
        left = [one._replace(score=min(high, max(low, one.score))) for one in left]
    if options.min_score is not None:
        log.drop((one for one in left if one.score < options.min_score), "min_score")
        left = [one for one in left if one.score >= options.min_score]
    return _deduplicate(left, options, log) if options.deduplicate else left


def _deduplicate(candidates: Sequence[Candidate[T]], options: ReorderOptions, log: CallLog) -> list[Candidate[T]]:
    duplicates = find_duplicates(
        candidates,
        options.deduplicate_threshold,
        options.deduplicate_keep,
        text=lambda one: one.text,
        score=lambda one: one.score,
    )
    for found in duplicates:
        one = candidates[found.position]
        log.dropped.append(DroppedPassage(one.place, one.id, "duplicate", candidates[found.kept].id))
    gone = {found.position for found in duplicates}
    return [one for position, one in enumerate(candidates) if position not in gone]


def rank(candidates: Sequence[Candidate[T]], options: ReorderOptions) -> list[Ranked[T]]:
    """Return candidates with their ranks.

    They come in input order; with diversity in the order in which it picked them, and the rest, beyond
    `max_candidates`, in input order.
    """
    priorities = compute_priorities(
        candidates, options.weights, options.score_normalization, options.softmax_temperature
    )
    best_first = sorted(range(len(priorities)), key=priorities.__getitem__, reverse=True)  # stable: of equals the first
    if options.diversity is None or len(priorities) < 2:
        by_place = sorted(range(len(priorities)), key=best_first.__getitem__)
        known = zip(candidates, priorities, by_place, strict=True)
        return [Ranked(one, place, priority, priority, rank) for place, (one, priority, rank) in enumerate(known)]
    count = options.diversity.max_candidates or len(priorities)
    picked = _pick_diverse(candidates, priorities, best_first[:count], options.diversity, options.fields.source_id)
    rest = best_first[count:]
    # equal priorities keep equal keys among the rest, and all of these stay below what was picked
    keys = dict(zip(picked, range(len(picked), 0, -1), strict=True)) | _number_below_zero(rest, priorities)
    ranks = {index: rank for rank, index in enumerate([*picked, *rest])}
    return [Ranked(candidates[i], i, priorities[i], float(keys[i]), ranks[i]) for i in [*picked, *sorted(rest)]]


def _number_below_zero(rest: Sequence[int], priorities: Sequence[float]) -> dict[int, int]:
    steps = {priority: -step for step, priority in enumerate(dict.fromkeys(priorities[i] for i in rest))}
    return {i: steps[priorities[i]] for i in rest}


def _pick_diverse(
    candidates: Sequence[Candidate[Any]],
    priorities: Sequence[float],
    top: Sequence[int],
    diversity: Diversity,
    field: str,
) -> list[int]:
    """Return `top` in the order in which maximal marginal relevance picks it."""
    # in input order, so that of equals the first is picked
    places = sorted(top)
    chosen = [candidates[i] for i in places]
    # passages without a source count as of one, as in rag-chunk-reorder
    sources = [name_group(read_field(one.metadata, diversity.source_field or field)) or "" for one in chosen]
    picks = pick_diverse(
        [priorities[i] for i in places],
        _make_similarity(chosen, diversity.embedding_field),
        relevance_weight=diversity.relevance_weight,
        sources=sources,
        source_penalty=diversity.source_penalty,
    )
    return [places[i] for i in picks.order]


def _make_similarity(candidates: Sequence[Candidate[Any]], embedding_field: str | None) -> Similarity:
    if embedding_field is None:
        return TextSimilarity([one.text for one in candidates])
    rows = [_read_embedding(one, embedding_field) for one in candidates]
    lengths = [0 if row is None else len(row) for row in rows]
    odd = next((i for i, length in enumerate(lengths) if not length or length != lengths[0]), None)
    if odd is not None:
        raise PassageError(
            f"passage {quoted(candidates[odd].id)} has no embedding under {embedding_field!r} like that of the others: "
            "each needs one, of finite numbers and the same length; leave embedding_field out to compare texts"
        )
    return EmbeddingSimilarity(np.stack([row for row in rows if row is not None]))


def _read_embedding(candidate: Candidate[Any], field: str) -> NDArray[np.float64] | None:
    found = read_field(split_pair(candidate.item)[0], field)
    found = read_field(candidate.metadata, field) if found is MISSING else found
    row = finite_vector(found)
    return row if row is not None and row.size else None
