"""Runs cells of the evidence benchmark: every question of a set through one system, kept as lines of JSON.

A cell that was finished is never run again: its rows lie in the cache folder under a digest of everything they depend
on. A killed run goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from benchmarks.evidence.embeddings import embed
from benchmarks.evidence.index import DATA, MOST_QUESTIONS, PIECE, Asked, Indexes, retrieve
from benchmarks.evidence.protocol import Case, System, Timed, answer, take
from benchmarks.suites.datasets import load_sets
from retrivex.evaluation.metrics import score_context
from retrivex.evaluation.run.chunks import sentence_packed
from retrivex.evaluation.run.processes import finished
from retrivex.evaluation.run.vector_cache import cache_folder

PROTOCOL = "1"  # changes when the same spans would be measured otherwise
MOST_HITS = 50

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """What is held fixed while every question of every set is asked.

    Parameters
    ----------
    view : of the index, "all" or "alone"
    size : tokens of a chunk at most
    retrieval : "dense", "bm25" or "fused"
    hits : given to each system
    budget : tokens of the context at most
    """

    view: str
    size: int
    retrieval: str
    hits: int
    budget: int


@dataclass(frozen=True, slots=True)
class Job:
    """One cell, one set, one system."""

    cell: Cell
    set_name: str
    system: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is about, the same for all its jobs.

    Parameters
    ----------
    sets : in the index together under the view "all"
    systems : by name
    most : questions of a set
    cache : folder of the finished rows
    """

    sets: tuple[str, ...]
    systems: Mapping[str, System]
    most: int = MOST_QUESTIONS
    cache: Path = cache_folder() / "evidence"

    def path(self, job: Job) -> Path:
        """Return where the rows of a job lie."""
        system = self.systems[job.system]
        parts = [PROTOCOL, self.sets, self.most, asdict(job.cell), job.set_name, job.system]
        digest = hashlib.sha256(json.dumps([*parts, system.version(job.set_name)]).encode()).hexdigest()
        return self.cache / f"{digest[:32]}.jsonl"

    def rows(self, job: Job) -> list[Row]:
        """Return the rows of a finished job."""
        return [json.loads(line) for line in self.path(job).read_text(encoding="utf-8").splitlines()]


@lru_cache(maxsize=1)
def _indexes(sets: tuple[str, ...], size: int) -> Indexes:
    return Indexes(sets, size)


@lru_cache(maxsize=8)
def _questions(sets: tuple[str, ...], size: int, set_name: str, most: int) -> list[Asked]:
    return [asked for asked in _indexes(sets, size).questions(most) if asked.set_name == set_name]


@lru_cache(maxsize=12)
def _hits(sets: tuple[str, ...], cell: tuple[str, int, str], set_name: str, most: int) -> list[list[tuple[int, float]]]:
    view, size, retrieval = cell
    indexes = _indexes(sets, size)
    return [
        retrieve(indexes.of(asked, view), asked, retrieval, MOST_HITS)
        for asked in _questions(sets, size, set_name, most)
    ]


@lru_cache(maxsize=100_000)
def _kept(key: tuple[Any, ...]) -> list[Timed]:
    """Return a place to keep what does not depend on the hits."""
    return []


def _answer(system: System, case: Case, key: tuple[Any, ...]) -> Timed:
    kept = [] if system.reads_hits else _kept(key)
    if not kept:
        kept.append(answer(system, case))
    return kept[0]


def run_job(plan: Plan, job: Job) -> Job:
    """Ask every question of a job's set and write the rows."""
    cell, system = job.cell, plan.systems[job.system]
    indexes = _indexes(plan.sets, cell.size)
    asked_of = _questions(plan.sets, cell.size, job.set_name, plan.most)
    hits_of = _hits(plan.sets, (cell.view, cell.size, cell.retrieval), job.set_name, plan.most)
    lines = []
    for asked, hits in zip(asked_of, hits_of, strict=True):
        index = indexes.of(asked, cell.view)
        case = Case(asked, hits[: cell.hits], index, cell.size, cell.budget, cell.retrieval)
        key = (system.name, plan.sets, cell.view, cell.size, cell.budget, asked.set_name, asked.question.question_id)
        found = _answer(system, case, key)
        context = take(found.spans, case.index, case.budget)
        scores = score_context(
            context.ranges,
            asked.question.evidence,
            case.hit_ranges(),
            tokens=context.tokens,
            duplicate_tokens=context.duplicate_tokens,
        )
        lines.append(json.dumps({"question": asked.question.question_id, **asdict(scores), "ms": round(found.ms, 3)}))
    path = plan.path(job)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.part")
    unfinished.write_text("\n".join(lines) + "\n", encoding="utf-8")
    unfinished.replace(path)
    return job


def _embed_all(plan: Plan, sizes: set[int]) -> None:
    """Make all embeddings that are not in the cache yet, so that no two workers make the same."""
    for found in load_sets(DATA, plan.sets):
        embed([question.text for question in found.questions], f"{found.name} questions")
        for size in sorted(sizes):
            embed([chunk.text for chunk in sentence_packed(found.documents, size)], f"{found.name} {size}")


def run(plan: Plan, jobs: Iterable[Job], *, processes: int = 2) -> None:
    """Run the jobs that are not finished yet, with progress and the time left."""
    todo = [job for job in dict.fromkeys(jobs) if not plan.path(job).exists()]
    # jobs that share an index stand together
    todo.sort(key=lambda job: (job.cell.size, job.cell.view, job.set_name, job.cell, job.system))
    # the small ones rank the sentences of the sentence window
    sizes = {job.cell.size for job in todo} | {PIECE for job in todo if job.system == "sentence window"}
    _embed_all(plan, sizes)
    started = time.monotonic()
    work = partial(run_job, plan)
    for done, job in enumerate(finished(lambda: work, todo, processes, "the evidence"), 1):
        passed = time.monotonic() - started
        left = passed / done * (len(todo) - done)
        cell = job.cell
        print(
            f"{done:,} of {len(todo):,}, {left / 60:.0f} min left: {job.system}, {job.set_name}, {cell.view}, "
            f"{cell.size} tokens, {cell.hits} {cell.retrieval} hits, budget {cell.budget:,}",
            file=sys.stderr,
            flush=True,
        )
