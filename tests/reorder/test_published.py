"""What the README of rag-chunk-reorder 0.1.7 and an article on the order of passages show."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from support.passages import ids, passage

from retrivex import Reorderer, deduplicate
from retrivex.evaluation.metrics.key_points import key_point_precision, key_point_recall
from retrivex.evaluation.metrics.positions import position_effectiveness
from retrivex.evaluation.metrics.ranking import ndcg
from retrivex.ordering import alternating, back_first, edge_balanced, score_desc
from retrivex.reorder import deserialize_passages, serialize_passages

EIGHT = [
    passage(name, score)
    for name, score in zip("abcdefgh", (0.95, 0.92, 0.89, 0.87, 0.85, 0.83, 0.80, 0.78), strict=True)
]
QUICK = [
    passage(name, score) for name, score in zip("12345", (0.95, 0.72, 0.85, 0.6, 0.78), strict=True)
]  # as its quick start has them
PARTS = [
    passage("1", 0.9, "Intro", source_id="doc-a", section_index=0),
    passage("2", 0.7, "Details", source_id="doc-a", section_index=2),
    passage("3", 0.8, "Summary", source_id="doc-b", section_index=0),
]
EVENTS = [passage("1", 0.8, timestamp=1700000000), passage("2", 0.9, timestamp=1700000100)]


# ---- rag-chunk-reorder


def test_the_quick_start_puts_the_best_at_both_ends() -> None:
    made = ids(Reorderer().reorder(QUICK))
    assert (made[0], made[-1]) == ("1", "3")
    assert made == "15423"


@pytest.mark.parametrize(
    ("passages", "options", "expected"),
    [
        (EIGHT, {"start_count": 3, "end_count": 2}, "abcfghde"),
        (PARTS, {"strategy": "document"}, "123"),
        (EVENTS, {"strategy": "chronological"}, "12"),
        (EVENTS, {"strategy": "chronological", "chronological_order": "desc"}, "21"),
        (QUICK, {"min_score": 0.75}, "153"),
        (QUICK, {"top_k": 3}, "153"),
        (QUICK, {"max_tokens": 6, "tokenizer": lambda text: len(text.split())}, "13"),
        (PARTS, {"group_by": "source_id"}, "123"),
    ],
)
def test_options_as_shown(passages: list[dict[str, Any]], options: dict[str, Any], expected: str) -> None:
    assert ids(Reorderer(**options).reorder(passages)) == expected


def test_a_comparator_of_ones_own() -> None:
    ranked = [passage("a", 0.9, priority=1), passage("b", 0.1, priority=3), passage("c", 0.5, priority=2)]
    reorderer = Reorderer(strategy="custom", compare=lambda a, b: b["metadata"]["priority"] - a["metadata"]["priority"])
    assert ids(reorderer.reorder(ranked)) == "bca"


def test_overrides_leave_the_instance_as_it_was() -> None:
    reorderer = Reorderer(strategy="edge_balanced")
    assert ids(reorderer.reorder(EVENTS, strategy="chronological")) == "12"
    assert reorderer.options.strategy == "edge_balanced"


def test_names_of_the_package_can_be_read_as_they_are() -> None:
    given = [
        {**one, "metadata": {"sourceId": source, "sectionIndex": at}}
        for one, source, at in zip(PARTS, "bab", (1, 0, 0), strict=True)
    ]  # fmt: skip
    fields = {"source_id": "sourceId", "section_index": "sectionIndex"}
    assert ids(Reorderer(strategy="document", fields=fields).reorder(given)) == "312"


def test_priorities_are_in_the_metadata() -> None:
    first = Reorderer(include_priority_score=True).reorder(QUICK)[0]
    assert first["metadata"]["priority_score"] == 0.95


@pytest.mark.parametrize(("keep", "expected"), [("highest_score", "b"), ("first", "a"), ("last", "c")])
def test_near_duplicates_by_trigrams(keep: Any, expected: str) -> None:
    text = "The annual report lists revenue, costs and the number of employees"
    same = [passage("a", 0.5, f"{text}."), passage("b", 0.9, f"{text}!"), passage("c", 0.7, f"{text}?")]
    assert ids(deduplicate(same, threshold=0.85, keep=keep)) == expected
    reorderer = Reorderer(deduplicate=True, deduplicate_threshold=0.85, deduplicate_keep=keep)
    assert ids(reorderer.reorder(same)) == expected


def test_a_reranker_that_fails_leaves_the_scores() -> None:
    def fail(query: str, texts: Sequence[str]) -> list[float]:
        raise RuntimeError("the model is down")

    reorderer = Reorderer(reranker=fail)
    made = asyncio.run(reorderer.areorder_with_diagnostics(QUICK, "What is the capital of France?"))
    assert ids(made.passages) == "15423"
    assert made.diagnostics.rerank_failed
    assert "the model is down" in made.diagnostics.warnings[0]


def test_a_stream_and_the_way_to_json_and_back() -> None:
    assert ids(Reorderer().reorder_stream(QUICK, "my query")) == "15423"
    back = deserialize_passages(serialize_passages(QUICK))
    assert [(one.id, one.text, one.score) for one in back] == [(one["id"], one["text"], one["score"]) for one in QUICK]


def test_measures() -> None:
    texts = ["Paris is the capital of France.", "Lyon lies on the Rhône."]
    assert key_point_recall(["capital of France", "on the Seine"], texts) == 0.5
    assert key_point_recall(["CAPITAL OF FRANCE"], texts) == 0
    assert key_point_recall(["CAPITAL OF FRANCE"], texts, ignore_case=True) == 1
    assert key_point_precision(["capital of France"], texts) == 0.5
    assert position_effectiveness([0.9, 0.1, 0.8]) > position_effectiveness([0.1, 0.9, 0.8])
    assert ndcg([0.9, 0.8, 0.1]) == 1 > ndcg([0.1, 0.8, 0.9])


def test_the_steps_follow_one_another() -> None:
    limits = {"max_tokens": 9, "tokenizer": lambda text: 3, "top_k": 2}
    made = Reorderer(strategy="score_desc", min_score=0.7, deduplicate=True, group_by="kind", **limits)
    given = [
        passage("a", 0.9, "Bees sleep.", kind="bees"),
        passage("b", 0.6, "Bees sleep.", kind="bees"),  # under the score, and so no duplicate
        passage("c", 0.8, "Bees sleep.", kind="bees"),
        passage("d", 0.75, "Ants work.", kind="ants"),
        passage("e", 0.72, "Ants carry.", kind="ants"),
        passage("f", 0.71, "Ants dig.", kind="ants"),
    ]
    done = made.reorder_with_diagnostics(given)
    reasons = {dropped.id: dropped.reason for dropped in done.diagnostics.dropped}
    assert reasons == {"b": "min_score", "c": "duplicate", "e": "top_k", "f": "budget"}
    assert ids(done.passages) == "ad"


# ---- the article on orders


SCORES = {"Doc1": 0.95, "Doc2": 0.85, "Doc3": 0.75, "Doc4": 0.65, "Doc5": 0.55}


def test_orders_by_score() -> None:
    names = list(SCORES)
    assert score_desc(names, score=SCORES.__getitem__) == names
    assert back_first(names) == names[::-1]
    assert alternating(names, score=SCORES.__getitem__) == ["Doc1", "Doc5", "Doc2", "Doc4", "Doc3"]
    edges = edge_balanced(names, score=SCORES.__getitem__)
    assert {edges[0], edges[-1]} == {"Doc1", "Doc2"}


def test_relevance_groups() -> None:
    reorderer = Reorderer(strategy="relevance_groups", high_relevance=0.8, medium_relevance=0.6)
    made = reorderer.reorder([passage(name, score) for name, score in SCORES.items()])
    # ours: the rest of the high group closes the context, as docs/explain/ordering.md says
    assert [one["id"] for one in made] == ["Doc1", "Doc3", "Doc4", "Doc5", "Doc2"]


@pytest.mark.parametrize(
    ("question", "expected"), [("When did it happen?", "chronological"), ("Who did it?", "edge_balanced")]
)
def test_the_order_is_chosen_by_the_question(question: str, expected: str) -> None:
    made = Reorderer(strategy="auto").reorder_with_diagnostics(EVENTS, question)
    assert made.diagnostics.strategy == expected


def test_strategies_are_compared_on_a_test_set() -> None:
    relevant = {"a", "b"}
    found: dict[str, float] = {}
    for strategy in ("score_desc", "back_first", "edge_balanced"):
        shown = Reorderer(strategy=strategy).reorder(EIGHT)
        found[strategy] = position_effectiveness([float(one["id"] in relevant) for one in shown])
    assert max(found, key=found.__getitem__) == "edge_balanced"
