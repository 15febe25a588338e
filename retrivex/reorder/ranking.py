"""Candidates by relevance, and where diversity is asked for, by how little they repeat what is better."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeVar

from retrivex.reorder.fields import read_field
from retrivex.reorder.options import Diversity, ReorderOptions
from retrivex.reorder.passage import Candidate, Ranked, group_key
from retrivex.reorder.priority import normalise_scores, priorities
from retrivex.trigrams import jaccard, trigrams

T = TypeVar("T")


def rank(candidates: Sequence[Candidate[T]], options: ReorderOptions) -> list[Ranked[T]]:
    """Return candidates with their ranks.

    They come in input order; with diversity in the order in which it picked them, and the rest, beyond
    `max_candidates`, in input order.
    """
    worth = priorities(candidates, options.weights, options.score_normalization, options.softmax_temperature)
    best_first = sorted(range(len(worth)), key=lambda i: -worth[i])
    if options.diversity is None or len(worth) < 2:
        ranks = {index: rank for rank, index in enumerate(best_first)}
        return [Ranked(one, i, worth[i], worth[i], ranks[i]) for i, one in enumerate(candidates)]
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
    """Return `top` by maximal marginal relevance with a penalty for each picked passage of the same source."""
    weight = diversity.relevance_weight
    relevance = dict(zip(top, normalise_scores([worth[i] for i in top], "min_max"), strict=True))
    found = {i: trigrams(candidates[i].text) for i in top}
    source = {i: group_key(read_field(candidates[i].metadata, diversity.source_field or field)) for i in top}
    likeness = dict.fromkeys(top, 0.0)
    counts: Counter[str | None] = Counter()
    picked: list[int] = []
    while likeness:
        best = max(
            likeness,
            key=lambda i: (
                weight * relevance[i] - (1 - weight) * likeness[i] - diversity.source_weight * counts[source[i]],
                -i,
            ),
        )
        del likeness[best]
        picked.append(best)
        counts[source[best]] += 1
        for i in likeness:
            alike = 1.0 if candidates[i].text == candidates[best].text else jaccard(found[i], found[best])
            likeness[i] = max(likeness[i], alike)
    return picked
