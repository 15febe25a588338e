"""Fits the calibrated scorer on public questions with exact evidence.

The sets are the six with documents of their own and one document to a question. Two-hop questions, double questions and
a second encoder are measured, and not fitted: with them, the models fitted without a set put less of its evidence among
the best fifteen units, in the mean over eight sets 78.9 % with double and two-hop questions and 78.7 % with the second
encoder as well, against 79.1 % without (two-hop questions alone: level).

Run: `python -m benchmarks.scorer.calibrate` (in the benchmark environment, `make calibrate`). Writes
`retrivex/scoring/coefficients.json` (fitted on all of these sets: what ships), `results/calibration/<set>.json` (fitted
without that set, or what ships: what the evidence is measured with) and `results/calibration.json` (sizes, and how
reliable the confidence is on sets that the model was not fitted on). Data, sampling and fit are seeded; candidates are
cached, so a stopped run goes on.
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.behaviour import FIELD, of_new_process
from benchmarks.code import digest
from benchmarks.evidence.embeddings import MODEL
from benchmarks.evidence.index import SETS, TITLES, Asked, Indexes, ask_named, retrieve, sets_of
from benchmarks.evidence.systems import making_context
from benchmarks.suites.datasets import READERS
from retrivex import RetrievalConfig, SeedHit, SpanComposer, __version__
from retrivex.evaluation.questions.evidence import Question
from retrivex.evaluation.run import Index
from retrivex.evaluation.run.vector_cache import cache_folder
from retrivex.evaluation.tune.samples import sample_of
from retrivex.scoring.calibrated import Coefficients
from retrivex.scoring.confidence import HitKind
from retrivex.scoring.features import NAMES
from retrivex.scoring.fitting import PRIOR, RIDGE, Sample, fit

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
SHIPPED = ROOT / "retrivex" / "scoring" / "coefficients.json"
QUESTIONS = 150  # of a set, in each situation
NAMED = 75  # questions of a set whose documents have titles that are asked again with the name of theirs
FOREIGN = 25  # questions of a set that are asked where nothing answers them, twice in each situation
HITS = 200  # from which those of documents that answer a question are left out
REST = 40  # units without evidence that are kept of a question, drawn at random
BEST = 20  # and so many with the most words and the greatest similarity, as the confidence goes by the best unit
DECILES = 10
FITTED = tuple(READERS)
"""Sets that the model is fitted on."""


_OBVIOUS = [NAMES.index("similarity"), NAMES.index("words")]


@dataclass(frozen=True, slots=True)
class Situation:
    """What a wrapper may meet: chunk size, hits and neighbours given, kind of score, embeddings or none."""

    size: int
    hits: int
    window: int
    retrieval: str
    embeddings: bool


SITUATIONS = (
    Situation(200, 20, 1, "dense", embeddings=True),
    Situation(200, 50, 1, "dense", embeddings=True),
    Situation(200, 6, 2, "dense", embeddings=True),
    Situation(200, 20, 1, "dense", embeddings=False),
    Situation(200, 20, 1, "bm25", embeddings=True),
    Situation(200, 50, 1, "bm25", embeddings=False),
    Situation(200, 20, 1, "fused", embeddings=False),
    Situation(100, 50, 1, "dense", embeddings=True),
    Situation(100, 20, 2, "dense", embeddings=False),
)


@lru_cache(maxsize=1)
def _indexes(size: int) -> Indexes:
    return Indexes([name for name in FITTED if name in sets_of(size, "MiniLM", "sentences")], size)


def _asked(indexes: Indexes, situation: Situation) -> Iterator[tuple[Asked, Index, Collection[str]]]:
    """Yield questions, the index each is asked of, and the documents that are kept from it.

    Some are asked again of another set, and of all documents but those that answer them: nothing answers these.
    """
    by_set: dict[str, list[Asked]] = {}
    for asked in indexes.questions(QUESTIONS):
        by_set.setdefault(asked.set_name, []).append(asked)
    names = list(by_set)
    rng = random.Random(f"{situation}")
    for at, (name, questions) in enumerate(by_set.items()):
        for asked in questions:
            yield asked, indexes.all, ()
        for asked in ask_named(name, NAMED) if name in TITLES else ():
            yield asked, indexes.all, ()
        stranger = by_set[names[(at + 1 + rng.randrange(len(names) - 1)) % len(names)]][0]
        if stranger.set_name == name:
            continue
        for asked in rng.sample(questions, min(FOREIGN, len(questions))):
            question = Question(asked.question.question_id, asked.question.text, ())
            unanswered = Asked(name, question, asked.embedding)
            yield unanswered, indexes.of(stranger, "alone"), ()
            yield unanswered, indexes.all, {part.doc_id for part in asked.question.evidence}


def _thinned(sample: Sample, rng: random.Random) -> Sample:
    """Keep all evidence, what looks most like it, and a seeded part of the rest, which stands for all of it."""
    holding = np.flatnonzero(sample.evidence > 0).tolist()
    rest = np.flatnonzero(sample.evidence <= 0)
    order = rest[np.argsort(-sample.values[rest][:, _OBVIOUS].sum(axis=1), kind="stable")].tolist()
    best, others = order[:BEST], order[BEST:]
    drawn = rng.sample(others, REST) if len(others) > REST else others
    stands_for = dict.fromkeys(drawn, len(others) / max(1, len(drawn)))
    kept = sorted([*holding, *best, *drawn])
    counts = np.array([stands_for.get(at, 1.0) for at in kept])
    return replace(sample, values=sample.values[kept], evidence=sample.evidence[kept], counts=counts)


@cache
def _code() -> str:
    """Return a digest of the code that the samples depend on; the coefficients of today have no part in them."""
    return digest(path for path in making_context() if path.suffix == ".py")


def gather(situation: Situation) -> list[tuple[str, Sample]]:
    """Return the samples of one situation with their sets; from the cache where it was gathered before."""
    key = hashlib.sha256(
        json.dumps([asdict(situation), QUESTIONS, NAMED, FOREIGN, REST, BEST, FITTED, _code()]).encode()
    ).hexdigest()
    path = cache_folder() / "calibration" / f"{key[:32]}.npz"
    if not path.exists():
        _write(path, _gathered(situation))
    found = np.load(path)
    edges = np.concatenate([[0], np.cumsum(found["sizes"])])
    return [
        (str(name), Sample(found["values"][low:high].astype(np.float64), found["evidence"][low:high], question,
                           str(kind), found["counts"][low:high]))
        for name, low, high, question, kind in zip(
            found["names"], edges[:-1], edges[1:], found["questions"], found["kinds"], strict=True
        )
    ]  # fmt: skip


def _gathered(situation: Situation) -> list[tuple[str, Sample]]:
    indexes = _indexes(situation.size)
    config = RetrievalConfig(window=situation.window, scoring="calibrated", coefficients=_blank())
    composer = SpanComposer(config, tokenizer="cl100k_base")
    rng = random.Random(0)
    made = []
    for asked, index, hidden in _asked(indexes, situation):
        found = retrieve(index, asked, situation.retrieval, HITS if hidden else situation.hits)
        hits = [
            SeedHit(index.vector_store[hit.key], hit.similarity_score) for hit in found if hit.key[0] not in hidden
        ][: situation.hits]
        if hits:
            embedding = asked.embedding if situation.embeddings else None
            valued = composer.value_units(
                hits, index.vector_store, query=asked.question.text, query_embedding=embedding
            )
            made.append((asked.set_name, _thinned(sample_of(valued, asked.question.evidence), rng)))
    return made


def _blank() -> Path:
    """Return coefficients of 0 for the features of today: those that ship may be of other features still."""
    zeros = np.zeros(len(NAMES))
    path = cache_folder() / "calibration" / f"blank-{_code()}.json"
    if not path.exists():
        _dump(path, Coefficients(zeros, 0.0, zeros).to_dict())
    return path


def _write(path: Path, samples: Sequence[tuple[str, Sample]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as file:
        np.savez(
            file,
            names=np.array([name for name, _ in samples]),
            sizes=np.array([len(sample.evidence) for _, sample in samples]),
            values=np.concatenate([sample.values for _, sample in samples]).astype(np.float32),
            evidence=np.concatenate([sample.evidence for _, sample in samples]),
            counts=np.concatenate([sample.multiplicity for _, sample in samples]),
            questions=np.array([sample.question for _, sample in samples]),
            kinds=np.array([sample.kind for _, sample in samples]),
        )
    unfinished.replace(path)


def reliability(models: dict[str, Coefficients], samples: Sequence[tuple[str, Sample]]) -> list[dict[str, float]]:
    """Return confidence against the share of questions whose candidates hold evidence, in tenths of the questions.

    Every question is judged by the model that was fitted without its set.
    """
    said = np.array([_confidence(models[name], sample) for name, sample in samples])
    holds = np.array([float(sample.evidence.sum() > 0) for _, sample in samples])
    order = np.argsort(said, kind="stable")
    return [
        {"confidence": float(said[part].mean()), "holds evidence": float(holds[part].mean()), "questions": len(part)}
        for part in np.array_split(order, DECILES)
    ]


def _confidence(model: Coefficients, sample: Sample) -> float:
    return model.confidence_of(float(model.log_odds(sample.values).max()), sample.question, sample.kind) or 0.0


def area_under_curve(models: dict[str, Coefficients], samples: Sequence[tuple[str, Sample]], kind: HitKind) -> float:
    """Return how probably a question with evidence among its candidates has more confidence than one without.

    Area under the ROC curve, by the Mann-Whitney statistic, ties counted half, of one kind of hits.
    """
    some = [(name, sample) for name, sample in samples if sample.kind == kind]
    said = np.array([_confidence(models[name], sample) for name, sample in some])
    holds = np.array([sample.evidence.sum() > 0 for _, sample in some])
    _, rank, tied = np.unique(said, return_inverse=True, return_counts=True)
    ranks = (tied.cumsum() - (tied - 1) / 2)[rank]
    there = int(holds.sum())
    return float((ranks[holds].sum() - there * (there + 1) / 2) / (there * (len(holds) - there)))


def fit_without(left_out: str | None, samples: Sequence[tuple[str, Sample]], facts: Mapping[str, Any]) -> Coefficients:
    """Return the model of all sets but one, or of all; it says on how many questions of which sets it was fitted."""
    kept = [(name, sample) for name, sample in samples if name != left_out]
    counts = Counter(name for name, _ in kept)
    made = fit([sample for _, sample in kept], fitted={**facts, "sets": list(counts), "questions": dict(counts)})
    return replace(made, fewest_hits=min(situation.hits for situation in SITUATIONS))


def main() -> None:
    """Gather, fit, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--processes", type=int, default=2)
    processes = parser.parse_args().processes
    began = time.perf_counter()
    samples: list[tuple[str, Sample]] = []
    with ProcessPoolExecutor(processes) as pool:
        for situation, found in zip(SITUATIONS, pool.map(gather, SITUATIONS), strict=True):
            samples += found
            print(
                f"{time.perf_counter() - began:6.0f} s  {situation}: {len(found)} questions",
                file=sys.stderr,
                flush=True,
            )
    facts: dict[str, Any] = {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "version": __version__,
        "embeddings": MODEL,
        "situations": [asdict(situation) for situation in SITUATIONS],
        "ridge": RIDGE,
        "prior": PRIOR,
        "features": len(NAMES),
    }
    models = {}
    for name in FITTED:
        models[name] = fit_without(name, samples, facts)
        _dump(RESULTS / "calibration" / f"{name}.json", models[name].to_dict())
    shipped = fit_without(None, samples, facts)
    for path in (SHIPPED, *(RESULTS / "calibration" / f"{name}.json" for name in SETS if name not in FITTED)):
        _dump(path, shipped.to_dict())
    counts = shipped.fitted["questions"]
    known = [(name, sample) for name, sample in samples if sample.kind in shipped.confidence]
    curve = reliability(models, known) if known else []
    areas = {kind: area_under_curve(models, samples, kind) for kind in shipped.confidence}
    _dump(
        RESULTS / "calibration.json",
        {FIELD: of_new_process(), **facts, "questions": counts, "reliability": curve, "auc": areas},
    )
    print(f"area under the curve: {areas}")
    for row in curve:
        print(f"confidence {row['confidence']:.2f}  holds evidence {row['holds evidence']:.2f}  ({row['questions']})")


def _dump(path: Path, data: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
