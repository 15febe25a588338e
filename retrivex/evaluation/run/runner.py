"""Runs a plan: each set is indexed and searched once, and composed block by block in several processes."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from retrivex.encoders.encoder import Encoder, load_encoder
from retrivex.errors import RetrivexError
from retrivex.evaluation.questions.evidence import EvidenceSet, Question
from retrivex.evaluation.run.index import Index
from retrivex.evaluation.run.manifest import SCHEMA, code_digest, data_digest, describe_set, versions
from retrivex.evaluation.run.plan import Plan
from retrivex.evaluation.run.processes import finished
from retrivex.evaluation.run.results import MANIFEST, RESULTS, Row, read_rows, write_rows
from retrivex.evaluation.run.sets import SAMPLE_SEED, sampled, sets_of
from retrivex.evaluation.run.vector_cache import Report, VectorCache, cache_folder
from retrivex.evaluation.run.work import Block, ContextMeasurer, SearchedQuestion, Worker, blocks_of
from retrivex.tokens.tokenizer import resolve_tokenizer

PROTOCOL = "1"
"""Changes when the same contexts would be measured otherwise."""


def evaluate(
    plan: Plan,
    own: Sequence[EvidenceSet] = (),
    *,
    out: Path | None = None,
    cache: Path | None = None,
    processes: int = 1,
    encoder: Encoder | None = None,
    report: Report | None = None,
) -> list[Row]:
    """Answer every question of every set in every way of a plan, as far as no model is needed.

    Finished blocks of questions lie in the cache under a digest of everything they depend on, so that a run that was
    stopped, even by `kill -9`, goes on where it was. Apart from `ms` the rows are the same every time.

    Parameters
    ----------
    plan : what is run
    own : sets beside those that the plan names
    out : folder for `results.jsonl` and `manifest.json`; None writes nothing
    cache : folder of finished blocks and of vectors; None is RETRIVEX_CACHE or ~/.cache/retrivex
    processes : that compose side by side
    encoder : in place of the one that `plan.encoder` names, which is then only a word for it
    report : called with the progress

    Returns
    -------
    list of Row
        Set by set, question by question, in the order of `Plan.ways`.

    Raises
    ------
    RetrivexError
        If a set, a composer or a file cannot be used, or there is nothing to run.
    """
    if processes < 1:
        raise RetrivexError(f"processes is {processes}: it must be at least 1")
    run = _Run(plan, cache or cache_folder(), processes, encoder, report)
    rows: list[Row] = []
    descriptions: list[dict[str, Any]] = []
    for name, found in _name_sets(plan, own):
        made, description = run.one_set(name, found)
        rows += made
        descriptions.append(description)
    if not descriptions:
        raise RetrivexError("there are no questions: name a set, or give questions of your own")
    if out is not None:
        write_run(out, rows, run.manifest(descriptions, len(rows)))
    return rows


def _name_sets(plan: Plan, own: Sequence[EvidenceSet]) -> Iterator[tuple[str, EvidenceSet]]:
    names = [*(found.name for found in own), *plan.sets]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise RetrivexError(f"two sets are called {twice[0]!r}: rename the file of questions")
    yield from ((found.name, found) for found in own)
    yield from sets_of(plan.sets, plan.data)


def write_run(out: Path, rows: Sequence[Row], manifest: Mapping[str, Any]) -> None:
    """Write the rows of a run and what it was; each file is whole or not there."""
    out.mkdir(parents=True, exist_ok=True)
    write_rows(out / RESULTS, rows)
    unfinished = out / f"{MANIFEST}.part"
    unfinished.write_text(json.dumps(manifest, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    unfinished.replace(out / MANIFEST)


class _Run:
    """What all sets of a run share."""

    def __init__(self, plan: Plan, cache: Path, processes: int, encoder: Encoder | None, report: Report | None) -> None:
        self.plan = plan
        self.cache = cache
        self.processes = processes
        self.tokenizer, self.warnings = resolve_tokenizer(plan.tokenizer)
        self.composers = plan.composed_by(self.tokenizer)
        model = encoder or (load_encoder(plan.encoder) if plan.encoder is not None else None)
        self.encoder = None if model is None else VectorCache(model, cache / "vectors")
        self.report = report or (lambda _what, _done, _total: None)

    def one_set(self, name: str, found: EvidenceSet) -> tuple[list[Row], dict[str, Any]]:
        """Return the rows of a set, and what the manifest says of it."""
        questions = sampled(found.questions, self.plan.questions, unanswerable=self.plan.unanswerable)
        if not questions:
            raise RetrivexError(
                f"no question of {name} has evidence or answers, so that nothing can be measured: give some, or ask "
                "what cannot be answered with unanswerable=True"
            )
        ids = [question.question_id for question in questions]
        if len(set(ids)) < len(ids):
            raise RetrivexError(f"questions of {name} share an id: give each one of its own")
        digest = data_digest(found)
        known = self._describe_inputs(name, digest)
        blocks = blocks_of(self.plan, self.composers, name, ids, known, self.cache / "blocks")
        todo = [block for block in blocks if not block.path.exists()]
        if todo:
            self._compose(name, self._search(name, found, questions), todo, len(blocks))
        return self._rows(blocks, ids), describe_set(name, found, digest, len(questions))

    def _describe_inputs(self, name: str, digest: str) -> dict[str, Any]:
        """Return what rows depend on, beside the way and the questions."""
        return {
            "protocol": PROTOCOL,
            "versions": versions(),
            "code": code_digest(),
            "set": name,
            "data": digest,
            "chunks": [self.plan.chunker, self.plan.chunk_tokens],
            "tokenizer": self.tokenizer.name,
            "encoder": None if self.encoder is None else self.encoder.name,
            "contexts": self.plan.keep_contexts,
        }

    def _search(self, name: str, found: EvidenceSet, questions: Sequence[Question]) -> list[SearchedQuestion]:
        """Index a set and find the hits of all its questions."""
        plan = self.plan
        self.report(f"{name}: indexing", 0, 1)
        index = Index(
            _select_documents(found, questions),
            chunker=plan.chunker,
            size=plan.chunk_tokens,
            tokenizer=self.tokenizer,
            encoder=self.encoder,
            report=lambda what, done, total: self.report(f"{name}: {what}", done, total),
        )
        vectors = None if self.encoder is None else index.vectors_of(questions)
        hits = {retriever: index.hits(questions, retriever, max(plan.hits), vectors) for retriever in plan.retrievers}
        index.encoder = None  # those who compose need none, and not every encoder can be handed to a process
        return [
            SearchedQuestion(
                question,
                {retriever: hits[retriever][at] for retriever in plan.retrievers},
                index,
                None if vectors is None else vectors[at],
            )
            for at, question in enumerate(questions)
        ]

    def _compose(self, name: str, asked: Sequence[SearchedQuestion], todo: Sequence[Block], total: int) -> None:
        done = total - len(todo)
        what = f"{name}: composing"
        self.report(what, done, total)
        start = partial(_start, self.plan, name, asked)
        for number, _ in enumerate(finished(start, todo, min(self.processes, len(todo)), name), 1):
            self.report(what, done + number, total)

    def _rows(self, blocks: Sequence[Block], ids: Sequence[str]) -> list[Row]:
        """Return the rows of finished blocks, question by question, in the order of the ways."""
        place = {question_id: at for at, question_id in enumerate(ids)}
        rank = {way: at for at, way in enumerate(self.plan.ways(self.composers))}
        rows = [row for block in blocks for row in read_rows(block.path)]
        return sorted(rows, key=lambda row: (place[row.question_id], rank[row.way]))

    def manifest(self, sets: Sequence[dict[str, Any]], rows: int) -> dict[str, Any]:
        """Return what the run was, for the file beside its results."""
        plan, composers = self.plan, self.composers
        return {
            "schema": SCHEMA,
            "date": dt.datetime.now(dt.UTC).date().isoformat(),
            "versions": versions(),
            "code": code_digest(),
            "machine": {"system": platform.system(), "machine": platform.machine(), "cpus": os.cpu_count()},
            "sets": list(sets),
            "questions": plan.questions,
            "sample_seed": SAMPLE_SEED,
            "unanswerable": plan.unanswerable,
            "chunker": {"name": plan.chunker, "tokens": plan.chunk_tokens},
            "encoder": None if self.encoder is None else self.encoder.name,
            "tokenizer": self.tokenizer.name,
            "retrievers": list(plan.retrievers),
            "hits": list(plan.hits),
            "composers": {composer.name: composer.describe() for composer in composers},
            "orders": {c.name: list(dict.fromkeys(o.name for o in plan.orders_of(c))) for c in composers},
            "budgets": list(plan.budgets),
            "seeds": list(plan.seeds),
            "answers": None,
            # what follows may name paths and hosts
            "warnings": [message.partition(":")[0] for message in self.warnings],
            "rows": rows,
        }


def _select_documents(found: EvidenceSet, questions: Sequence[Question]) -> Mapping[str, str]:
    """Return the documents that are searched."""
    if not all(question.within for question in questions):
        return found.documents
    wanted = {doc_id for question in questions for doc_id in question.within}
    return {doc_id: text for doc_id, text in found.documents.items() if doc_id in wanted}


def _start(plan: Plan, name: str, asked: Sequence[SearchedQuestion]) -> Callable[[Block], Block]:
    return Worker({name: asked}, ContextMeasurer(plan, asked[0].index.documents)).run
