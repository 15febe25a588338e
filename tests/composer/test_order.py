"""The order of the spans in a context."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import compose, hits_of, make_chunk, make_store

from retrivex import Chunk, Composition, RetrievalConfig, SeedHit
from retrivex.cli.compose import read_schema
from retrivex.composer.order import order_spans
from retrivex.errors import OrderingError
from retrivex.ordering import AutoSettings, PositionProfile
from retrivex.ordering.strategy import OrderingStrategy

SCHEMA = json.loads(read_schema("composition-1"))
SCORES = {0: 0.2, 2: 0.9, 4: 0.5, 6: 0.7}
STORE = make_store(*(make_chunk("d", i, f"text {i}", 100 * i, timestamp=float(-i)) for i in range(7)))


def ordered(strategy: str, **options: Any) -> Composition:
    return compose(hits_of(STORE, SCORES), STORE, window=0, ordering_strategy=strategy, **options)


def chunks(made: Composition) -> list[int]:
    return [span.chunk_ids[0] for span in made.spans]


@pytest.mark.parametrize(("strategy", "expected"), [
    ("score_desc", [2, 6, 4, 0]),
    ("front_first", [2, 6, 4, 0]),
    ("back_first", [0, 4, 6, 2]),
    ("best_last", [0, 4, 6, 2]),
    ("edge_balanced", [2, 4, 0, 6]),
    ("alternating", [2, 0, 6, 4]),
    ("position_weighted", [2, 4, 0, 6]),
    ("profile", [2, 4, 0, 6]),
    ("document", [0, 2, 4, 6]),
    ("document_edges", [0, 2, 4, 6]),
    ("chronological", [6, 4, 2, 0]),
    ("group_by", [2, 4, 0, 6]),
    ("auto", [2, 4, 0, 6]),
])  # fmt: skip
def test_strategies_in_a_context(strategy: str, expected: list[int]) -> None:
    made = ordered(strategy)
    assert chunks(made) == expected
    assert made.trace.order["strategy"] == ("edge_balanced" if strategy == "auto" else strategy)


def two_documents() -> tuple[list[SeedHit], dict[Any, Chunk]]:
    rows = [make_chunk(doc_id, i, f"{doc_id}{i}", 100 * i, timestamp=10.0 - i) for doc_id in "ab" for i in (0, 5)]
    store = make_store(*rows)
    return [*hits_of(store, {0: 0.5, 5: 0.1}, "a"), *hits_of(store, {0: 0.2, 5: 0.9}, "b")], store


def test_document_order_begins_with_the_document_of_the_best_span() -> None:
    hits, store = two_documents()
    made = compose(hits, store, window=0, ordering_strategy="document")
    assert [(span.doc_id, span.chunk_ids[0]) for span in made.spans] == [("b", 0), ("b", 5), ("a", 0), ("a", 5)]


@pytest.mark.parametrize(("question", "strategy", "kind", "expected"), [
    ("When was it?", "chronological", "temporal", ["b5", "a5", "a0", "b0"]),
    ("How do I do it?", "document", "narrative", ["b0", "b5", "a0", "a5"]),
    ("Compare a and b", "group_by", "comparison", ["b5", "b0", "a0", "a5"]),
    ("Who did it?", "edge_balanced", "factual", ["b5", "b0", "a5", "a0"]),
])  # fmt: skip
def test_auto_tells_what_it_chose_and_why(question: str, strategy: str, kind: str, expected: list[str]) -> None:
    hits, store = two_documents()
    made = compose(hits, store, window=0, ordering_strategy="auto", query=question, scoring="weighted")
    assert [span.text for span in made.spans] == expected
    note = made.trace.order
    assert (note["strategy"], note["asked_for"], note["question_type"]) == (strategy, "auto", kind)
    assert note["reason"]
    assert note["coverage"] == {"timestamp": 1.0, "source": 1.0, "section": 1.0}
    assert Composition.from_dict(made.to_dict(trace=True)).trace.order == note


@pytest.mark.parametrize("strategy", [s.value for s in OrderingStrategy if s != "custom"])
def test_the_note_is_what_the_schema_says(strategy: str) -> None:
    jsonschema.validate(json.loads(ordered(strategy).to_json()), SCHEMA)
    jsonschema.validate(json.loads(compose([], {}, ordering_strategy=strategy).to_json()), SCHEMA)


def test_auto_knows_how_full_the_window_is() -> None:
    made = ordered("auto", auto_order=AutoSettings(context_window=10))
    assert (made.trace.order["strategy"], chunks(made)) == ("best_last", [0, 4, 6, 2])
    assert made.trace.order["fill"] == pytest.approx(sum(span.token_count for span in made.spans) / 10)


def test_profile_order_goes_by_the_lengths_of_the_spans() -> None:
    store = make_store(
        make_chunk("a", 0, "word " * 60 + "end."), make_chunk("b", 0, "short."), make_chunk("c", 0, "so.")
    )
    hits = [SeedHit(store["a", 0], 0.9), SeedHit(store["b", 0], 0.8), SeedHit(store["c", 0], 0.7)]
    early = PositionProfile((0.0, 0.1), (1.0, 0.0), "short start")
    made = compose(hits, store, window=0, ordering_strategy="profile", position_profile=early, scoring="weighted")
    # equally long, the best would stand first; as it is, it would fill the good places and leave none to the others
    assert max(made.spans, key=lambda span: span.score).doc_id == "a"
    assert [span.doc_id for span in made.spans][-1] == "a"
    note = made.trace.order
    assert (note["profile"], note["value"]) == ("short start", note["bound"])


@given(st.permutations(sorted(SCORES)), st.sampled_from([s.value for s in OrderingStrategy if s != "custom"]))
def test_the_order_of_the_hits_makes_no_difference(order: list[int], strategy: str) -> None:
    equal = dict.fromkeys(order, 0.5)
    made = compose(hits_of(STORE, equal), STORE, window=0, ordering_strategy=strategy)
    assert chunks(made) == chunks(compose(hits_of(STORE, dict(sorted(equal.items()))), STORE, window=0,
                                          ordering_strategy=strategy))  # fmt: skip


@pytest.mark.parametrize("field", ["heading_path", "team", "parent_id"])
def test_groups_by_metadata_and_by_custom_metadata(field: str) -> None:
    rows = [
        make_chunk(f"d{i}", 0, f"d{i}", heading_path=[f"h{i % 2}"], custom_metadata={"team": i // 2}) for i in range(4)
    ]
    store = make_store(*rows)
    hits = [SeedHit(chunk, 0.9 - i / 10) for i, chunk in enumerate(rows)]
    made = compose(hits, store, window=0, ordering_strategy="group_by", group_by=field)
    # nobody has a parent: one group, edge balanced
    expected = {"heading_path": [0, 2, 1, 3], "team": [0, 1, 2, 3], "parent_id": [0, 2, 3, 1]}
    assert [int(span.doc_id[1]) for span in made.spans] == expected[field]


def test_an_order_is_given_by_name_or_by_enum() -> None:
    assert order_spans([], RetrievalConfig(ordering_strategy="document")) == ([], {"strategy": "document"})
    with pytest.raises(ValueError, match="ordering_strategy"):
        compose([], {}, ordering_strategy="sideways")


def test_an_order_key_or_detector_that_fails_is_one_clear_error() -> None:
    with pytest.raises(OrderingError, match=r"key of .* cannot be read: ZeroDivisionError"):
        ordered("custom", order_key=lambda span: 1 / 0)
    with pytest.raises(OrderingError, match="items cannot be compared: TypeError"):
        ordered("custom", order_key=lambda span: {})
    with pytest.raises(OrderingError, match="the detector failed for 'Who"):
        ordered("auto", query="Who?", auto_order=AutoSettings(detector=lambda question: 1 / 0))
