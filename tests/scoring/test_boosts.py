"""Ready-made boosts: recency, reliability, section."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SeedHit, SpanComposer
from retrivex.errors import ConfigError, RetrivexError
from retrivex.scoring.boosts import Recency, Section, SourceReliability

DAY = 86_400.0


def chunk(doc_id: str = "bees", text: str = "Bees sleep in winter.", **known: Any) -> Chunk:
    return Chunk(text, ChunkMetadata(doc_id, 0, **known))


@given(st.floats(0, 1e4), st.floats(0, 1e4), st.floats(0.1, 1e4), st.floats(0, 10))
def test_older_is_never_better_and_bounded(first: float, second: float, half_life: float, weight: float) -> None:
    recency = Recency(half_life, weight, now=1e9)
    older, newer = sorted((1e9 - first * DAY, 1e9 - second * DAY))
    values = [recency(chunk(timestamp=timestamp)) for timestamp in (older, newer)]
    assert -weight <= values[0] <= values[1] <= 0


def test_half_lives_add_up_and_unknown_times_stay() -> None:
    recency = Recency(10, 4.0, now=100 * DAY)
    assert [recency(chunk(timestamp=day * DAY)) for day in (100, 90, 80, 150)] == pytest.approx([0, -2, -3, 0])
    assert recency(chunk()) == 0


def shown_first(boosts: Any, *chunks: Chunk) -> str:
    hits = [SeedHit(one, 0.5) for one in chunks]
    config = RetrievalConfig(token_budget=12, window=0, boosts=boosts, max_spans=1, tokenizer="estimate")
    made = SpanComposer(config).compose(hits, {one.key: one for one in chunks}, query="Do bees sleep in winter?")
    return made.spans[0].doc_id


@pytest.mark.parametrize(
    ("boost", "better", "worse"),
    [
        (Recency(10, 3.0, now=100 * DAY), {"timestamp": 99 * DAY}, {"timestamp": 1 * DAY}),
        (SourceReliability(3.0), {"custom_metadata": {"source_reliability": 0.9}}, {}),
        (SourceReliability(3.0, "trust"), {}, {"custom_metadata": {"trust": 0}}),
        (Section({"Results": 2.0}), {"heading_path": ["Report", "RESULTS"]}, {"heading_path": ["Report"]}),
        (Section({"a": 2.0, "b": -2.0}), {"heading_path": ["b", "a"]}, {"heading_path": ["a", "b"]}),
    ],
)
def test_a_boost_decides_between_equal_texts(boost: Any, better: dict[str, Any], worse: dict[str, Any]) -> None:
    for good, bad in (("first", "second"), ("second", "first")):
        assert shown_first([boost], *sorted([chunk(good, **better), chunk(bad, **worse)], key=lambda c: c.key)) == good
    assert pickle.loads(pickle.dumps(boost)) == boost


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Recency(0), r"half_life_days is 0: it must be above 0, e.g. 30"),
        (lambda: Recency(float("nan")), r"half_life_days is nan: it must be a finite number"),
        (lambda: SourceReliability("much"), r"weight is 'much': it must be a finite number"),  # type: ignore[arg-type]
        (lambda: Section({"Results": float("inf")}), r"log_odds of 'Results' is inf: it must be a finite number"),
    ],
)
def test_a_bad_argument_is_named(make: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()


def test_a_reliability_that_is_none_is_named() -> None:
    with pytest.raises(RetrivexError, match=r"source_reliability of \('bees', 0\) is 7: a reliability is a number"):
        shown_first([SourceReliability()], chunk(custom_metadata={"source_reliability": 7}), chunk("wasps"))
