"""Candidates by relevance, and where diversity is asked for, by how little they repeat what is better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import PassageError, quoted
from retrivex.reorder.fields import MISSING, read_field
from retrivex.reorder.options import Diversity, ReorderOptions
from retrivex.reorder.passage import Candidate, Ranked, group_key, rows
from retrivex.reorder.priority import priorities
from retrivex.similarity.mmr import pick_diverse
from retrivex.similarity.pairwise import EmbeddingSimilarity, Similarity, TextSimilarity
from retrivex.similarity.vectors import finite_vector

T = TypeVar("T")


def rank(candidates: Sequence[Candidate[T]], options: ReorderOptions) -> list[Ranked[T]]:
    """Return candidates with their ranks.

    They come in input order; with diversity in the order in which it picked them, and the rest, beyond
    `max_candidates`, in input order.
    """
    worth = priorities(candidates, options.weights, options.score_normalization, options.softmax_temperature)
    best_first = sorted(range(len(worth)), key=worth.__getitem__, reverse=True)  # stable: of equals the first
    if options.diversity is None or len(worth) < 2:
        by_place = sorted(range(len(worth)), key=best_first.__getitem__)
        return rows(Ranked, candidates, range(len(worth)), worth, worth, by_place)
    count = options.diversity.max_candidates or len(worth)
    picked = _picked(candidates, worth, best_first[:count], options.diversity, options.fields.source_id)
    rest = best_first[count:]
    # equal priorities keep equal keys among the rest, and all of these stay below what was picked
    keys = dict(zip(picked, range(len(picked), 0, -1), strict=True)) | _below_zero(rest, worth)
    ranks = {index: rank for rank, index in enumerate([*picked, *rest])}
    return [Ranked(candidates[i], i, worth[i], float(keys[i]), ranks[i]) for i in [*picked, *sorted(rest)]]


def _below_zero(rest: Sequence[int], worth: Sequence[float]) -> dict[int, int]:
    steps = {priority: -step for step, priority in enumerate(dict.fromkeys(worth[i] for i in rest))}
    return {i: steps[worth[i]] for i in rest}


def _picked(
    candidates: Sequence[Candidate[Any]], worth: Sequence[float], top: Sequence[int], diversity: Diversity, field: str
) -> list[int]:
    """Return `top` in the order in which maximal marginal relevance picks it."""
    # in input order, so that of equals the first is picked
    places = sorted(top)
    chosen = [candidates[i] for i in places]
    # passages without a source count as of one, as in rag-chunk-reorder
    sources = [group_key(read_field(one.metadata, diversity.source_field or field)) or "" for one in chosen]
    picks = pick_diverse(
        [worth[i] for i in places],
        _likeness(chosen, diversity.embedding_field),
        relevance_weight=diversity.relevance_weight,
        sources=sources,
        source_penalty=diversity.source_penalty,
    )
    return [places[i] for i in picks.order]


def _likeness(candidates: Sequence[Candidate[Any]], embedding_field: str | None) -> Similarity:
    if embedding_field is None:
        return TextSimilarity([one.text for one in candidates])
    rows = [_embedding(one, embedding_field) for one in candidates]
    lengths = [0 if row is None else len(row) for row in rows]
    odd = next((i for i, length in enumerate(lengths) if not length or length != lengths[0]), None)
    if odd is not None:
        raise PassageError(
            f"passage {quoted(candidates[odd].id)} has no embedding under {embedding_field!r} like that of the others: "
            "each needs one, of finite numbers and the same length; leave embedding_field out to compare texts"
        )
    return EmbeddingSimilarity(np.stack([row for row in rows if row is not None]))


def _embedding(candidate: Candidate[Any], field: str) -> NDArray[np.float64] | None:
    found = read_field(candidate.item, field)
    found = read_field(candidate.metadata, field) if found is MISSING else found
    row = finite_vector(found)
    return row if row is not None and row.size else None
