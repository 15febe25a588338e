"""Runs cells of the evidence benchmark: every question of a set through one system, kept as lines of JSON.

A cell that was finished is never run again: its rows lie in the cache folder under a digest of everything they depend
on. A killed run goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.evidence.embeddings import EncoderName
from benchmarks.evidence.index import MOST_QUESTIONS, ChunkKind, Indexes, pieces, retrieve, sets_of
from benchmarks.evidence.ranges import RangeSystem, take
from benchmarks.evidence.sentence_vectors import encode_for
from retrivex.evaluation.metrics import score_context
from retrivex.evaluation.metrics.evidence import united
from retrivex.evaluation.questions.evidence import Question
from retrivex.evaluation.run import Case
from retrivex.evaluation.run.processes import finished
from retrivex.evaluation.run.results import Row, Way
from retrivex.evaluation.run.vector_cache import cache_folder
from retrivex.evaluation.run.work import Block, SearchedQuestion, Worker

PROTOCOL = "2"  # changes when the same ranges would be measured otherwise
MOST_HITS = 50
NEIGHBOURHOOD = 2  # chunks beside a hit, as default windows have them


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """What is held fixed while every question of every set is asked.

    Parameters
    ----------
    view : of the index, "all" or "alone"; "named" is "all", asked with the name of the document
    size : tokens of a chunk at most
    retrieval : "dense", "bm25" or "fused"
    hits : given to each system
    budget : tokens of the context at most
    encoder : of the vectors
    chunks : whole sentences, or cut between words
    """

    view: str
    size: int
    retrieval: str
    hits: int
    budget: int
    encoder: EncoderName = "MiniLM"
    chunks: ChunkKind = "sentences"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is about, the same for all its cells.

    Parameters
    ----------
    systems : of each set, by name; all these sets are in the index together under the view "all"
    most : questions of a set
    cache : folder of the finished rows
    """

    systems: Mapping[str, Mapping[str, RangeSystem]]
    most: int = MOST_QUESTIONS
    cache: Path = cache_folder() / "evidence"

    def block(self, cell: Cell, set_name: str, system: str) -> Block:
        """Return all questions of a set for one system; its path is a digest of what the rows depend on."""
        parts = [PROTOCOL, list(self.systems), self.most, asdict(cell), set_name, system]
        version = self.systems[set_name][system].version
        digest = hashlib.sha256(json.dumps([*parts, version]).encode()).hexdigest()
        path = self.cache / f"{digest[:32]}.jsonl"
        return Block(set_name, cell.retrieval, cell.hits, system, cell.budget, 0, self.most, path)

    def rows(self, cell: Cell, set_name: str, system: str) -> list[Row]:
        """Return the finished rows of a set and a system; none where it did not run."""
        path = self.block(cell, set_name, system).path
        if not path.exists():
            return []
        order = self.systems[set_name][system].own_order
        way = Way(cell.retrieval, cell.hits, system, order, cell.budget)
        lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        return [Row(set_name, line.pop("question"), way, line) for line in lines]

    def measure(self, block: Block, case: Case, question: Question) -> Iterator[dict[str, Any]]:
        """Yield what a system shows of the evidence of a question."""
        found = self.systems[block.set_name][block.composer].answer(case)
        context = take(found.ranges, case.index, case.budget)
        scores = score_context(
            context.ranges,
            question.evidence,
            case.hit_ranges(),
            tokens=context.tokens,
            duplicate_tokens=context.duplicate_tokens,
        )
        reachable = self._ceilings(case, question)
        yield {"question": question.question_id, **asdict(scores), **reachable, "ms": round(found.ms, 3)}

    def _ceilings(self, case: Case, question: Question) -> dict[str, float]:
        """Return what any choice could show, found once for all systems."""
        key = (case.index, question.question_id, question.evidence, tuple(case.places), case.budget)
        if key not in _CEILINGS:
            _CEILINGS[key] = ceilings(case, question)
        return _CEILINGS[key]


_CEILINGS: dict[tuple[object, ...], dict[str, float]] = {}


def ceilings(case: Case, question: Question) -> dict[str, float]:
    """Return how much of the evidence any choice could show.

    `reached` is the share that lies in the hits or within `NEIGHBOURHOOD` chunks of one; `affordable`, what of that the
    budget has room for.
    """
    index, gold = case.index, question.evidence
    around = united(index.range_between(index.neighbours(place, NEIGHBOURHOOD)) for place in case.places)
    parts = [
        (part.doc_id, max(part.start, low), min(part.end, high))
        for part in gold
        for low, high in around.get(part.doc_id, ())
        if low < part.end and part.start < high
    ]
    reached = score_context(parts, gold, ()).recall
    return {"reached": reached, "affordable": score_context(take(parts, index, case.budget).ranges, gold, ()).recall}


def _search(
    indexes: Indexes, view: str, most: int, blocks: Sequence[Block]
) -> Iterator[tuple[str, list[SearchedQuestion]]]:
    """Yield the questions of each set with the hits that its blocks ask for."""
    for name in dict.fromkeys(block.set_name for block in blocks):
        retrievers = dict.fromkeys(block.retriever for block in blocks if block.set_name == name)
        searched = []
        for asked in indexes.ask(name, view, most):
            index = indexes.of(asked, view)
            hits = {retriever: retrieve(index, asked, retriever, MOST_HITS) for retriever in retrievers}
            searched.append(SearchedQuestion(asked.question, hits, index, asked.embedding))
        yield name, searched


def run(plan: Plan, jobs: Iterable[tuple[Cell, Block]], *, processes: int = 2) -> None:
    """Run the blocks that are not finished yet, each with its cell, with progress and the time left."""
    todo = [(cell, block) for cell, block in dict.fromkeys(jobs) if not block.path.exists()]
    # those that share an index stand together
    todo.sort(key=lambda job: (*_index_of(job), job[0].view, job[1].set_name, job[0], job[1].composer))
    if any(block.composer == "sentence window" for _, block in todo):
        # made here, so that no two workers encode the same
        for name in {block.set_name for _, block in todo if block.composer == "sentence window"}:
            pieces(name)
    started, done = time.monotonic(), 0
    for (size, encoder, chunks), of_index in groupby(todo, _index_of):
        indexed = sets_of(size, encoder, chunks)
        indexes = Indexes([name for name in plan.systems if name in indexed], size, encoder, chunks)
        for view, some in groupby(of_index, lambda job: job[0].view):
            blocks = [block for _, block in some]
            searched = dict(_search(indexes, view, plan.most, blocks))
            _encode_sentences(plan, blocks, searched)
            start = partial(_start, plan, searched)
            for block in finished(start, blocks, processes, "the evidence"):
                done += 1
                left = (time.monotonic() - started) / done * (len(todo) - done)
                print(
                    f"{done:,} of {len(todo):,}, {left / 60:.0f} min left: {block.composer}, {block.set_name}, {view}, "
                    f"{size} tokens, {block.hits} {block.retriever} hits, budget {block.budget:,}",
                    file=sys.stderr,
                    flush=True,
                )


def _index_of(job: tuple[Cell, Block]) -> tuple[int, EncoderName, ChunkKind]:
    cell, _ = job
    return cell.size, cell.encoder, cell.chunks


def _encode_sentences(plan: Plan, blocks: Sequence[Block], searched: Mapping[str, Sequence[SearchedQuestion]]) -> None:
    """Embed the sentences of the hits for the systems that compare them, set by set and for each retriever."""
    for name, retriever in dict.fromkeys((block.set_name, block.retriever) for block in blocks):
        here = {block.composer for block in blocks if (block.set_name, block.retriever) == (name, retriever)}
        cases = [
            Case(asked.question.text, asked.hits[retriever], asked.index, 0, retriever) for asked in searched[name]
        ]
        encode_for([plan.systems[name][system] for system in here], cases)


def _start(plan: Plan, asked: Mapping[str, Sequence[SearchedQuestion]]) -> Callable[[Block], Block]:
    return Worker(asked, plan.measure).run
