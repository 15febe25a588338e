"""The work on one set, in blocks of questions that are written when finished and never repeated."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from retrivex.errors import RetrivexError
from retrivex.evaluation.questions.evidence import Question
from retrivex.evaluation.run.context import Case, Context, Order, Selection, arrange
from retrivex.evaluation.run.index import Index
from retrivex.evaluation.run.measures import evidence_ranges, measure, missing_evidence, shown_passages
from retrivex.evaluation.run.plan import Plan
from retrivex.evaluation.run.results import Row, Way
from retrivex.evaluation.run.sentence_edges import SentenceEdges
from retrivex.evaluation.run.systems import System
from retrivex.model.chunk import Embedding
from retrivex.model.hit import SeedHit
from retrivex.tokens.tokenizer import resolve_tokenizer

BLOCK = 25
"""Questions of a block: what a killed run loses, for each process."""


Measure: TypeAlias = Callable[["Block", Case, Question], Iterable[Mapping[str, Any]]]
"""Returns the lines of a question in a block, as plain JSON types."""


@dataclass(frozen=True, slots=True)
class SearchedQuestion:
    """A question and the hits that the retrievers found for it.

    Parameters
    ----------
    question : as the set has it
    hits : by retriever, best first, as many as any way asks for
    index : that they were found in
    embedding : shape (d,); None without an encoder
    """

    question: Question
    hits: Mapping[str, Sequence[SeedHit]]
    index: Index
    embedding: Embedding | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Some questions for one system; all orders together, as they share the selection.

    Parameters
    ----------
    set_name : of the questions
    retriever, hits, composer, budget : as in `Way`
    start, stop : places of the questions, end exclusive
    path : where its rows lie when it is finished
    """

    set_name: str
    retriever: str
    hits: int
    composer: str
    budget: int
    start: int
    stop: int
    path: Path


def blocks_of(
    plan: Plan, composers: Sequence[System], name: str, ids: Sequence[str], known: Any, cache: Path
) -> list[Block]:
    """Return the blocks of a set.

    Parameters
    ----------
    plan : of the run
    composers : of the run
    name : of the set
    ids : of the questions that are asked
    known : all else that rows depend on, as plain JSON types
    cache : folder of finished blocks
    """
    made = []
    starts = range(0, len(ids), BLOCK)
    for start, retriever, hits, composer, budget in product(
        starts, plan.retrievers, plan.hits, composers, plan.budgets
    ):
        orders = [(order.name, order.seed) for order in plan.orders_of(composer)]
        parts = [known, retriever, hits, composer.name, composer.describe(), budget, orders]
        some = ids[start : start + BLOCK]
        digest = hashlib.sha256(json.dumps([*parts, some], sort_keys=True).encode()).hexdigest()
        path = cache / f"{digest[:32]}.jsonl"
        made.append(Block(name, retriever, hits, composer.name, budget, start, start + len(some), path))
    return made


class Worker:
    """Works on blocks in one process.

    Parameters
    ----------
    asked : the questions of each set
    measure : what is written of a question
    """

    def __init__(self, asked: Mapping[str, Sequence[SearchedQuestion]], measure: Measure) -> None:
        self._asked = asked
        self._measure = measure

    def run(self, block: Block) -> Block:
        """Write the lines of a block; the file is whole or not there.

        Raises
        ------
        RetrivexError
            If a question cannot be composed; it is named.
        """
        lines: list[str] = []
        for asked in self._asked[block.set_name][block.start : block.stop]:
            try:
                hits = asked.hits[block.retriever][: block.hits]
                case = Case(asked.question.text, hits, asked.index, block.budget, block.retriever, asked.embedding)
                made = self._measure(block, case, asked.question)
                lines += [json.dumps(line, ensure_ascii=False) + "\n" for line in made]
            except RetrivexError as error:
                where = f"question {asked.question.question_id!r} of {block.set_name}"
                raise RetrivexError(f"{where}, composer {block.composer!r}: {error}") from error
        block.path.parent.mkdir(parents=True, exist_ok=True)
        # under a name of its own first: processes of a run that was killed may still be at work on the same block
        draft = block.path.with_suffix(f".{os.getpid()}")
        draft.write_text("".join(lines), encoding="utf-8")
        draft.replace(block.path)
        return block


class ContextMeasurer:
    """Measures the text that a model would read, in every order of a plan.

    Parameters
    ----------
    plan : of the run
    documents : doc_id -> text
    """

    def __init__(self, plan: Plan, documents: Mapping[str, str]) -> None:
        self._plan = plan
        self._documents = documents
        self._tokenizer, _ = resolve_tokenizer(plan.tokenizer)
        self._composers = {composer.name: composer for composer in plan.composed_by(self._tokenizer)}
        self._edges = SentenceEdges(documents)
        self._warm: set[str] = set()

    def __call__(self, block: Block, case: Case, question: Question) -> Iterator[dict[str, Any]]:
        """Yield a row for each order."""
        composer = self._composers[block.composer]
        if composer.name not in self._warm:  # what is loaded with the first question is not that question's time
            composer.select(case, Order(composer.own_order))
            self._warm.add(composer.name)
        places = case.hit_ranges()
        # results of public sets are passed on to others, and their texts are not ours to pass on
        may_quote = self._plan.keep_contexts or block.set_name not in self._plan.sets
        for order, context in self._contexts(composer, case):
            way = Way(block.retriever, block.hits, composer.name, order.name, block.budget, order.seed)
            missing = missing_evidence(question, context, self._documents) if may_quote else ()
            yield Row(
                block.set_name,
                question.question_id,
                way,
                measure(question, context, places, self._edges, self._tokenizer),
                dict(question.factors),
                question.text,
                context.text if self._plan.keep_contexts else None,
                missing=missing,
                shown=shown_passages(context) if missing else (),
                evidence=evidence_ranges(question, context) if self._plan.keep_contexts else (),
            ).to_dict()

    def _contexts(self, composer: System, case: Case) -> Iterator[tuple[Order, Context]]:
        """Yield the context of each order: one choice of passages for all of them, as far as it fits."""
        own = Order(composer.own_order)
        chosen: Selection = composer.select(case, own)
        for order in self._plan.orders_of(composer):
            context = arrange(chosen, order, case.question)
            if order != own and self._tokenizer.count(context.text) > case.budget:
                # markers of what is left out depend on the order, and so does what they cost
                context = arrange(composer.select(case, order), order, case.question)
            yield order, context
