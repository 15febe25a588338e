"""May a window go on? One test for each guard, from both sides."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import bare, compose, hits_of, make_chunk, make_store, shown_ids

from retrivex import Chunk, ChunkMetadata, RetrievalConfig
from retrivex.errors import RetrivexError
from retrivex.expansion.continuity import neighbour_continuity
from retrivex.expansion.guards import guards_of, policies_for, refusal, shape_goes_on, stop_letter
from retrivex.text.word_overlap import SignatureCache


def asked(left: Chunk, right: Chunk, **options: Any) -> str | None:
    (flow,), _ = neighbour_continuity([left, right], SignatureCache())
    return refusal(left, right, flow, RetrievalConfig(**options))


def pair(one: dict[str, Any], two: dict[str, Any], texts: tuple[str, str] = ("Bees sleep.", "Rust hurts.")) -> Any:
    return make_chunk("d", 0, texts[0], **one), make_chunk("d", 1, texts[1], **two)


@pytest.mark.parametrize(
    ("left", "right", "refused"),
    [
        (("A",), ("A",), False),
        (("A",), ("B",), True),
        (("A", "x"), ("A", "y"), True),
        (None, (), False),
        (None, ("A",), True),
        (["A"], ("A",), False),
    ],
)
def test_heading_paths(left: Any, right: Any, refused: bool) -> None:
    chunks = pair({"heading_path": left}, {"heading_path": right})
    assert asked(*chunks) == ("heading" if refused else None)
    assert asked(*chunks, stop_on_heading_change=False) is None


@pytest.mark.parametrize(("second", "refused"), [([1.0, 0.1], False), ([0.0, 1.0], True)])
def test_high_continuity_may_cross_a_heading(second: list[float], refused: bool) -> None:
    chunks = pair(
        {"heading_path": ("A",), "embedding": [1.0, 0.0]}, {"heading_path": ("B",), "embedding": second}
    )  # fmt: skip
    assert asked(*chunks) == ("heading" if refused else None)
    assert asked(*chunks, min_continuity=-1.0) is None


def test_common_words_may_cross_a_heading_where_there_are_no_embeddings() -> None:
    headings: tuple[Any, Any] = ({"heading_path": ("A",)}, {"heading_path": ("B",)})
    alike = pair(*headings, texts=("Honey bees store honey.", "Honey feeds honey bees."))
    assert asked(*alike) is None
    assert asked(*alike, min_continuity=1.0) == "heading"
    assert asked(*pair(*headings)) == "heading"


def test_pages_stop_only_where_asked_for() -> None:
    chunks = pair({"page": 1}, {"page": 2})
    assert asked(*chunks) is None
    assert asked(*chunks, stop_on_change="page") == "page"
    with pytest.warns(FutureWarning, match="stop_on_page_change: write stop_on_change='page' for true"):
        assert asked(*chunks, stop_on_page_change=True) == "page"


@given(st.text(), st.sampled_from([None, 1, "a"]), st.sampled_from([None, 1, "a"]))
def test_any_field_of_the_metadata_stops(name: str, one: object, two: object) -> None:
    left, right = pair({"custom_metadata": {name: one}}, {"custom_metadata": {name: two}})
    if name not in {field.name for field in fields(ChunkMetadata)}:
        assert asked(left, right, stop_on_change=name) == (name if one != two else None)
        assert asked(left, right, stop_on_change=["page", name]) == (name if one != two else None)


def test_a_callable_stops_and_is_named() -> None:
    def new_speaker(left: Chunk, right: Chunk) -> bool:
        return left.text[0] != right.text[0]

    assert asked(*pair({}, {}), stop_on_change=new_speaker) == "new_speaker"
    assert asked(*pair({}, {}, texts=("Bees sleep.", "Bees hum.")), stop_on_change=new_speaker) is None
    with pytest.raises(RetrivexError, match=r"stop_on_change gave 3 between \('d', 0\) and \('d', 1\): it must return"):
        asked(*pair({}, {}), stop_on_change=lambda left, right: 3)


@pytest.mark.parametrize("bad", [3, ("page", 3)])
def test_a_guard_that_is_none_is_refused(bad: object) -> None:
    with pytest.raises(RetrivexError, match="stop_on_change"):
        RetrievalConfig(stop_on_change=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_a_boundary_is_closed_from_both_sides(seed: int) -> None:
    store = make_store(*(make_chunk("d", i, f"t{i}", heading_path=("A",) if i < 2 else ("B",)) for i in range(4)))
    made = compose(hits_of(store, {seed: 1.0}), store, run_cost=0.0)
    assert shown_ids(made.spans) == ([0, 1] if seed < 2 else [2, 3])


@pytest.mark.parametrize(
    ("policy", "before", "after", "goes_on"),
    [
        ("table", "| a | b |", "| c | d |", True),
        ("table", "a\tb", "c\td", True),
        ("table", "| a | b |", "The end.", False),
        ("list", "- one\n- two", "- three", True),
        ("list", "- one", "Prose.", False),
        ("steps", "1. Open it.", "2. Close it.", True),
        ("steps", "第一步 打开", "第二步 关上", True),
        ("steps", "1. Open it.", "Done.", False),
        ("code", "```python\nx = 1", "Any text inside the fence", True),
        ("code", "```python\nx = 1\n```", "Prose.", False),
        ("code", "def f():\n    return 1", "    return 2", True),
    ],
)
def test_shapes_that_go_on(policy: Any, before: str, after: str, goes_on: bool) -> None:
    assert shape_goes_on(before, after, policy) is goes_on


def test_grow_until_goes_on_while_a_table_does() -> None:
    rows = ["| head | row |"] + [f"| {i} | x |" for i in range(5)] + ["Prose at the end.", "More prose."]
    store = bare("d", rows)
    hits = hits_of(store, {0: 1.0})
    assert compose(hits, store, window=1).trace.windows[0].end == 2
    assert compose(hits, store, window=1, grow_until="table").trace.windows[0].end == 6
    assert compose(hits, store, window=1, grow_until="table", max_window=3).trace.windows[0].end == 4


def test_grow_until_follows_a_pattern_of_lines() -> None:
    texts = ["Q1: Who?", "Q2: What?", "Q3: When?", "Prose.", "More."]
    store = bare("d", texts)
    hits = hits_of(store, {0: 1.0})
    shape = re.compile(r"^Q\d:")
    assert compose(hits, store, window=0, grow_until=shape).trace.windows[0].end == 3
    assert compose(hits, store, window=0, grow_until=["table", shape]).trace.windows[0].end == 3
    with pytest.raises(RetrivexError, match="grow_until"):
        RetrievalConfig(grow_until="^Q")  # type: ignore[arg-type]  # a request must bring no pattern


@pytest.mark.parametrize(("question", "end"), [("How do I open it?", 4), ("Which is the third?", 1), (None, 1)])
def test_auto_follows_what_the_question_asks_for(question: str | None, end: int) -> None:
    store = bare("d", ["Step 1: open it.", "Step 2: look.", "Step 3: look again.", "Step 4: close it.", "Prose."])
    made = compose(hits_of(store, {0: 1.0}), store, query=question, window=0, grow_until="auto")
    assert made.trace.windows[0].end == (end if question else 1)
    assert set(policies_for(question)) < {"table", "list", "code", "steps"}


def test_grow_until_takes_a_callable_that_says_stop() -> None:
    store = bare("d", [f"part {i}" for i in range(9)])
    calls = []

    def stop(inner: Chunk, outer: Chunk) -> bool:
        calls.append((inner.metadata.chunk_id, outer.metadata.chunk_id))
        return outer.metadata.chunk_id in (0, 7)

    made = compose(hits_of(store, {4: 1.0}), store, window=1, grow_until=stop)
    assert (made.trace.windows[0].start, made.trace.windows[0].end) == (1, 7)
    assert (3, 2) in calls
    assert (5, 6) in calls


def test_each_guard_has_a_reason_and_a_letter() -> None:
    reasons = ["heading", "page", "missing", "document end", "speaker"]
    assert [stop_letter(reason) for reason in reasons] == ["h", "p", "m", "e", "x"]
    assert [guard.reason for guard in guards_of(RetrievalConfig())] == ["heading"]
    assert guards_of(RetrievalConfig(stop_on_heading_change=False)) == ()
    assert [guard.reason for guard in guards_of(RetrievalConfig(stop_on_change="page"))] == ["heading", "page"]
