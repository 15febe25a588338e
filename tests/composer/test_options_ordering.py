"""Options of the order, and of the text that is made."""

from __future__ import annotations

from typing import Any

import pytest
from support.option_builders import TEN, made
from support.strategies import compose, hits_of, make_chunk, make_store

from retrivex import RetrivexError, SeedHit, SpanComposer
from retrivex.config import RetrievalConfig
from retrivex.ordering import AutoSettings, PositionProfile


def test_ordering_strategy() -> None:
    orders = {
        strategy: [s.chunk_ids[0] for s in made({8: 0.9, 5: 0.8, 2: 0.7}, window=0, ordering_strategy=strategy).spans]
        for strategy in ("edge_balanced", "score_desc", "front_first", "back_first", "document")
    }
    assert orders == {
        "edge_balanced": [8, 2, 5], "score_desc": [8, 5, 2], "front_first": [8, 5, 2], "back_first": [2, 5, 8],
        "document": [2, 5, 8],
    }  # fmt: skip


def spans_in_order(strategy: str, store: Any = TEN, **options: Any) -> list[int]:
    """Chunks in reading order; the scores of their hits fall from 8 to 0."""
    found = made({8: 0.9, 6: 0.8, 4: 0.7, 2: 0.6, 0: 0.5}, store, window=0, ordering_strategy=strategy, **options)
    return [span.chunk_ids[0] for span in found.spans]


def test_edge_counts() -> None:
    assert spans_in_order("edge_balanced") == [8, 4, 0, 2, 6]
    assert spans_in_order("edge_balanced", edge_counts=(2, 1)) == [8, 6, 2, 0, 4]
    assert spans_in_order("edge_balanced", edge_counts=(1, 3)) == [8, 0, 6, 4, 2]


def test_position_profile() -> None:
    assert spans_in_order("profile", position_profile="recency") == [0, 2, 4, 6, 8]
    falling = PositionProfile((0.0, 1.0), (1.0, 0.0), "falling")
    assert spans_in_order("profile", position_profile=falling) == [8, 6, 4, 2, 0]


def test_chronological_order() -> None:
    dated = make_store(*(make_chunk("d", i, f"d{i} text", timestamp=float(i)) for i in range(10)))
    assert spans_in_order("chronological", dated) == [0, 2, 4, 6, 8]
    assert spans_in_order("chronological", dated, chronological_order="desc") == [8, 6, 4, 2, 0]


def test_relevance_levels() -> None:
    scores = made({8: 0.9, 6: 0.8, 4: 0.7, 2: 0.6, 0: 0.5}, window=0, ordering_strategy="score_desc").spans
    _, second, third, _, lowest = (span.score for span in scores)
    assert spans_in_order("relevance_groups", relevance_levels=(third, lowest)) == [8, 6, 0, 2, 4]
    assert spans_in_order("relevance_groups", relevance_levels=(99.0, lowest)) == [0, 2, 4, 6, 8]
    assert spans_in_order("relevance_groups", relevance_levels=(99.0, second)) == [6, 8, 0, 2, 4]
    assert spans_in_order("relevance_groups", relevance_levels=(99.0, third)) == [4, 6, 8, 0, 2]
    with pytest.raises(ValueError, match=r"relevance_levels are \(0.1, 0.4\): the level of high relevance"):
        RetrievalConfig(relevance_levels=(0.1, 0.4))


def test_group_by() -> None:
    pages = make_store(*(make_chunk("d", i, f"d{i} text", page=1 + i % 4) for i in range(10)))
    assert spans_in_order("group_by", pages, group_by="page") == [8, 0, 4, 6, 2]
    assert spans_in_order("group_by", pages, group_by=lambda span: span.chunk_ids[0] > 4) == [8, 6, 4, 0, 2]


def test_order_key() -> None:
    assert spans_in_order("custom", order_key=lambda span: -span.chunk_ids[0] % 5) == [0, 4, 8, 2, 6]
    with pytest.raises(ValueError, match="without an order_key"):
        RetrievalConfig(ordering_strategy="custom")


def test_auto_order() -> None:
    assert spans_in_order("auto") == [8, 4, 0, 2, 6]
    assert spans_in_order("auto", auto_order={"context_window": 1}) == [0, 2, 4, 6, 8]
    told = AutoSettings(detector=lambda question: "narrative")
    found = made({8: 0.9, 2: 0.8}, window=0, ordering_strategy="auto", query="Who?", auto_order=told)
    assert [span.chunk_ids[0] for span in found.spans] == [2, 8]


def test_context_format() -> None:
    starts = [made({5: 1.0}, window=0, context_format=name).text[:7] for name in ("text", "markdown", "xml")]
    assert starts == ["[1] d5a", "**[1]**", "<source"]


def test_numbered() -> None:
    assert made({5: 1.0}, window=0, numbered=False).text.startswith("d5a")


def test_span_header() -> None:
    assert made({5: 1.0}, window=0, span_header="document").text.startswith("[1] d\nd5a")


def test_gap_markers() -> None:
    said: dict[str, Any] = {"window": 0, "ordering_strategy": "document"}
    assert "[... 3 chunks omitted ...]" in made({1: 0.9, 5: 0.5}, **said).text
    assert "omitted" not in made({1: 0.9, 5: 0.5}, gap_markers=False, **said).text


def test_tokenizer() -> None:
    config = RetrievalConfig(tokenizer="estimate")
    assert SpanComposer(config).compose(hits_of(TEN, {5: 1.0}), TEN).tokenizer == "estimate"
    with pytest.raises(RetrivexError, match="no-such-model"):
        SpanComposer(RetrievalConfig(tokenizer="no-such-model"))


def test_strict() -> None:
    hits = [SeedHit(make_chunk("unknown", 0, "Nowhere else."), 1.0)]
    assert compose(hits, TEN).warnings
    with pytest.raises(RetrivexError, match="not in the chunk store"):
        compose(hits, TEN, strict=True)
