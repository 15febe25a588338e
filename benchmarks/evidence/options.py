"""What each option changes: evidence, tokens and contexts, with one option changed at a time.

Run: `make bench-options`; writes `results/options.json`, which `docs/reference/configuration.md` shows. Base: the
default with exact counts over 50 dense hits of all-MiniLM-L6-v2, 200-token chunks of whole sentences, all sets in one
index, coefficients fitted without the set that is asked. 30 questions a set, 2,000 and 1,000 tokens; 10 to 20 minutes
of one core. Intervals are 95 %, by the bootstrap over questions, paired. What these sets cannot say is in `UNMEASURED`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from benchmarks.evidence.embeddings import MODEL
from benchmarks.evidence.index import SETS, SIZE, Asked, Indexes, parents_of, retrieve
from benchmarks.evidence.summary import RESAMPLES, SEED, measured_with, write
from benchmarks.evidence.systems import coefficients
from retrivex import Chunk, Composition, RetrievalConfig, SeedHit, SpanComposer
from retrivex.evaluation.compare.bootstrap import paired_bootstrap
from retrivex.evaluation.metrics import score_context
from retrivex.evaluation.run import Index
from retrivex.evaluation.run.measures import cited_ranges
from retrivex.model.chunk import ChunkKey
from retrivex.ordering import AutoSettings

RESULTS = Path(__file__).parents[1] / "results" / "options.json"
QUESTIONS = 30
HITS = 50
BUDGETS = (2000, 1000)
TOKENIZER = "cl100k_base"
"""What `auto` counts with, and what all contexts are counted with."""

Given: TypeAlias = Literal["hits by vectors", "hits by vectors and hits by words", "parents of four chunks each"]
DENSE: Given = "hits by vectors"
LISTS: Given = "hits by vectors and hits by words"
PARENTS: Given = "parents of four chunks each"
ALL_SHAPES = ("table", "list", "code", "steps")


@dataclass(frozen=True, slots=True)
class Change:
    """One option with another value.

    Parameters
    ----------
    option, value : what is changed; where `OF_QUESTION` has the option, the value is made for each question
    beside : options that are set before and after the change: the option has no effect without
    given : what the composer gets
    said : the value as the page writes it, where it is not as one types it
    budgets : token budgets at which it is measured
    """

    option: str
    value: Any = None
    beside: Mapping[str, Any] = field(default_factory=dict)
    given: Given = DENSE
    said: str = ""
    budgets: Sequence[int] = BUDGETS

    @property
    def name(self) -> str:
        """The value as the page writes it."""
        return self.said or f"`{spell(self.value)}`"


OF_QUESTION: Mapping[str, Callable[[Index, Composition], Any]] = {
    "pinned": lambda index, _: index.chunks[0],
    "exclude": lambda _, base: base,
}
"""Values that depend on the index, or on the question's own context without the change."""

WEIGHTED = {"scoring": "weighted"}
GROWING = {"window": 1, "grow_until": ALL_SHAPES}
CHANGES = (
    Change("k", 20),
    Change("k", 5),
    Change("score_kind", "distance", said="`distance`, which is wrong for these hits"),
    Change("score_scale", "cosine"),
    Change("quotas", "equal", given=LISTS),
    Change("window", 0),
    Change("window", 2),
    Change("window", 5),
    Change("pool_factor", 4),
    Change("pool_factor", 16),
    Change("expand_top", 5),
    Change("expand_top_documents", 3),
    Change("grow_until", ALL_SHAPES, {"window": 1}),
    Change("grow_until", "auto", {"window": 1}),
    Change("max_window", 2, GROWING),
    Change("max_window", 16, GROWING),
    Change("return_parents", "auto", {"max_parent_chars": 5000}, PARENTS),
    Change("return_parents", 0.9, {"max_parent_chars": 5000}, PARENTS),
    Change("max_parent_chars", 5000, {"return_parents": "auto"}, PARENTS),
    Change("scoring", "weighted"),
    Change("coefficients", "0.2", {"coefficients": None}, said="`0.2`, where both files were fitted on these sets"),
    Change("hedge", 0),
    Change("hedge", 1),
    Change("weights", {"adjacency": 0.0}, WEIGHTED, said="`adjacency=0`"),
    Change("weights", {"decay": 0.0}, WEIGHTED, said="`decay=0`"),
    Change("token_budget", 1000, budgets=(2000,)),
    Change("token_budget", 4000, budgets=(2000,)),
    Change("token_budget", 8000, budgets=(2000,)),
    Change("effort", "lean"),
    Change("effort", "full"),
    Change("selection_unit", "chunk"),
    Change("selection_unit", "span"),
    Change("run_cost", 0.25),
    Change("run_cost", 1.0),
    Change("min_value", 0.1),
    Change("min_value", 0.5),
    Change("max_spans", 3),
    Change("max_spans", 10),
    Change("max_tokens_per_document", 500),
    Change("keep_top", 1),
    Change("keep_top", 3),
    Change("dedupe_overlaps", False),
    Change("near_duplicate_threshold", 0.9),
    Change("near_duplicate_threshold", 0.5),
    Change("diversity", 0.3),
    Change("diversity", 1.0),
    Change("pinned", said="a passage of another subject"),
    Change("exclude", said="the context of the same question"),
    Change("ordering_strategy", "score_desc"),
    Change("ordering_strategy", "document"),
    Change("edge_counts", (2, 2)),
    Change("position_profile", "recency", {"ordering_strategy": "profile"}),
    Change("relevance_levels", (0.9, 0.1), {"ordering_strategy": "relevance_groups"}),
    Change("group_by", "title", {"ordering_strategy": "group_by"}),
    Change("auto_order", AutoSettings(context_window=2000), {"ordering_strategy": "auto"},
           said="`AutoSettings(context_window=2000)`"),
    Change("context_format", "markdown"),
    Change("context_format", "xml"),
    Change("numbered", False),
    Change("span_header", "document"),
    Change("gap_markers", False),
    Change("tokenizer", "estimate"),
    Change("tokenizer", "o200k_base"),
    Change("store_timeout_s", None, said="`none`, with a store in memory"),
    Change("strict", True),
)  # fmt: skip

UNMEASURED: Mapping[str, str] = {
    "follow_links": "no chunk of the sets has links.",
    "stop_on_heading_change": "the chunks of the sets have no headings.",
    "min_continuity": "it decides at headings, and the chunks of the sets have none.",
    "stop_on_change": "no field of the sets changes within a document.",
    "max_gap_chars": "there is nothing between the chunks of the sets.",
    "boosts": "a boost is what you know of your own documents.",
    "chronological_order": "the chunks of the sets have no timestamps. It orders what is shown anyway.",
    "order_key": "the key is your own. It orders what is shown anyway.",
}
"""Options of which these sets say nothing, and why."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a context shows: points of the evidence, tokens, and all of its text."""

    evidence: float
    tokens: int
    text: str


@dataclass(frozen=True)
class Question:
    """A question with its hits, which composes as often as it is asked to.

    Parameters
    ----------
    asked : the question
    index : what it is asked of
    composer : of its set
    store, with_parents : chunks, without parents and with them
    parents : texts by their id
    """

    asked: Asked
    index: Index
    composer: SpanComposer
    store: Mapping[ChunkKey, Chunk]
    with_parents: Mapping[ChunkKey, Chunk]
    parents: Mapping[str, str]

    @cached_property
    def lists(self) -> list[list[SeedHit]]:
        """The hits by vectors, and those by words."""
        return [retrieve(self.index, self.asked, how, HITS) for how in ("dense", "bm25")]

    def compose(self, given: Given, options: Mapping[str, Any]) -> Composition:
        """Return the context of what is given."""
        store = self.with_parents if given == PARENTS else self.store
        lists = [[SeedHit(store[hit.key], hit.similarity_score) for hit in hits] for hits in self.lists]
        return self.composer.compose(
            lists if given == LISTS else lists[0],
            store,
            self.parents if given == PARENTS else None,
            query=self.asked.question.text,
            query_embedding=self.asked.embedding,
            **options,
        )

    def show(self, made: Composition) -> Shown:
        """Return what a context shows, in tokens of one tokenizer."""
        evidence = score_context(cited_ranges(made.citations), self.asked.question.evidence).recall
        return Shown(100 * evidence, self.index.tokenizer.count(made.text), made.text)

    def changes(self, changes: Sequence[Change]) -> Iterator[tuple[Change, int, Shown, Shown]]:
        """Yield each change, at each budget, with what is shown without it and with it."""
        bases: dict[str, tuple[Composition, Shown]] = {}
        for change in changes:
            for budget in change.budgets:
                options = {"token_budget": budget, **change.beside}
                key = repr((change.given, options))
                if key not in bases:
                    base = self.compose(change.given, options)
                    bases[key] = (base, self.show(base))
                base, shown = bases[key]
                made = OF_QUESTION.get(change.option)
                value = made(self.index, base) if made else change.value
                yield change, budget, shown, self.show(self.compose(change.given, {**options, change.option: value}))


def asked_of(index: Index, composer: SpanComposer, asked: Sequence[Asked]) -> list[Question]:
    """Return questions of an index."""
    parents, chunks = with_parents(index)
    return [Question(one, index, composer, index.vector_store, chunks, parents) for one in asked]


@cache
def with_parents(index: Index) -> tuple[Mapping[str, str], Mapping[ChunkKey, Chunk]]:
    """Return runs of four chunks as parents, and the chunks with their parents' ids."""
    parents, chunks = {}, {}
    for number, places in enumerate(parents_of(index)):
        doc_id, start, end = index.range_between(places)
        parents[f"parent {number}"] = index.documents[doc_id][start:end]
        for chunk in (index.vector_store[index.chunks[place].key] for place in places):
            metadata = replace(chunk.metadata, parent_id=f"parent {number}")
            chunks[chunk.key] = Chunk(chunk.text, metadata, chunk.embedding)
    return parents, chunks


def questions_of(sets: Sequence[str], most: int) -> Iterator[Question]:
    """Yield the questions of all sets."""
    indexes = Indexes(sets, SIZE)
    for name in sets:
        composer = SpanComposer(RetrievalConfig(coefficients=coefficients(name), tokenizer=TOKENIZER))
        yield from asked_of(indexes.all, composer, indexes.ask(name, most=most))


def measure(questions: Iterator[Question], changes: Sequence[Change]) -> list[dict[str, Any]]:
    """Return a row for each change at each budget."""
    found: dict[tuple[int, int], list[tuple[Shown, Shown]]] = {}
    for number, question in enumerate(questions, 1):
        for change, budget, before, after in question.changes(changes):
            found.setdefault((changes.index(change), budget), []).append((before, after))
        print(f"{number}: {question.asked.set_name}", file=sys.stderr, flush=True)
    return [row(changes[place], budget, pairs) for (place, budget), pairs in found.items()]


def row(change: Change, budget: int, pairs: Sequence[tuple[Shown, Shown]]) -> dict[str, Any]:
    """Return what a change is worth: points of evidence and percent of tokens, with intervals, and changed contexts."""
    before, after = zip(*pairs, strict=True)
    shown, tokens = (float(np.mean([getattr(one, name) for one in before])) for name in ("evidence", "tokens"))
    percent = tokens / 100
    return {
        "option": change.option,
        "value": change.name,
        "beside": {name: spell(value) for name, value in change.beside.items() if name != change.option},
        "given": change.given,
        "budget": budget,
        "base": {"evidence": round(shown, 1), "tokens": round(tokens)},
        "evidence": change_of([shown.evidence for shown in before], [shown.evidence for shown in after]),
        "tokens": change_of([s.tokens / percent for s in before], [s.tokens / percent for s in after]),
        "changed": round(100 * float(np.mean([a.text != b.text for b, a in pairs])), 1),
    }


def change_of(before: Sequence[float], after: Sequence[float]) -> list[float]:
    """Return the mean change and its interval."""
    found = paired_bootstrap(after, before, resamples=RESAMPLES, seed=SEED)
    return [round(value, 2) + 0.0 for value in (found.mean, found.low, found.high)]


def spell(value: Any) -> str:
    """Return a value as one types it in a file of options."""
    return ", ".join(value) if isinstance(value, tuple) and isinstance(value[0], str) else str(value).lower()


def main() -> int:
    """Run, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="of a set")
    parser.add_argument("--out", type=Path, help=f"file to write, instead of {RESULTS.name} among the results")
    asked = parser.parse_args()
    most = asked.questions
    found = measure(questions_of(SETS, most), CHANGES)
    head = {"model": MODEL, **measured_with(SETS, most), "hits": HITS, "size": SIZE}
    write(asked.out or RESULTS, head, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
