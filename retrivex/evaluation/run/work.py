"""The work on one set, in blocks of questions that are written when finished and never repeated."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retrivex.errors import RetrivexError
from retrivex.evaluation.metrics import Range
from retrivex.evaluation.questions.evidence import Question
from retrivex.evaluation.run.context import Case, Context, Order, Selection, arrange
from retrivex.evaluation.run.index import VECTORS
from retrivex.evaluation.run.measures import measure
from retrivex.evaluation.run.plan import Plan
from retrivex.evaluation.run.results import Row, Way, write_rows
from retrivex.evaluation.run.sentence_edges import SentenceEdges
from retrivex.evaluation.run.systems import System
from retrivex.model.chunk import Chunk, ChunkKey, Embedding
from retrivex.model.hit import SeedHit
from retrivex.tokens.tokenizer import resolve_tokenizer

BLOCK = 25
"""Questions of a block: what a killed run loses, for each process."""


@dataclass(frozen=True, slots=True)
class SearchedQuestion:
    """A question and the hits that the retrievers found for it.

    Parameters
    ----------
    question : as the set has it
    hits : by retriever, best first, as many as any way asks for
    embedding : shape (d,); None without an encoder
    """

    question: Question
    hits: Mapping[str, list[SeedHit]]
    embedding: Embedding | None = None


@dataclass(frozen=True, slots=True)
class SetWork:
    """The data about a set that a worker process needs.

    Parameters
    ----------
    name : of the set
    plan : of the run
    documents : doc_id -> text
    stores : by retriever, what composers read chunks from
    asked : the questions
    """

    name: str
    plan: Plan
    documents: Mapping[str, str]
    stores: Mapping[str, Mapping[ChunkKey, Chunk]]
    asked: Sequence[SearchedQuestion]


@dataclass(frozen=True, slots=True)
class Block:
    """Some questions for one system; all orders together, as they share the selection.

    Parameters
    ----------
    retriever, hits, composer, budget : as in `Way`
    start, stop : places of the questions, end exclusive
    path : where its rows lie when it is finished
    """

    retriever: str
    hits: int
    composer: str
    budget: int
    start: int
    stop: int
    path: Path


def blocks_of(plan: Plan, composers: Sequence[System], ids: Sequence[str], known: Any, cache: Path) -> list[Block]:
    """Return the blocks of a set.

    Parameters
    ----------
    plan : of the run
    composers : of the plan
    ids : of the questions that are asked
    known : all else that rows depend on, as plain JSON types
    cache : folder of finished blocks
    """
    made = []
    for start in range(0, len(ids), BLOCK):
        for retriever in plan.retrievers:
            for hits in plan.hits:
                for composer in composers:
                    for budget in plan.budgets:
                        orders = [(order.name, order.seed) for order in plan.orders_of(composer)]
                        parts = [known, retriever, hits, composer.name, composer.describe(), budget, orders]
                        some = ids[start : start + BLOCK]
                        digest = hashlib.sha256(json.dumps([*parts, some], sort_keys=True).encode()).hexdigest()
                        path = cache / f"{digest[:32]}.jsonl"
                        made.append(Block(retriever, hits, composer.name, budget, start, start + len(some), path))
    return made


class Worker:
    """Works on the blocks of a set in one process.

    Parameters
    ----------
    work : the set
    """

    def __init__(self, work: SetWork) -> None:
        self._work = work
        self._tokenizer, _ = resolve_tokenizer(work.plan.tokenizer)
        self._composers = {composer.name: composer for composer in work.plan.composed_by(self._tokenizer)}
        self._edges = SentenceEdges(work.documents)
        self._warm: set[str] = set()

    def run(self, block: Block) -> Block:
        """Write the rows of a block; the file is whole or not there.

        Raises
        ------
        RetrivexError
            If a question cannot be composed; it is named.
        """
        rows: list[Row] = []
        for asked in self._work.asked[block.start : block.stop]:
            try:
                rows += self._rows(block, asked)
            except RetrivexError as error:
                where = f"question {asked.question.question_id!r} of {self._work.name}"
                raise RetrivexError(f"{where}, composer {block.composer!r}: {error}") from error
        block.path.parent.mkdir(parents=True, exist_ok=True)
        # under a name of its own first: processes of a run that was killed may still be at work on the same block
        draft = block.path.with_suffix(f".{os.getpid()}")
        write_rows(draft, rows)
        draft.replace(block.path)
        return block

    def _rows(self, block: Block, asked: SearchedQuestion) -> Iterator[Row]:
        composer, plan, question = self._composers[block.composer], self._work.plan, asked.question
        hits = asked.hits[block.retriever][: block.hits]
        case = Case(
            question.text,
            hits,
            self._work.stores[block.retriever],
            self._work.documents,
            asked.embedding if block.retriever in VECTORS else None,
        )
        if composer.name not in self._warm:  # what is loaded with the first question is not that question's time
            composer.select(case, block.budget, Order(composer.own_order))
            self._warm.add(composer.name)
        places = [_place(hit.chunk) for hit in hits]
        for order, context in self._contexts(composer, case, block.budget):
            way = Way(block.retriever, block.hits, composer.name, order.name, block.budget, order.seed)
            yield Row(
                self._work.name,
                question.question_id,
                way,
                measure(question, context, places, self._edges, self._tokenizer),
                dict(question.factors),
                question.text,
                context.text if plan.keep_contexts else None,
            )

    def _contexts(self, composer: System, case: Case, budget: int) -> Iterator[tuple[Order, Context]]:
        """Yield the context of each order: one choice of passages for all of them, as far as it fits."""
        own = Order(composer.own_order)
        chosen: Selection = composer.select(case, budget, own)
        for order in self._work.plan.orders_of(composer):
            context = arrange(chosen, order, case.question)
            if order != own and self._tokenizer.count(context.text) > budget:
                # markers of what is left out depend on the order, and so does what they cost
                context = arrange(composer.select(case, budget, order), order, case.question)
            yield order, context


def _place(chunk: Chunk) -> Range:
    metadata = chunk.metadata
    return (metadata.doc_id, metadata.char_start or 0, metadata.char_end or 0)
