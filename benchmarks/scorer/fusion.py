"""How the words' and the vectors' hits are best fused: evidence in the hits and in the context, fusion by fusion.

Run: `make bench-fusion` (writes `results/fusion.json`). All sets in one index, 200-token chunks. The words' list is
that of the SQLite store, as `LocalRetriever` reads it; the vectors' list is exact. The data lie in RETRIVEX_DATA
(`../shared/data`); embeddings are kept in RETRIVEX_CACHE (~/.cache/retrivex).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from benchmarks.behaviour import FIELD, today
from benchmarks.evidence.embeddings import MODEL
from benchmarks.evidence.index import SETS, Asked, Indexes, ask, retrieve
from benchmarks.evidence.systems import RetriVex, coefficients
from retrivex import Document, SeedHit, __version__
from retrivex.evaluation.compare.bootstrap import mean_of_sets
from retrivex.evaluation.metrics import score_context
from retrivex.evaluation.run import Case, Index
from retrivex.expansion.fusion import reciprocal_rank_fusion, relative_score_fusion
from retrivex.stores import SQLiteStore

RESULTS = Path(__file__).parents[1] / "results" / "fusion.json"
SIZE, DEPTH, HITS, BUDGET = 200, 100, 50, 1000
CUTS = (6, 20, 50)

Hits: TypeAlias = list[SeedHit]
Fusion: TypeAlias = Callable[[Hits, Hits], Hits]
Recalls: TypeAlias = dict[str, list[float]]
"""A figure a question, by set."""


def by_rank(words: Hits, dense: Hits, *, k: int, dense_weight: float = 1.0) -> Hits:
    """Return the reciprocal rank fusion, the vectors weighted."""
    if dense_weight == 1.0:
        return reciprocal_rank_fusion([words, dense], k)

    def shares(hits: Hits) -> Hits:
        return [replace(hit, similarity_score=1 / (k + rank)) for rank, hit in enumerate(hits, start=1)]

    return by_sum(shares(words), shares(dense), (1.0, dense_weight))


def by_range(words: Hits, dense: Hits, *, dense_weight: float) -> Hits:
    """Return the relative score fusion, which `LocalRetriever` uses."""
    return relative_score_fusion([words, dense], (1 - dense_weight, dense_weight))


def by_share(words: Hits, dense: Hits, *, dense_weight: float) -> Hits:
    """Return the same, with the words' scores as shares of the best: the least possible BM25 counts as 0."""
    best = max((hit.similarity_score for hit in words), default=1.0)
    shares = [replace(hit, similarity_score=hit.similarity_score / best) for hit in words]
    return by_sum(shares, relative_score_fusion([dense], (1.0,)), (1 - dense_weight, dense_weight))


def by_deviation(words: Hits, dense: Hits, *, dense_weight: float) -> Hits:
    """Return the fusion of standard scores; a chunk that a list lacks counts as its last."""

    def standard(hits: Hits) -> Hits:
        if not hits:
            return []
        scores = np.array([hit.similarity_score for hit in hits])
        spread = float(scores.std()) or 1.0
        # above the last, so that a chunk that is missing adds 0: it moves all sums alike
        return [replace(hit, similarity_score=(hit.similarity_score - scores.min()) / spread) for hit in hits]

    return by_sum(standard(words), standard(dense), (1 - dense_weight, dense_weight))


def by_three_sigma(words: Hits, dense: Hits, *, dense_weight: float) -> Hits:
    """Return the distribution-based score fusion: scores as places between mean -3 and +3 standard deviations."""

    def placed(hits: Hits) -> Hits:
        if not hits:
            return []
        scores = np.array([hit.similarity_score for hit in hits])
        spread = float(scores.std())
        places = (scores - scores.mean()) / (6 * spread) + 0.5 if spread > 0 else np.full(len(hits), 0.5)
        return [replace(hit, similarity_score=float(place)) for hit, place in zip(hits, places, strict=True)]

    return by_sum(placed(words), placed(dense), (1 - dense_weight, dense_weight))


def by_sum(words: Hits, dense: Hits, weights: tuple[float, float]) -> Hits:
    """Return the chunks of both lists with the weighted sums of their scores, best first, ties by key."""
    sums: dict[Any, tuple[SeedHit, float]] = {}
    for hits, weight in ((words, weights[0]), (dense, weights[1])):
        for hit in hits:
            first, score = sums.get(hit.key, (hit, 0.0))
            sums[hit.key] = (first, score + weight * hit.similarity_score)
    found = [replace(hit, similarity_score=score) for hit, score in sums.values()]
    return sorted(found, key=lambda hit: (-hit.similarity_score, hit.key))


BEFORE, SHIPPED = "ranks, k = 60", "relative scores, 0.5"
FUSIONS: dict[str, Fusion] = {
    "words": lambda words, _: words,
    "dense": lambda _, dense: dense,
    BEFORE: partial(by_rank, k=60),
    "ranks, k = 60, dense 2:1": partial(by_rank, k=60, dense_weight=2.0),
    "ranks, k = 60, dense 3:1": partial(by_rank, k=60, dense_weight=3.0),
    "ranks, k = 20": partial(by_rank, k=20),
    "ranks, k = 10": partial(by_rank, k=10),
    "ranks, k = 10, dense 2:1": partial(by_rank, k=10, dense_weight=2.0),
    **{f"relative scores, {part}": partial(by_range, dense_weight=part) for part in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)},
    **{f"BM25 from 0, {weight}": partial(by_share, dense_weight=weight) for weight in (0.4, 0.5, 0.6)},
    **{f"standard scores, {weight}": partial(by_deviation, dense_weight=weight) for weight in (0.4, 0.5, 0.6, 0.7)},
    **{f"three sigma, {weight}": partial(by_three_sigma, dense_weight=weight) for weight in (0.5, 0.6, 0.7)},
}  # fmt: skip
COMPOSED = ("words", "dense", BEFORE, "ranks, k = 10", SHIPPED, "standard scores, 0.5")
BARE = (SHIPPED,)
"""Fusions that are also composed without the embeddings of question and chunks."""


@dataclass(frozen=True, slots=True)
class Found:
    """A question with what the words and the vectors found."""

    asked: Asked
    words: Hits
    dense: Hits


def search(index: Index, most: int, folder: str) -> Iterator[Found]:
    """Yield the questions of all sets with both lists; the store is made in `folder`."""
    with SQLiteStore(Path(folder) / "store.db") as store:
        for doc_id, chunks in groupby(index.chunks, lambda chunk: chunk.metadata.doc_id):
            store.put(Document(doc_id, index.documents[doc_id]), list(chunks))
        for name in SETS:
            print(f"searching {name}", file=sys.stderr, flush=True)
            for asked in ask(name, most):
                words = [
                    SeedHit(index.vector_store[hit.key], hit.similarity_score)
                    for hit in store.search_text(asked.question.text, DEPTH)
                ]
                yield Found(asked, words, retrieve(index, asked, "dense", DEPTH))


def in_hits(found: Sequence[Found], index: Index, fusion: Fusion) -> dict[int, Recalls]:
    """Return the share of the evidence in the best hits, by how many."""
    made: dict[int, Recalls] = {cut: {name: [] for name in SETS} for cut in CUTS}
    for one in found:
        ranges = [index.range_of(index.positions[hit.key]) for hit in fusion(one.words, one.dense)[: CUTS[-1]]]
        for cut in CUTS:
            score = score_context(ranges[:cut], one.asked.question.evidence)
            made[cut][one.asked.set_name].append(score.recall)
    return made


def in_context(found: Sequence[Found], index: Index) -> dict[str, Recalls]:
    """Return the share of the evidence in the context, by fusion; ", no embeddings" where there were none."""
    plans = [(name, True) for name in COMPOSED] + [(name, False) for name in BARE]
    labels = [name if embeddings else f"{name}, no embeddings" for name, embeddings in plans]
    made: dict[str, Recalls] = {label: {name: [] for name in SETS} for label in labels}
    for set_name, some in groupby(found, lambda one: one.asked.set_name):
        print(f"composing {set_name}", file=sys.stderr, flush=True)
        composers = {
            embeddings: RetriVex(embeddings=embeddings, coefficients=coefficients(set_name))
            for embeddings in (True, False)
        }
        for one in some:
            question = one.asked.question
            for label, (name, embeddings) in zip(labels, plans, strict=True):
                hits = FUSIONS[name](one.words, one.dense)[:HITS]
                case = Case(question.text, hits, index, BUDGET, "fused", one.asked.embedding)
                score = score_context(composers[embeddings](case), question.evidence)
                made[label][set_name].append(score.recall)
    return made


def row(found: Recalls, bases: Mapping[str, Recalls]) -> dict[str, Any]:
    """Return the means of a fusion, of all sets alike and of each, and its differences with 95 % intervals.

    `lost` is the share of the questions for which the better of the two lists holds more of the evidence.
    """
    sets = {name: round(float(np.mean(values)), 4) for name, values in found.items()}
    differences = {
        name: mean_of_sets([found[s] for s in SETS], [base[s] for s in SETS]) for name, base in bases.items()
    }
    better = {s: np.maximum(bases["words"][s], bases["dense"][s]) for s in SETS}
    return {
        "mean": round(float(np.mean([np.mean(values) for values in found.values()])), 4),
        "lost": round(float(np.mean([np.mean(np.array(found[s]) < better[s]) for s in SETS])), 4),
        "sets": sets,
        "against": {
            name: [round(value, 4) for value in (change.mean, change.low, change.high)]
            for name, change in differences.items()
        },
    }


def chosen_without(hits: Mapping[str, Mapping[int, Recalls]]) -> dict[str, Any]:
    """Return the fusion that is best on the other sets for each set, and what it reaches there: mean over the cuts."""

    def mean(name: str, sets: Sequence[str]) -> float:
        return float(np.mean([[np.mean(hits[name][cut][s]) for s in sets] for cut in CUTS]))

    fusions = [name for name in hits if name not in ("words", "dense")]
    chosen = {s: max(fusions, key=lambda name: mean(name, [other for other in SETS if other != s])) for s in SETS}
    reached = {s: round(mean(name, [s]), 4) for s, name in chosen.items()}
    shipped = {s: round(mean(SHIPPED, [s]), 4) for s in SETS}
    return {"chosen": chosen, "reached": reached, "shipped": shipped}


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--questions", type=int, default=60, help="of each set for the hits, a seeded sample")
    parser.add_argument("--composed", type=int, default=30, help="of these for the context")
    given = parser.parse_args()
    index = Indexes(SETS, SIZE).all
    with tempfile.TemporaryDirectory() as folder:
        found = list(search(index, given.questions, folder))
    hits = {name: in_hits(found, index, fusion) for name, fusion in FUSIONS.items()}
    by_set = [list(some) for _, some in groupby(found, lambda one: one.asked.set_name)]
    few = [one for some in by_set for one in some[:: max(1, len(some) // given.composed)][: given.composed]]
    contexts = in_context(few, index)
    lists = ("words", "dense", BEFORE, SHIPPED)
    result = {
        FIELD: today(),
        "version": __version__,
        "setting": {
            "model": MODEL,
            "chunk tokens": SIZE,
            "depth": DEPTH,
            "hits": HITS,
            "budget": BUDGET,
            "view": "all",
        },
        "questions": {"hits": len(found), "context": len(few)},
        "shipped": SHIPPED,
        "hits": [
            {"fusion": name, **{str(cut): row(made[cut], {one: hits[one][cut] for one in lists}) for cut in CUTS}}
            for name, made in hits.items()
        ],
        "chosen without the set": chosen_without(hits),
        "context": [
            {"fusion": name, **row(made, {one: contexts[one] for one in lists})} for name, made in contexts.items()
        ],
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
