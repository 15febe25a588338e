"""Types of questions, and the order that suits them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.errors import ConfigError, OrderingError
from retrivex.ordering import AutoSettings, auto, choose_order


def passages(count: int = 5, *, dated: int = 0, sourced: int = 0, placed: int = 0, sources: int = 2) -> list[Any]:
    """Passages of which the first so many have a timestamp, a source and a section."""
    made = []
    for i in range(count):
        metadata: dict[str, Any] = {}
        if i < dated:
            metadata["timestamp"] = 100 - i
        if i < sourced:
            metadata["source_id"] = f"s{i % sources}"
        if i < placed:
            metadata["section_index"] = i
        made.append({"id": i, "score": 1 - i / 10, "token_count": 100, "metadata": metadata})
    return made


@pytest.mark.parametrize(("question", "items", "strategy", "reason"), [
    ("When?", passages(dated=2), "chronological", "temporal question, 40% have a timestamp"),
    ("When?", passages(dated=1), "edge_balanced", "only 20% have a timestamp"),
    ("How to?", passages(sourced=2, placed=2), "document", "40% have a source and 40% a position"),
    ("How to?", passages(sourced=2, placed=1), "edge_balanced", "40% have a source and 20% a position"),
    ("How to?", passages(sourced=1, placed=5), "edge_balanced", "only 20% have a source"),
    ("A vs B", passages(sourced=5), "group_by", "100% have a source: grouped by document"),
    ("A vs B", passages(sourced=5, sources=1), "edge_balanced", "1 known documents"),
    ("A vs B", passages(sourced=1), "edge_balanced", "1 known documents"),
    ("Who?", passages(dated=5, sourced=5, placed=5), "edge_balanced", "factual question"),
    ("When?", [], "edge_balanced", "only 0%"),
])  # fmt: skip
def test_choices_and_their_reasons(question: str, items: list[Any], strategy: str, reason: str) -> None:
    choice = choose_order(items, question)
    assert choice.strategy == strategy
    assert reason in choice.reason


def test_coverage_counts_what_can_be_used() -> None:
    bad = {"metadata": {"timestamp": float("nan"), "source_id": "", "section_index": "three"}}
    good = {"metadata": {"timestamp": datetime(2026, 1, 1, tzinfo=UTC), "source_id": 0, "section_index": 0}}
    assert choose_order([bad, good], None).coverage == {"timestamp": 0.5, "source": 0.5, "section": 0.5}


def test_thresholds_are_settable() -> None:
    items = passages(dated=2, sourced=2, placed=2)
    assert choose_order(items, "When?", settings=AutoSettings(timestamp_coverage=0.5)).strategy == "edge_balanced"
    assert choose_order(items, "How to?", settings=AutoSettings(source_coverage=0.5)).strategy == "edge_balanced"
    assert choose_order(items, "How to?", settings=AutoSettings(section_coverage=0.5)).strategy == "edge_balanced"
    assert choose_order(items, "A vs B", settings=AutoSettings(source_coverage=0.5)).strategy == "edge_balanced"
    assert choose_order(items, "A vs B", settings=AutoSettings(comparison_cues=())).strategy == "edge_balanced"
    assert choose_order(items, "Bitte", settings=AutoSettings(narrative_cues=("bitte",))).strategy == "document"
    assert choose_order(items, "Wann?", settings=AutoSettings(temporal_cues=("wann",))).strategy == "chronological"


def test_in_a_nearly_full_window_the_best_come_last() -> None:
    items = passages()
    full = choose_order(items, "Who?", settings=AutoSettings(context_window=600))
    assert (full.strategy, full.fill) == ("best_last", pytest.approx(500 / 600))
    assert "83% of the context window is full" in full.reason
    half = choose_order(items, "Who?", settings=AutoSettings(context_window=1000))
    assert (half.strategy, half.fill) == ("edge_balanced", 0.5)
    early = choose_order(items, "Who?", settings=AutoSettings(context_window=1000, near_full=0.5))
    assert early.strategy == "best_last"
    # an order that keeps the sense of the texts together stays
    dated = passages(dated=5)
    assert choose_order(dated, "When?", settings=AutoSettings(context_window=100)).strategy == "chronological"


def test_the_window_needs_token_counts() -> None:
    with pytest.raises(OrderingError, match="name their field with tokens="):
        choose_order([{"id": 1}], "Who?", settings=AutoSettings(context_window=100))
    assert choose_order([{"n": 90}], "Who?", settings=AutoSettings(context_window=100), tokens="n").fill == 0.9


@pytest.mark.parametrize("wrong", [{"near_full": 0}, {"context_window": 0}, {"timestamp_coverage": 1.1}, {"cues": ()}])
def test_settings_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        AutoSettings(**wrong)


@pytest.mark.parametrize(("question", "window", "expected"), [
    ("When?", None, [4, 3, 2, 1, 0]),
    ("How to?", None, [0, 2, 4, 1, 3]),
    ("A vs B", None, [0, 4, 2, 1, 3]),
    ("Who?", None, [0, 2, 4, 3, 1]),
    ("Who?", 500, [4, 3, 2, 1, 0]),
])  # fmt: skip
def test_items_in_the_order_chosen(question: str, window: int | None, expected: list[int]) -> None:
    items = passages(dated=5, sourced=5, placed=5)
    made = auto(items, question=question, score="score", settings=AutoSettings(context_window=window))
    assert [item["id"] for item in made] == expected


class Odd:
    def __hash__(self) -> int:
        raise RuntimeError("odd")


@pytest.mark.parametrize("bad", ["yesterday", "2020", [2020], np.zeros(3), b"1"], ids=repr)
def test_a_time_that_is_none_rules_chronological_order_out(bad: Any) -> None:
    items = [*passages(4, dated=4), {"id": 4, "score": 0.1, "timestamp": bad}]
    choice = choose_order(items, "When?")
    assert (choice.strategy, choice.coverage["timestamp"]) == ("edge_balanced", 0.8)
    assert f"{bad!r} is no time" in choice.reason
    assert [item["id"] for item in auto(items, question="When?", score="score")] == [0, 2, 4, 3, 1]


@pytest.mark.parametrize("question", ["A vs B", "How to?"])
@pytest.mark.parametrize(
    "bad", [["a"], {"a": 1}, ("a", [1]), np.zeros(3), Odd()], ids=lambda value: type(value).__name__
)
def test_a_source_that_cannot_be_told_from_others_rules_document_orders_out(question: str, bad: Any) -> None:
    items = [*passages(4, sourced=4, placed=4), {"id": 4, "score": 0.1, "source_id": bad}]
    choice = choose_order(items, question)
    assert (choice.strategy, choice.coverage["source"]) == ("edge_balanced", 0.8)
    assert f"source {bad!r:.80} cannot be compared" in choice.reason
    assert [item["id"] for item in auto(items, question=question, score="score")] == [0, 2, 4, 3, 1]
    # it does no harm where no order reads it
    assert choose_order(items, "When?").reason == choose_order(passages(4), "When?").reason


def test_values_of_any_size_are_known() -> None:
    items = [{"source_id": 10**5000, "timestamp": 10**5000}, {"source_id": 1, "timestamp": float("nan")}]
    assert choose_order(items, "A vs B").reason == "comparison, 100% have a source: grouped by document"
    assert choose_order(items, "When?").reason == "temporal question, 50% have a timestamp: by time"
    assert auto(items, question="When?", ranked=True) == items


@given(
    st.lists(
        st.fixed_dictionaries(
            {"score": st.floats(0, 1)},
            optional={
                name: st.none()
                | st.integers()
                | st.floats()
                | st.text(max_size=3)
                | st.lists(st.integers(), max_size=2)
                for name in ("timestamp", "source_id", "section_index")
            },
        ),
        max_size=6,
    ),
    st.sampled_from(["When?", "A vs B", "How to?", "Who?"]),
)
def test_what_is_chosen_can_be_done(items: list[dict[str, Any]], question: str) -> None:
    made = auto(items, question=question, score="score")
    assert sorted(map(id, made)) == sorted(map(id, items))
