"""With exact selection, few candidates lose nothing to brute force over the rendered text: marks, numbers and joins."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any
from unittest.mock import patch

import pytest
from support.strategies import count_words, make_chunk, make_store

from retrivex import Composition, RetrievalConfig, SeedHit, SpanComposer
from retrivex.composer import composer as steps
from retrivex.composer.budget_fit import fit_to_budget
from retrivex.composer.order import order_spans
from retrivex.composer.spans import SpanScorer, best_first, span_of
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.rendering.render import render
from retrivex.selection.candidates import join_picks
from retrivex.selection.duplicates import once_only
from retrivex.selection.problem import Limits, fits, measure

WORDS = ("bees", "ants", "hive", "queen", "honey", "wax", "pollen", "nectar", "drone", "swarm", "comb", "a", "of", "in")
ORDERS = ("edge_balanced", "document", "document_edges", "score_desc", "best_last", "chronological", "group_by", "auto")
FORMATS = ("text", "markdown", "xml")
HEADERS = ("none", "none", "heading", "document", "full")
COUNTERS = {"words": count_words, "cl100k_base": "cl100k_base", "estimate": "estimate"}


class Case:
    """Hits on documents with gaps between them, options drawn at random, and what the composer made of them."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        store: dict[ChunkKey, Chunk] = {}
        for doc_id in "abc"[: rng.choice([1, 1, 2, 3])]:
            store |= self._document(doc_id, rng.randint(4, 8))
        hits = [SeedHit(store[key], rng.uniform(0.3, 1)) for key in rng.sample(sorted(store), min(len(store), 8))]
        total = sum(count_words(hit.chunk.text) for hit in hits)
        calibrated = seed % 3 == 0
        self.config = RetrievalConfig(
            window=0,
            scoring="calibrated" if calibrated else "weighted",
            token_budget=15 + int(total * rng.uniform(0.3, 0.9)),
            ordering_strategy=ORDERS[seed % len(ORDERS)],
            numbered=rng.random() < 0.7,
            gap_markers=rng.random() < 0.8,
            span_header=rng.choice(HEADERS),
            context_format=rng.choice(FORMATS),
            run_cost=rng.choice([0.0, 0.25, 0.5]),
            max_spans=rng.choice([None, None, None, 2, 3]),
            max_tokens_per_document=rng.choice([None, None, None, 60]),
        )
        tokenizer: Any = tuple(COUNTERS.values())[seed % len(COUNTERS)]
        self.known: dict[str, Any] = {}
        with patch.object(steps, "fit_to_budget", self._fit):
            composer = SpanComposer(self.config, tokenizer=tokenizer)
            self.made: Composition = composer.compose(hits, store, query="Where does the queen keep honey?")

    def _document(self, doc_id: str, count: int) -> dict[ChunkKey, Chunk]:
        chunks, start = [], 0
        for number in range(count):
            text = " ".join(self.rng.choices(WORDS, k=self.rng.randint(6, 30))).capitalize() + ". "
            path = (f"Part {number // 3}",)
            chunks.append(make_chunk(doc_id, number, text, start, heading_path=path))
            start += len(text)
        return make_store(*chunks)

    def _fit(self, call: Any, pinned: Any, scored: Any, candidates: Any, parents: Any) -> Any:
        self.known = {"call": call, "scored": scored, "problem": candidates.problem, "candidates": candidates}
        return fit_to_budget(call, pinned, scored, candidates, parents)

    def count(self, chosen: Sequence[int]) -> int:
        """Tokens of the text that shows some candidates."""
        call, scored = self.known["call"], self.known["scored"]
        seeds, continuity = scored.expanded.seeds, scored.expanded.expansion.continuity
        scorer = SpanScorer.of(seeds, continuity, {}, call.config, scored.scores.scorer)
        picks = join_picks(self.known["candidates"], chosen)
        spans = [scorer.score(span_of(pick, scored.runs[pick.run], call.counter)) for pick in picks]
        ordered, _ = order_spans(once_only(best_first(spans), call.counter), call.config, call.question)
        return call.counter.cache.tokenizer.count(render(ordered, call.style).text)

    def sets_by_value(self) -> Iterator[tuple[float, tuple[int, ...]]]:
        """All sets that keep the limits, the budget aside, with their objective, best first."""
        problem, cap = self.known["problem"], self.config.max_tokens_per_document
        caps = None if cap is None else [cap] * (1 + max(problem.documents))
        limits = Limits(10**9, self.config.max_spans, caps)
        every = (chosen for size in range(len(problem) + 1) for chosen in combinations(range(len(problem)), size))
        yield from sorted(((measure(problem, c)[0], c) for c in every if fits(problem, c, limits)), reverse=True)

    def best_value(self) -> float:
        """The largest objective of a set whose text fits."""
        return next(value for value, c in self.sets_by_value() if self.count(c) <= self.config.token_budget)


@pytest.mark.parametrize("seed", range(48))
def test_few_candidates_are_worth_what_brute_force_over_the_text_finds(seed: int) -> None:
    case = Case(seed)
    assert case.made.tokens <= case.config.token_budget
    if any("was cut" in warning for warning in case.made.warnings):
        return  # not even the best passage fits whole: a part of it is shown in place of others
    best = case.best_value()
    assert case.made.trace.selection["value"] == pytest.approx(best, abs=1e-8)
    if case.config.run_cost == 0:  # what is filled in then takes nothing from the objective
        assert sum(span.value for span in case.made.spans) >= best - 1e-8


def spread(scores: dict[tuple[str, int], float], length: int = 4, **said: Any) -> Composition:
    """Compose hits of `length` words each, far from one another in their documents."""
    chunks = [
        make_chunk(doc_id, at, " ".join(f"{doc_id}{at}{i}" for i in range(length)), at * 1000) for doc_id, at in scores
    ]
    hits = [SeedHit(chunk, scores[chunk.key]) for chunk in chunks]
    options = {"window": 0, "scoring": "weighted", "run_cost": 0.0, "numbered": False, **said}
    return SpanComposer(tokenizer=count_words).compose(hits, make_store(*chunks), **options)


def test_no_marker_is_paid_where_none_can_stand() -> None:
    made = spread({(doc_id, 1): 0.9 for doc_id in "abcdefgh"}, token_budget=32)
    assert (len(made.spans), made.tokens) == (8, 32)


def test_no_marker_is_paid_before_the_order_is_known() -> None:
    # each of 60 documents has two hits, more candidates than are counted one by one; by score no two follow each other
    scores = {(f"d{name:02}", at): 1.0 - at / 10 - name / 1000 for name in range(60) for at in (0, 2)}
    made = spread(scores, token_budget=240, ordering_strategy="score_desc")
    assert (len(made.spans), made.tokens) == (60, 240)
    both = spread(scores, token_budget=480, ordering_strategy="score_desc")
    assert (len(both.spans), both.tokens) == (120, 480)


def test_markers_are_paid_where_the_order_writes_them() -> None:
    scores = {("a", 0): 0.9, ("a", 2): 0.8, ("b", 0): 0.7, ("c", 0): 0.6}
    together = spread(scores, token_budget=12, ordering_strategy="document")
    assert {span.doc_id for span in together.spans} == {"a", "b", "c"}  # the marker takes more than a chunk
    apart = spread(scores, token_budget=12, ordering_strategy="edge_balanced")
    assert [(span.doc_id, span.chunk_ids) for span in apart.spans] == [("a", [0]), ("b", [0]), ("a", [2])]


@pytest.mark.parametrize("selection", ["exact", "greedy"])
def test_a_text_full_of_markers_keeps_the_budget_and_shows_several_spans(selection: str) -> None:
    scores = {("a", at): 0.9 - at / 1000 for at in range(120)}  # more than are counted one by one
    made = spread(scores, length=2, token_budget=90, ordering_strategy="document", selection=selection, max_gap_chars=0)
    assert 90 - 2 - 5 < made.tokens <= 90
    assert made.text.count("omitted") == len(made.spans) - 1 > 8


def test_caps_and_limits_hold_for_what_is_found_by_count() -> None:
    scores = {(doc_id, at): 0.9 - at / 10 for doc_id in "ab" for at in range(4)}
    capped = spread(scores, token_budget=100, max_tokens_per_document=8)
    assert {doc_id: sum(s.token_count for s in capped.spans if s.doc_id == doc_id) for doc_id in "ab"} == {
        "a": 8,
        "b": 8,
    }
    assert len(spread(scores, token_budget=100, max_spans=3).spans) == 3


def test_kept_hits_stay_where_others_are_worth_more() -> None:
    scores = {("a", 0): 1.0, **{(doc_id, 1): 0.9 for doc_id in "bcde"}}
    made = spread(scores, token_budget=8, keep_top=1)
    assert ("a", [0]) in [(span.doc_id, span.chunk_ids) for span in made.spans]
    assert made.tokens == 8
