"""Duplicates, diversity, rerankers, presets: what happens before and around the order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from support.passages import FIVE, ids, passage

from retrivex import Reorderer
from retrivex.reorder import (
    Diversity,
    ReorderDiagnostics,
    reorder_for_chat_history,
    reorder_for_docs_qa,
    reorder_for_logs,
)
from retrivex.rerank import Reranking

TWINS = [
    passage("a", 0.5, "The queen bee lays up to two thousand eggs a day."),
    passage("b", 0.6, "Wasps build nests of paper."),
    passage("c", 0.9, "The queen bee lays up to two thousand eggs a day!"),
    passage("d", 0.4, "Wasps build nests of paper."),
]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "cbad"),
        ({"deduplicate": True}, "cba"),
        ({"deduplicate": True, "deduplicate_keep": "last"}, "cad"),
        ({"deduplicate": True, "deduplicate_threshold": 0.9}, "cb"),
        ({"deduplicate": True, "deduplicate_threshold": 0.9, "deduplicate_keep": "first"}, "ba"),
    ],
    ids=str,
)
def test_duplicates(options: dict[str, Any], expected: str) -> None:
    made = Reorderer(strategy="score_desc", **options).reorder_with_diagnostics(TWINS)
    assert ids(made.passages) == expected
    assert made.diagnostics.duplicates_removed == 4 - len(expected)


def test_a_duplicate_names_what_is_kept() -> None:
    made = Reorderer(deduplicate=True, deduplicate_threshold=0.9).reorder_with_diagnostics(TWINS)
    assert [(one.id, one.duplicate_of) for one in made.diagnostics.dropped] == [("a", "c"), ("d", "b")]
    assert made.diagnostics.deduplication == "near"


def test_diversity_ranks_repetition_behind() -> None:
    repeating = [*TWINS[2:], passage("e", 0.85, TWINS[0]["text"])]
    plain, diverse = (Reorderer(strategy="score_desc", diversity=on) for on in (None, True))
    assert ids(plain.reorder(repeating)) == "ced"
    assert ids(diverse.reorder(repeating)) == "ced"
    assert ids(diverse.reorder(repeating, diversity={"relevance_weight": 0.3})) == "cde"
    best_two = [passage("a", 0.9, source_id="x"), passage("b", 0.8, source_id="x"), passage("c", 0.7, source_id="y")]
    sources = Diversity(relevance_weight=1, source_penalty=0.9)
    assert ids(Reorderer(strategy="score_desc", diversity=sources).reorder(best_two)) == "acb"
    other_field = Diversity(relevance_weight=1, source_penalty=0.9, source_field="author")
    assert ids(Reorderer(strategy="score_desc", diversity=other_field).reorder(best_two)) == "abc"


def test_diversity_takes_the_first_of_equals_and_counts_a_missing_source_as_one() -> None:
    texts = ("abcd", "efgh", "ijkl")
    unlike = [passage(name, score, text) for name, score, text in zip("abc", (1, 2, 3), texts, strict=True)]
    assert ids(Reorderer(strategy="score_desc", diversity={"relevance_weight": 0}).reorder(unlike)) == "abc"
    named = [passage("d", 4, "mnop"), passage("e", 3, "qrst"), passage("f", 1, "uvwx", source_id="x")]
    heavy = Reorderer(strategy="score_desc", diversity={"relevance_weight": 1, "source_penalty": 1})
    assert ids(heavy.reorder(named)) == "dfe"
    rest = Reorderer(strategy="custom", key=lambda one: 0, diversity={"max_candidates": 2})
    four = [*unlike, passage("g", 1.5, "yzyz")]
    assert ids(rest.reorder(four)) == "cbag"


def test_diversity_by_embeddings() -> None:
    turns = [{**passage(name, score), "vector": row} for name, score, row in
             zip("abc", (0.9, 0.8, 0.7), ([1, 0], [1, 0.1], [0, 1]), strict=True)]  # fmt: skip
    reorderer = Reorderer(strategy="score_desc", diversity={"embedding_field": "vector", "relevance_weight": 0.3})
    assert ids(reorderer.reorder(turns)) == "acb"
    inside = [passage(one["id"], one["score"], vector=one["vector"]) for one in turns]
    assert ids(reorderer.reorder(inside)) == "acb"
    for wrong in (None, [1], [1, float("nan")], "12", [[1, 2]]):
        with pytest.raises(ValueError, match="'c' has no embedding under 'vector'"):
            reorderer.reorder([*turns[:2], {**turns[2], "vector": wrong}])


def test_diversity_looks_at_the_best_candidates_alone() -> None:
    few = Diversity(relevance_weight=0.1, max_candidates=2)
    made = Reorderer(strategy="score_desc", diversity=few).reorder_with_diagnostics(TWINS)
    assert ids(made.passages) == "cbad"
    assert all(why.diversity_applied for why in made.explanations)


def test_explanations_say_why() -> None:
    made = Reorderer(start_count=1, end_count=1, group_by="topic").reorder_with_diagnostics(
        [passage(name, score, topic=topic) for name, score, topic in zip("abcd", (4, 3, 2, 1), "pqpp", strict=True)]
    )
    told = [(why.position, why.placement, why.priority_rank, why.group) for why in made.explanations]
    assert told == [(0, "start", 0, "p"), (1, "middle", 3, "p"), (2, "end", 2, "p"), (3, "front", 1, "q")]
    times = Reorderer(strategy="chronological").reorder_with_diagnostics([passage("a", 1, timestamp=7)])
    assert (times.explanations[0].timestamp, times.explanations[0].strategy) == (7, "chronological")


# ---- rerankers


def by_length(query: str, texts: Sequence[str]) -> list[float]:
    return [float(len(text)) for text in texts]


LENGTHS = [passage(name, 0.5, "x" * length) for name, length in zip("abc", (3, 9, 6), strict=True)]


def test_a_reranker_gives_new_scores() -> None:
    reorderer = Reorderer(strategy="score_desc", reranker=by_length, min_score=5)
    made = reorderer.reorder_with_diagnostics(LENGTHS, "how long?")
    assert (ids(made.passages), made.diagnostics.reranked) == ("bc", True)
    assert [why.score for why in made.explanations] == [9, 6]
    assert made.diagnostics.rerank_ms is not None
    assert [one["score"] for one in made.passages] == [0.5, 0.5]
    assert ids(asyncio.run(reorderer.areorder(LENGTHS, "how long?"))) == "bc"


def test_without_a_query_nothing_is_reranked() -> None:
    made = Reorderer(strategy="score_desc", reranker=by_length).reorder_with_diagnostics(LENGTHS)
    assert (ids(made.passages), made.diagnostics.rerank_skipped) == ("abc", True)
    assert any("pass query=" in warning for warning in made.diagnostics.warnings)


@pytest.mark.parametrize(
    ("answer", "told"),
    [([1.0], "shape"), ([1.0, float("nan"), 2.0], "finite"), (RuntimeError("no model"), "no model")],
    ids=str,
)
def test_a_failing_reranker_leaves_the_scores(answer: Any, told: str) -> None:
    def failing(query: str, texts: Sequence[str]) -> list[float]:
        if isinstance(answer, Exception):
            raise answer
        return list(answer)

    reorderer = Reorderer(strategy="score_desc", reranker=Reranking(failing, retries=0))
    for made in (
        reorderer.reorder_with_diagnostics(FIVE[:3], "q"),
        asyncio.run(reorderer.areorder_with_diagnostics(FIVE[:3], "q")),
    ):
        assert (ids(made.passages), made.diagnostics.rerank_failed, made.diagnostics.reranked) == ("abc", True, False)
        assert any(told in warning for warning in made.diagnostics.warnings)


def test_a_hanging_reranker_is_given_up() -> None:
    release = threading.Event()
    hanging = Reranking(lambda query, texts: [0.0] * len(texts) if release.wait() else [], timeout_s=0.05, retries=0)
    made = Reorderer(reranker=hanging).reorder_with_diagnostics(FIVE, "q")
    release.set()
    assert (ids(made.passages), made.diagnostics.rerank_failed) == ("acedb", True)


def test_a_call_can_be_cancelled_while_a_reranker_works() -> None:
    async def endless(query: str, texts: Sequence[str]) -> list[float]:
        await asyncio.Event().wait()
        return []

    async def main() -> None:
        call = asyncio.create_task(Reorderer(reranker=endless).areorder(FIVE, "q"))
        await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(asyncio.wait_for(main(), 60))


def test_texts_that_are_cut_are_told() -> None:
    class Short:
        def score(self, query: str, texts: Sequence[str]) -> list[float]:
            return [1.0] * len(texts)

        def too_long(self, query: str, texts: Sequence[str]) -> list[int]:
            return [1]

    made = Reorderer(reranker=Short()).reorder_with_diagnostics(FIVE, "q")
    assert any("only the beginning of 1 passages" in text and "'b'" in text for text in made.diagnostics.warnings)


# ---- presets


def test_presets() -> None:
    assert ids(Reorderer.preset("standard", max_chars=0).reorder(FIVE)) == "acdb"
    assert Reorderer.preset("narrative").options.strategy == "document"
    assert Reorderer.preset("temporal").options.chronological_order == "asc"
    diverse = Reorderer.preset("diverse").options.diversity
    assert diverse == Diversity(source_penalty=0.2)
    assert Reorderer.preset("auto", top_k=1).options.strategy == "auto"
    assert ids(Reorderer.preset("standard", top_k=2).reorder(FIVE)) == "ab"
    assert [Reorderer.preset("standard", top_k=k).options.min_top_k for k in (2, 9)] == [2, 4]
    standard = Reorderer.preset("standard")
    assert (ids(standard.reorder(FIVE, top_k=2)), ids(standard.reorder(FIVE, max_chars=0))) == ("ab", "acdb")
    with pytest.raises(ValueError, match="min_top_k cannot exceed top_k"):
        standard.reorder(FIVE, top_k=2, min_top_k=3)
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        standard.reorder(FIVE, top_k=0)
    with pytest.raises(ValueError, match="choose one of standard"):
        Reorderer.preset("best")  # type: ignore[arg-type]


def test_recipes() -> None:
    messy = [*TWINS, passage("e", float("nan"), "x", timestamp=9), passage("f", 0.2, "y", timestamp=10)]
    assert ids(reorder_for_docs_qa(messy, "Who lays eggs?")) == "cfeb"
    assert ids(reorder_for_docs_qa(messy, "When were they seen?", deduplicate=False)) == "cafedb"
    assert ids(reorder_for_chat_history(messy, top_k=3)) == "cab"
    assert ids(reorder_for_logs(messy)) == "feabcd"


# ---- the whole


def test_diagnostics_are_handed_over_and_timed() -> None:
    seen: list[ReorderDiagnostics] = []
    Reorderer(on_diagnostics=seen.append).reorder(FIVE, "four")
    assert (seen[0].output_count, seen[0].query_length) == (5, 4)
    assert set(seen[0].step_ms) == {"read", "filter", "choose", "rank", "order", "pack"}


def test_every_step_counts_its_own() -> None:
    given = [*TWINS, passage("e", 0.1), passage("f", 0.8, "Ants."), passage("g", 0.7, "Owls."), {"id": "h"}]
    cut = [*given, passage("i", 0.9), passage("j", 0.9)]
    options: dict[str, Any] = {"validation": "coerce", "max_input": 8, "max_input_behavior": "truncate"}
    made = Reorderer(min_score=0.2, deduplicate=True, top_k=3, **options).reorder_with_diagnostics(cut).diagnostics
    reasons = [(one.id, one.reason) for one in made.dropped]
    assert reasons == [("a", "top_k"), ("b", "top_k"), ("d", "duplicate"), ("e", "min_score"), ("g", "top_k"),
                       ("h", "unusable"), ("j", "max_input")]  # fmt: skip
    assert (made.below_min_score, made.duplicates_removed, made.pruned_by_budget) == (1, 1, 3)
    assert (made.input_count, made.used_count, made.output_count) == (10, 8, 3)


def test_a_reorderer_may_be_shared_between_threads() -> None:
    reorderer = Reorderer(strategy="auto", diversity=True, deduplicate=True)
    expected = reorderer.reorder(TWINS, "who?")
    with ThreadPoolExecutor(4) as pool:
        assert all(made == expected for made in pool.map(lambda _: reorderer.reorder(TWINS, "who?"), range(40)))
