"""Which order each strategy gives, and which passages stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.passages import FIVE, ids, passage

from retrivex import Reorderer
from retrivex.errors import ConfigError
from retrivex.ordering import PositionProfile
from retrivex.reorder import Passage
from retrivex.reorder.options import Strategy

DOCUMENTS = [
    passage("a", 0.5, source_id="x", section_index=2),
    passage("b", 0.9, source_id="y", section_index=1),
    passage("c", 0.4, source_id="x", section_index=1),
    passage("d", 0.1, source_id="y", section_index=0),
    passage("e", 0.3, source_id="z", section_index=0),
]
DATED = [
    passage("a", 0.1, timestamp=30),
    passage("b", 0.5),
    passage("c", 0.3, timestamp=10),
    passage("d", 0.9, timestamp=30),
    passage("e", 0.9, timestamp=20),
]


def everything(strategy: str) -> dict[str, Any]:
    return {"strategy": strategy} | ({"key": lambda one: one["id"]} if strategy == "custom" else {})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "acedb"),
        ({"strategy": "score_desc"}, "abcde"),
        ({"strategy": "best_last"}, "edcba"),
        ({"strategy": "front_first"}, "abcde"),
        ({"strategy": "back_first"}, "edcba"),
        ({"strategy": "alternating"}, "aebdc"),
        ({"start_count": 2, "end_count": 1}, "abdec"),
        ({"start_count": 3, "end_count": 2}, "acedb"),
        ({"strategy": "relevance_groups", "high_relevance": 0.8, "medium_relevance": 0.6}, "acdeb"),
        ({"strategy": "position_weighted"}, "acdeb"),
        ({"strategy": "position_weighted", "position_weights": (0, 0, 1, 0, 0)}, "bcade"),
        ({"strategy": "profile", "profile": "recency"}, "edcba"),
        ({"strategy": "profile", "profile": PositionProfile((0.0, 1.0), (1.0, 0.0))}, "abcde"),
        ({"strategy": "custom", "key": lambda one: -ord(one["id"])}, "edcba"),
        ({"strategy": "custom", "compare": lambda a, b: a["score"] - b["score"]}, "edcba"),
    ],
)
def test_orders(options: dict[str, Any], expected: str) -> None:
    assert ids(Reorderer(**options).reorder(FIVE)) == expected
    shuffled = [FIVE[i] for i in (3, 0, 4, 1, 2)]
    if options.get("strategy") not in ("front_first", "back_first"):
        assert ids(Reorderer(**options).reorder(shuffled)) == expected


def test_a_measured_profile_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "measured.json"
    PositionProfile((0.0, 1.0), (0.0, 1.0), "measured").save(path)
    reorderer = Reorderer(strategy="profile", profile=str(path))
    path.unlink()  # read once, not again for every call
    assert ids(reorderer.reorder(FIVE)) == ids(Reorderer().reorder(FIVE, strategy="profile", profile="recency"))
    assert reorderer.reorder(FIVE, top_k=2)
    with pytest.raises(ValueError, match=r"profile.*cannot be read"):
        Reorderer(strategy="profile", profile=path)


def test_lengths_count_for_a_profile() -> None:
    long_and_short = [passage("a", 0.9, "word " * 100), passage("b", 0.8, "word"), passage("c", 0.7, "word")]
    falling = PositionProfile((0.0, 0.2, 1.0), (1.0, 0.1, 0.0))
    assert ids(Reorderer(strategy="profile", profile=falling).reorder(long_and_short)) == "bca"
    counted = [{**one, "token_count": 10} for one in long_and_short]
    assert ids(Reorderer(strategy="profile", profile=falling).reorder(counted)) == "abc"


def test_shuffle_is_the_same_for_a_seed() -> None:
    twice = [ids(Reorderer(strategy="shuffle", seed=seed).reorder(FIVE)) for seed in (1, 1, 2)]
    assert twice[0] == twice[1] != twice[2]


def test_document_orders() -> None:
    assert ids(Reorderer(strategy="document").reorder(DOCUMENTS)) == "dbcae"
    assert ids(Reorderer(strategy="document_edges").reorder(DOCUMENTS)) == "dbeca"
    renamed = [{**one, "metadata": {"book": one["metadata"]["source_id"]}} for one in DOCUMENTS]
    assert ids(Reorderer(strategy="document", source_field="book").reorder(renamed)) == "bdace"


def test_pages_order_a_document_without_sections() -> None:
    pages = [passage("a", 0.9, source_id="x", page=7), passage("b", 0.1, source_id="x", page=3)]
    assert ids(Reorderer(strategy="document").reorder(pages)) == "ba"
    gap = [*pages, passage("d", 0.2, source_id="x")]
    assert ids(Reorderer(strategy="document").reorder(gap)) == "abd"
    sections = [passage("c", 0.2, source_id="x", page=1, section_index=9)]
    assert ids(Reorderer(strategy="document").reorder(pages + sections)) == "abc"


def test_chronological_ties_go_by_score_and_undated_come_last() -> None:
    assert ids(Reorderer(strategy="chronological").reorder(DATED)) == "cedab"
    assert ids(Reorderer(strategy="chronological", chronological_order="desc").reorder(DATED)) == "daecb"


def test_equal_times_and_priorities_go_by_score() -> None:
    same = [passage("a", 0.1, timestamp=5), passage("b", 0.2, timestamp=5)]
    assert ids(Reorderer(strategy="chronological", weights={"similarity": 0}).reorder(same)) == "ba"


def test_groups_by_their_best_and_each_in_order() -> None:
    assert ids(Reorderer(group_by="source_id").reorder(DOCUMENTS)) == "bdace"
    four = [passage(name, score, topic=topic) for name, score, topic in zip("abcd", (4, 3, 2, 1), "pqpp", strict=True)]
    assert ids(Reorderer(group_by="topic").reorder(four)) == "adcb"


def test_groups_may_be_the_order_itself() -> None:
    four = [passage(name, score, topic=topic) for name, score, topic in zip("abcd", (4, 3, 2, 1), "pqpp", strict=True)]
    made = Reorderer(strategy="group_by", group_by="topic").reorder_with_diagnostics(four)
    assert (ids(made.passages), made.diagnostics.strategy) == ("adcb", "group_by")
    assert [(why.group, why.placement) for why in made.explanations] == [
        ("p", "front"), ("p", "front"), ("p", "back"), ("q", "front"),
    ]  # fmt: skip
    assert ids(Reorderer(strategy="group_by").reorder(DOCUMENTS)) == "bdace"  # by document, where no field is named
    # what has to go is the least relevant, wherever it stands
    assert ids(Reorderer(strategy="group_by", group_by="topic", top_k=2).reorder(four)) == "ab"


@pytest.mark.parametrize(
    ("query", "expected", "strategy"),
    [
        ("When did it happen?", "cedab", "chronological"),
        ("什么时候发生的？", "cedab", "chronological"),
        ("Who did it?", "dbace", "edge_balanced"),
        (None, "dbace", "edge_balanced"),
    ],
)
def test_auto_goes_by_the_question(query: str | None, expected: str, strategy: str) -> None:
    made = Reorderer(strategy="auto").reorder_with_diagnostics(DATED, query)
    assert (ids(made.passages), made.diagnostics.strategy) == (expected, strategy)
    assert made.diagnostics.reason


def test_auto_groups_a_comparison_and_keeps_documents_for_a_narrative() -> None:
    assert ids(Reorderer(strategy="auto").reorder(DOCUMENTS, "Compare x with y")) == "bdace"
    assert ids(Reorderer(strategy="auto").reorder(DOCUMENTS, "Summarize the story")) == "dbcae"
    asked = Reorderer(strategy="auto", auto={"detector": lambda query: "narrative"})
    assert ids(asked.reorder(DOCUMENTS, "Who?")) == "dbcae"
    assert ids(asked.reorder(DOCUMENTS, "Who?", auto={"section_coverage": 1, "source_coverage": 1})) == "dbcae"
    missing = [*DOCUMENTS, passage("f", 0.0)]
    assert asked.reorder(missing, "Who?", auto={"section_coverage": 1}) == Reorderer().reorder(missing)


def test_auto_puts_the_best_last_in_a_nearly_full_window() -> None:
    words = {"max_tokens": 12, "tokenizer": lambda text: len(text.split())}
    full = Reorderer(strategy="auto", auto={"context_window": 12}, **words)
    assert ids(full.reorder(FIVE, "Who?")) == "dcba"
    assert ids(full.reorder(FIVE, "Who?", auto={"context_window": 100})) == "acdb"
    # 15 words would fill 18, but only 12 of them are shown
    assert ids(full.reorder(FIVE, "Who?", auto={"context_window": 18})) == "acdb"


@pytest.mark.parametrize("limit", [
    {"top_k": 2}, {"max_chars": 10}, {"max_tokens": 10}, {"top_k": 2, "max_chars": 250}, {"top_k": 2, "min_top_k": 2},
])  # fmt: skip
def test_only_what_is_shown_fills_the_window(limit: dict[str, Any]) -> None:
    sixty = [passage(str(i), 60.0 - i, "12345") for i in range(60)]
    asked = Reorderer(strategy="auto", auto={"context_window": 100}, tokenizer=len, **limit)
    made = asked.reorder_with_diagnostics(sixty, "Who?")
    assert (len(made.passages), made.diagnostics.strategy) == (2, "edge_balanced")
    made = asked.reorder_with_diagnostics(sixty, "Who?", auto={"context_window": 12})
    assert (made.diagnostics.strategy, made.diagnostics.reason[:3]) == ("best_last", "83%")


def test_the_window_is_filled_by_what_stays_whatever_the_budget() -> None:
    sixty = [passage(str(i), 60.0 - i, "12345") for i in range(60)]
    asked = Reorderer(strategy="auto", auto={"context_window": 100}, tokenizer=len, max_tokens=0, min_top_k=17)
    assert asked.reorder_with_diagnostics(sixty, "Who?").diagnostics.reason[:3] == "85%"


@pytest.mark.parametrize("packing", ["auto", "prefix", "edge_aware", "best"])
def test_what_no_longer_fits_fills_no_window(packing: Any) -> None:
    long = [passage(str(i), 1 - i / 10, "x" * 600) for i in range(4)]
    asked = Reorderer(strategy="auto", max_tokens=900, tokenizer=len, packing=packing, auto={"context_window": 1000})
    made = asked.reorder_with_diagnostics(long, "Who?").diagnostics
    assert (made.tokens_used, made.strategy) == (600, "edge_balanced")
    made = asked.reorder_with_diagnostics(long, "Who?", auto={"near_full": 0.6}).diagnostics
    assert (made.tokens_used, made.strategy, made.reason[:3]) == (600, "best_last", "60%")


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=12),
    st.integers(0, 200),
    st.sampled_from(["auto", "prefix", "edge_aware", "best"]),
)
def test_the_share_named_is_that_of_the_output(lengths: list[int], limit: int, packing: Any) -> None:
    passages = [passage(str(i), 1 - i / 20, "x" * length) for i, length in enumerate(lengths)]
    asked = Reorderer(strategy="auto", max_tokens=limit, tokenizer=len, packing=packing, auto={"context_window": 100})
    made = asked.reorder_with_diagnostics(passages, "Who?").diagnostics
    if made.strategy == "best_last":
        assert made.tokens_used >= 80
        assert made.reason.startswith(f"{made.tokens_used / 100:.0%} of the context window is full")


@pytest.mark.parametrize("strategy", get_args(Strategy))
@given(scores=st.lists(st.floats(-1e6, 1e6), max_size=12))
def test_every_order_keeps_every_passage_and_says_the_same_twice(strategy: str, scores: list[float]) -> None:
    passages = [Passage(place, f"text {place}", score, {"timestamp": place % 3}) for place, score in enumerate(scores)]
    options = everything(strategy) | ({"key": lambda one: one.score} if strategy == "custom" else {})
    made = Reorderer(**options).reorder(passages, "when?")
    assert sorted(one.id for one in made) == list(range(len(scores)))  # type: ignore[type-var]
    assert made == Reorderer(**options).reorder(passages, "when?")
    assert all(any(one is given for given in passages) for one in made)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "best"}, "edge_balanced"),
        ({"start_count": 2}, "give both or neither"),
        ({"strategy": "custom"}, "either key or compare"),
        ({"key": len}, "either key or compare"),
        ({"strategy": "custom", "key": len, "compare": max}, "either key or compare"),
        ({"strategy": "profile", "profile": "mine"}, "lost_in_the_middle"),
        ({"strategy": "document", "group_by": "source_id"}, "leave it out"),
        ({"high_relevance": 0.1}, "at least medium_relevance"),
        ({"top_k": 2, "min_top_k": 3}, "min_top_k cannot exceed top_k"),
        ({"score_clamp": (1, 0)}, "in order"),
        ({"max_tokens": 5, "tokenizer": None}, "needs a tokenizer"),
        ({"max_input_behavior": "truncate"}, "needs max_input"),
        ({"weights": {"time": -1}}, "greater than or equal to 0"),
        ({"min_score": float("nan")}, "finite"),
        ({"fields": "pinecone"}, "langchain, llamaindex, haystack, hits"),
        ({"topk": 3}, "there is no such option"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Reorderer(**options)
    fine = Reorderer()
    with pytest.raises(ConfigError, match=message):
        fine.reorder(FIVE, **options)


def test_overrides_last_one_call_and_merge_weights() -> None:
    reorderer = Reorderer(weights={"time": 1.0}, strategy="custom", key=lambda one: one["id"])
    assert ids(reorderer.reorder(FIVE[::-1])) == "abcde"
    assert ids(reorderer.reorder(DATED, strategy="score_desc", weights={"similarity": 0})) == "adebc"
    assert (reorderer.options.weights.similarity, reorderer.options.strategy) == (1.0, "custom")
