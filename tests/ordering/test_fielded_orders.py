"""Orders that read more than the score: document and position, time, groups."""

from __future__ import annotations

import itertools
import math
from collections import UserDict
from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.errors import OrderingError
from retrivex.model.fields import make_reader
from retrivex.ordering import chronological, document, document_edges, group_by, relevance_groups


def passage(name: str, score: float, **metadata: Any) -> dict[str, Any]:
    return {"id": name, "score": score, "metadata": metadata}


def ids(items: list[Any]) -> list[str]:
    return [item["id"] for item in items]


ROWS = [
    passage("a2", 0.5, source_id="a", section_index=2),
    passage("b5", 0.2, source_id="b", section_index=5),
    passage("c0", 0.6, source_id="c", section_index=0),
    passage("a1", 0.1, source_id="a", section_index=1),
    passage("b0", 0.9, source_id="b", section_index=0),
]


def test_documents_by_their_best_passage_and_each_from_front_to_back() -> None:
    assert ids(document(ROWS, score="score")) == ["b0", "b5", "c0", "a1", "a2"]


def test_documents_at_the_edges() -> None:
    assert ids(document_edges(ROWS, score="score")) == ["b0", "b5", "a1", "a2", "c0"]


def test_ranked_documents_come_as_they_begin() -> None:
    assert ids(document(ROWS, ranked=True)) == ["a1", "a2", "b0", "b5", "c0"]


def test_other_fields_can_be_named() -> None:
    rows = [passage("x", 0.5, file="one", page=9), passage("y", 0.4, file="one", page=3)]
    assert ids(document(rows, score="score", source="file", position="page")) == ["y", "x"]


def test_without_a_position_the_place_given_counts() -> None:
    rows = [passage("x", 0.5), passage("y", 0.9), passage("z", 0.7, source_id="")]
    assert ids(document(rows, score="score")) == ["x", "y", "z"]
    mixed = [passage("x", 0.5, source_id=1, section_index=7), passage("y", 0.9, source_id=1, section_index=math.nan)]
    assert ids(document(mixed, score="score")) == ["y", "x"]  # the second place, 1, stands before section 7


def test_equally_good_documents_keep_their_order() -> None:
    rows = [passage("x", 0.5, source_id="z"), passage("y", 0.5, source_id="a")]
    assert ids(document(rows, score="score")) == ["x", "y"]


rows = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from("abc"), st.one_of(st.none(), st.integers(0, 4))), max_size=12
)


@given(rows)
def test_documents_are_never_torn_apart(items: list[tuple[int, str, int | None]]) -> None:
    read: dict[str, Any] = {"score": lambda i: i[0], "source": lambda i: i[1], "position": lambda i: i[2]}
    for order in (document, document_edges):
        names = [item[1] for item in order(items, **read)]
        assert sum(a != b for a, b in itertools.pairwise(names)) == max(len(set(names)) - 1, 0)


@given(rows)
def test_groups_by_their_best_item(items: list[tuple[int, str, int | None]]) -> None:
    made = group_by(items, lambda item: item[1], score=lambda item: item[0])
    best: dict[str, int] = {}
    for item in made:
        best[item[1]] = max(item[0], best.get(item[1], 0))
    assert list(best.values()) == sorted(best.values(), reverse=True)


def test_groups_are_edge_balanced_inside_or_as_asked() -> None:
    items = [("x", 1), ("x", 3), ("y", 2), ("x", 2)]
    read = {"score": lambda item: item[1]}
    assert group_by(items, lambda i: i[0], **read) == [("x", 3), ("x", 1), ("x", 2), ("y", 2)]
    assert group_by(items, lambda i: i[0], inside=sorted, **read) == [("x", 1), ("x", 2), ("x", 3), ("y", 2)]


def test_items_without_the_field_are_one_group() -> None:
    items = [passage("x", 0.1), passage("y", 0.5, page=1), passage("z", 0.9, page=None), passage("w", 0.3, page="")]
    assert ids(group_by(items, "page", score="score", inside=list)) == ["x", "z", "w", "y"]


@pytest.mark.parametrize(("high", "medium"), [(0.1, 0.2), (math.nan, 0.2)])
def test_thresholds_must_be_in_order(high: float, medium: float) -> None:
    with pytest.raises(OrderingError, match="high must be at least medium"):
        relevance_groups([0.5], score=float, high=high, medium=medium)


@given(st.lists(st.floats(0, 1), max_size=15))
def test_the_highly_relevant_stand_at_both_edges(scores: list[float]) -> None:
    made = relevance_groups(scores, score=float, high=0.7, medium=0.4)
    top = sorted((s for s in scores if s >= 0.7), reverse=True)
    half = (len(top) + 1) // 2
    between, low = [s for s in scores if 0.4 <= s < 0.7], [s for s in scores if s < 0.4]
    assert made == top[:half] + between + low + top[half:]


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_time_in_both_directions_and_undated_last() -> None:
    items = [passage("new", 0.1, timestamp=9), passage("none", 0.9), passage("old", 0.2, timestamp=-3.5),
             passage("nan", 0.8, timestamp=math.nan)]  # fmt: skip
    assert ids(chronological(items, score="score")) == ["old", "new", "none", "nan"]
    assert ids(chronological(items, score="score", order="desc")) == ["new", "old", "none", "nan"]


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_equal_times_go_by_score(order: Any) -> None:
    items = [passage("x", 0.1, timestamp=5), passage("y", 0.9, timestamp=5)]
    assert ids(chronological(items, score="score", order=order)) == ["y", "x"]
    assert ids(chronological(items, ranked=True, order=order)) == ["x", "y"]


def test_datetimes_of_any_zone() -> None:
    east = timezone(timedelta(hours=8))
    items = [passage("utc", 0.1, timestamp=NOON), passage("east", 0.1, timestamp=NOON.replace(tzinfo=east)),
             passage("plain", 0.1, timestamp=NOON.replace(tzinfo=None, hour=11)),
             passage("seconds", 0.1, timestamp=NOON.timestamp() + 1)]  # fmt: skip
    assert ids(chronological(items, score="score")) == ["east", "plain", "utc", "seconds"]


def test_what_is_no_time_is_refused() -> None:
    with pytest.raises(OrderingError, match="timestamp is 'yesterday'"):
        chronological([passage("x", 0.1, timestamp="yesterday")], ranked=True)
    with pytest.raises(OrderingError, match="order is 'ascending'"):
        chronological([], order="ascending")  # type: ignore[arg-type]


KINDS: dict[str, Any] = {
    "dictionary": lambda score, known: {"score": score, **known},
    "object": lambda score, known: SimpleNamespace(score=score, **known),
    "metadata": lambda score, known: {"score": score, "metadata": known},
    "object with metadata": lambda score, known: SimpleNamespace(score=score, metadata=SimpleNamespace(**known)),
    "mapping": lambda score, known: UserDict(score=score, metadata=known),
    "both": lambda score, known: {"score": score, "place": known.get("place"), "metadata": known},
}
fields = st.fixed_dictionaries(
    {},
    optional={
        "doc": st.sampled_from(["a", "b", "", None, 1, 1.0]),
        "place": st.none() | st.integers(0, 3) | st.floats() | st.sampled_from(["2", "10", "x", 10**400]),
        "time": st.none() | st.integers(0, 3) | st.floats() | st.datetimes(),
    },
)


@given(
    st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.sampled_from([0.1, 0.5, 0.9]), fields), max_size=8),
    st.none() | st.sampled_from(sorted(KINDS)),
    st.booleans(),
    st.sampled_from(["asc", "desc"]),
)
def test_a_name_reads_what_a_callable_reads_whatever_the_passages_are(
    drawn: list[tuple[str, float, dict[str, Any]]], kind: str | None, ranked: bool, direction: Any
) -> None:
    items = [KINDS[kind or own](score, known) for own, score, known in drawn]
    said: dict[str, Any] = {"ranked": ranked, "score": "score"}
    read = {name: make_reader(name) for name in ("score", "doc", "place", "time")}
    reads: dict[str, Any] = {"ranked": ranked, "score": read["score"]}
    for order in (document, document_edges):
        made = order(items, source="doc", position="place", **said)
        assert same(made, order(items, source=read["doc"], position=read["place"], **reads))
    assert same(group_by(items, "doc", **said), group_by(items, read["doc"], **reads))
    by_time = chronological(items, timestamp="time", order=direction, **said)
    assert same(by_time, chronological(items, timestamp=read["time"], order=direction, **reads))


def same(made: list[Any], expected: list[Any]) -> bool:
    """Whether they are the same passages, not only equal ones."""
    return list(map(id, made)) == list(map(id, expected))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0.1, 0.5, 0.9]), st.integers(0, 3))))
def test_documents_and_times_by_definition(rows: list[tuple[str, float, int]]) -> None:
    said: dict[str, Any] = {"score": lambda row: row[1]}
    best = {name: max(score for doc, score, _ in rows if doc == name) for name, _, _ in rows}
    begin = {name: next(i for i, row in enumerate(rows) if row[0] == name) for name in best}
    expected = sorted(rows, key=lambda row: (-best[row[0]], begin[row[0]], row[2]))
    assert same(document(rows, source=lambda row: row[0], position=lambda row: row[2], **said), expected)
    by_time = sorted(rows, key=lambda row: (-row[2], -row[1]))
    assert same(chronological(rows, timestamp=lambda row: row[2], order="desc", **said), by_time)
