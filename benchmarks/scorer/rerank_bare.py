"""Whether the calibrated model orders bare texts better than BM25 does: what a rerank endpoint has to offer.

Run: `make bench-rerank-bare` (writes `results/rerank_bare.json`; the data lie in RETRIVEX_DATA, `../shared/data`). Of
every question, BM25 over its collection finds 50 chunks of 200 tokens. They are handed over as such an endpoint gets
them: in an order that says nothing, without scores, neighbours, titles or vectors. The function that the service calls
scores them, with the model that was fitted without the set. It reads BM25 over the texts as hit scores, as it does in
the fit, and competes with that BM25 and with one that matches words by their beginnings, as the model does. Where
there is an encoder, here all-MiniLM-L6-v2, the model reads embeddings of the texts and their cosines as hit scores, and
competes with the plain cosine as well.

nDCG@10 against the ideal order of all chunks of the collection; a chunk is relevant if it holds any of the evidence.
Intervals are of a paired bootstrap over questions.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.behaviour import FIELD, today
from benchmarks.evidence.embeddings import MODEL
from benchmarks.evidence.lexical import words
from benchmarks.evidence.sentence_vectors import vectors_of
from benchmarks.evidence.systems import coefficients
from benchmarks.suites.datasets import READERS, load_sets
from retrivex import Chunk
from retrivex.composer.texts import score_embedded, score_texts, text_composer
from retrivex.evaluation.compare.bootstrap import Difference, mean_of_sets, paired_bootstrap
from retrivex.evaluation.metrics import ndcg
from retrivex.evaluation.questions.evidence import EvidenceSet, Question
from retrivex.evaluation.run import Index
from retrivex.evaluation.run.bm25 import BM25
from retrivex.evaluation.run.sets import draw
from retrivex.scoring.bm25 import bm25, inverse_frequency, question_terms

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("RETRIVEX_DATA", ROOT.parent / "shared" / "data"))
RESULTS = Path(__file__).parents[1] / "results"
SIZE, HITS, DEPTH = 200, 50, 10
WORDS = ("BM25 of the texts", "BM25 of word beginnings", "BM25 of the collection")
SYSTEMS = (*WORDS, "calibrated", "cosine", "calibrated with embeddings")
COMPARED = (("calibrated", WORDS), ("calibrated with embeddings", (*WORDS, "cosine")))
"""The two ways to use the model, and what each competes with."""

Scores = NDArray[np.float64]


def bm25_of(texts: Sequence[str], question: str) -> Scores:
    """Return BM25 of texts that are their own collection, shape (n,)."""
    return np.asarray(BM25(texts).scores(question), dtype=np.float64)


def bm25_of_beginnings(texts: Sequence[str], question: str) -> Scores:
    """Return BM25 over words that begin as those of the question, as the model itself matches them, shape (n,)."""
    patterns = [
        re.compile(rf"\b{re.escape(term)}" + (r"\b" if whole else "")) for term, whole in question_terms(question)
    ]
    lower = [text.lower() for text in texts]
    counts = np.array([[len(pattern.findall(text)) for text in lower] for pattern in patterns], dtype=np.float64)
    kept = counts.reshape(len(patterns), len(texts))
    kept = kept[kept.any(axis=1)]
    lengths = np.array([len(words(text)) for text in texts], dtype=np.float64)
    return bm25(kept, lengths, inverse_frequency(kept))


def holds(chunk: Chunk, question: Question) -> bool:
    """Return whether a chunk holds any of the evidence of a question."""
    where = chunk.metadata
    return any(
        part.doc_id == where.doc_id and max(part.start, where.char_start or 0) < min(part.end, where.char_end or 0)
        for part in question.evidence
    )


def score_question(index: Index, question: Question, set_name: str) -> list[float]:
    """Return nDCG@10 of each of `SYSTEMS`."""
    within = question.within if set_name == "qmsum" else ()
    [found] = index.hits([replace(question, within=within)], "bm25", HITS)
    found = list(found)
    random.Random(question.question_id).shuffle(found)
    texts = [hit.chunk.text for hit in found]
    gains = np.array([float(holds(hit.chunk, question)) for hit in found])
    ideal = [float(holds(chunk, question)) for chunk in index.chunks]
    if not texts or not any(ideal):
        return [0.0] * len(SYSTEMS)
    vectors, composer = vectors_of([question.text, *texts]), text_composer(coefficients(set_name))
    by_words, cosines = bm25_of(texts, question.text), np.asarray(vectors[1:] @ vectors[0], dtype=np.float64)
    orders = (
        by_words,
        bm25_of_beginnings(texts, question.text),
        np.array([hit.similarity_score for hit in found]),
        score_texts(composer, question.text, texts, by_words),
        cosines,
        score_embedded(composer, question.text, texts, vectors),
    )
    return [ndcg(gains[np.argsort(-scores, kind="stable")], DEPTH, ideal=ideal) for scores in orders]


def measure(sets: Sequence[str], most: int) -> Iterator[tuple[str, Scores]]:
    """Yield the name of each set and nDCG@10, shape (questions, systems)."""
    for name in sets:
        found: EvidenceSet = next(load_sets(DATA, (name,)))
        index = Index(found.documents, size=SIZE, terms=words)
        places = draw([at for at, question in enumerate(found.questions) if question.evidence], most)
        rows = [score_question(index, found.questions[at], name) for at in places]
        print(f"{name}: {len(rows)} questions, {np.mean(rows, axis=0).round(3).tolist()}", file=sys.stderr, flush=True)
        yield name, np.array(rows)


def compare(measured: Sequence[tuple[str, Scores]]) -> list[dict[str, Any]]:
    """Return a row for each set, and one over all sets, every set counting the same."""
    pairs = [(ours, SYSTEMS.index(ours), other, SYSTEMS.index(other)) for ours, others in COMPARED for other in others]
    by_set = [scores for _, scores in measured]
    rows = []
    for name, scores in measured:
        gains = [(ours, other, paired_bootstrap(scores[:, at], scores[:, to])) for ours, at, other, to in pairs]
        rows.append(_row(name, scores.mean(axis=0), gains))
    gains = [
        (ours, other, mean_of_sets([scores[:, at] for scores in by_set], [scores[:, to] for scores in by_set]))
        for ours, at, other, to in pairs
    ]
    return [*rows, _row("all", np.mean([scores.mean(axis=0) for scores in by_set], axis=0), gains)]


def _row(name: str, means: Scores, gains: Sequence[tuple[str, str, Difference]]) -> dict[str, Any]:
    """Return nDCG@10 of each of `SYSTEMS`, and what the model has over what it competes with."""
    made: dict[str, dict[str, list[float]]] = {ours: {} for ours, _ in COMPARED}
    for ours, other, change in gains:
        made[ours][other] = [round(value, 4) for value in (change.mean, change.low, change.high)]
    return {
        "set": name,
        "questions": gains[0][-1].questions,
        "ndcg": dict(zip(SYSTEMS, means.round(4).tolist(), strict=True)),
        "gain of": made,
    }


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--questions", type=int, default=75, help="of each set, a seeded sample")
    asked = parser.parse_args()
    rows = compare([*measure(tuple(READERS), asked.questions)])
    setting = {"chunk tokens": SIZE, "texts": HITS, "depth": DEPTH, "encoder": MODEL}
    text = json.dumps({FIELD: today(), "setting": setting, "rows": rows}, indent=1)
    (RESULTS / "rerank_bare.json").write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
