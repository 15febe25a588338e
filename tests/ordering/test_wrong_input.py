"""What is wrongly typed is refused with one clear error, and whatever can be gone through is taken."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from operator import itemgetter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from retrivex.errors import OrderingError
from retrivex.ordering import (
    AutoSettings,
    PositionProfile,
    alternating,
    auto,
    back_first,
    best_last,
    choose_order,
    chronological,
    custom,
    document,
    document_edges,
    edge_balanced,
    front_first,
    group_by,
    place,
    place_weights,
    position_weighted,
    profile,
    question_type,
    relevance_groups,
    score_desc,
    shuffle,
)

ROWS = [
    {"id": name, "score": score, "source_id": source, "section_index": place, "timestamp": place}
    for name, score, source, place in [("a", 0.2, "x", 2), ("b", 0.9, "y", 0), ("c", 0.7, "x", 1), ("d", 0.4, "y", 3)]
]

SCORED: dict[str, Callable[..., list[Any]]] = {
    "score_desc": score_desc,
    "best_last": best_last,
    "edge_balanced": edge_balanced,
    "alternating": alternating,
    "position_weighted": position_weighted,
    "relevance_groups": relevance_groups,
    "document": document,
    "document_edges": document_edges,
    "chronological": chronological,
    "group_by": lambda items, **said: group_by(items, "source_id", **said),
    "profile": profile,
    "auto": lambda items, **said: auto(items, question="When?", **said),
}
UNSCORED: dict[str, Callable[..., list[Any]]] = {
    "front_first": front_first,
    "back_first": back_first,
    "shuffle": shuffle,
    "custom": lambda items: custom(items, key=itemgetter("id")),
}


@pytest.mark.parametrize("name", SCORED)
def test_a_generator_is_ordered_as_its_list(name: str) -> None:
    assert SCORED[name]((row for row in ROWS), score="score") == SCORED[name](ROWS, score="score")
    assert SCORED[name](iter(ROWS), ranked=True, score="score") == SCORED[name](ROWS, ranked=True, score="score")


@pytest.mark.parametrize("name", UNSCORED)
def test_so_is_one_where_no_score_is_read(name: str) -> None:
    assert UNSCORED[name](row for row in ROWS) == UNSCORED[name](ROWS)


@pytest.mark.parametrize("name", [*SCORED, *UNSCORED])
@pytest.mark.parametrize("items", [None, 5])
def test_what_holds_no_items_is_refused(name: str, items: Any) -> None:
    with pytest.raises(OrderingError, match=f"items is {items}: give a list"):
        (SCORED | UNSCORED)[name](items)


@pytest.mark.parametrize("name", SCORED)
def test_the_score_of_a_dictionary_is_found_without_being_named(name: str) -> None:
    assert SCORED[name](ROWS) == SCORED[name](ROWS, score="score")
    inner = [{**row, "metadata": {"score": row["score"]}} for row in ROWS]
    for row in inner:
        del row["score"]
    assert [row["id"] for row in SCORED[name](inner)] == [row["id"] for row in SCORED[name](ROWS)]
    with pytest.raises(OrderingError, match=r"no score in \{'id': 'a'.*name the field"):
        SCORED[name]([{**ROWS[0], "id": "a", "score": None}, *ROWS[1:]])


@pytest.mark.parametrize("name", SCORED)
def test_a_score_field_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(OrderingError, match="field is None: give its name"):
        SCORED[name](ROWS, score=None)


@pytest.mark.parametrize("name", SCORED)
@pytest.mark.parametrize("reads", [itemgetter("rank"), lambda row: 1 / 0, lambda row: row["score"][3]])
def test_a_reader_that_fails_says_of_what(name: str, reads: Any) -> None:
    with pytest.raises(OrderingError, match=r"no score in \{'id': 'a'.*name the field"):
        SCORED[name](ROWS, score=reads)


@pytest.mark.parametrize("name", SCORED)
@pytest.mark.parametrize("scores", [
    [10**400, 0.5], [10**400, -(10**400)], [10**400, 1 - 10**400, 2], [10**5000], [Fraction(10**400), 1], [1j, 2.0],
], ids=["one", "cancel", "nearly cancel", "unwritable", "fraction", "complex"])  # fmt: skip
def test_every_score_is_finite_as_a_float(name: str, scores: list[Any]) -> None:
    rows = [{"score": score, "source_id": "x"} for score in scores]
    with pytest.raises(OrderingError, match="it must be a finite number; leave such items out"):
        SCORED[name](rows, score="score")


COMPLEX = [np.complex64(1 + 2j), np.complex128(0.5), np.clongdouble(1j), np.array(1 + 2j)]


@pytest.mark.parametrize("name", SCORED)
@pytest.mark.parametrize("score", COMPLEX, ids=["single", "no imaginary part", "long", "array"])
@pytest.mark.parametrize("other", [0.25, -2j], ids=["beside a float", "beside its opposite"])
def test_complex_scores_of_numpy_are_no_numbers(name: str, score: Any, other: Any) -> None:
    # as floats they would lose their imaginary part, with a warning of numpy at most
    rows = [{"score": 0.5, "source_id": "x"}, {"score": score, "source_id": "x"}, {"score": other, "source_id": "x"}]
    for items in (rows, [SimpleNamespace(**row) for row in rows]):
        with pytest.raises(OrderingError, match="it must be a finite number; leave such items out"):
            SCORED[name](items, score="score")


def test_scores_of_numpy_are_numbers() -> None:
    scores = [np.float32(0.25), np.float64(0.5), np.int64(1), np.float16(0.75), np.longdouble(0.1), np.array(0.6)]
    assert score_desc(scores, score=lambda score: score) == sorted(scores, reverse=True)


@pytest.mark.parametrize("weights", [["1", "2"], 5, [10**400, 1], [None, 1.0], [True], ["1"] * 3], ids=repr)
def test_weights_are_numbers(weights: Any) -> None:
    with pytest.raises(OrderingError, match=r"^weights are .* give one finite number for each"):
        position_weighted(["a", "b"], ranked=True, weights=weights)


@pytest.mark.parametrize("said", [{"high": "x"}, {"medium": None}, {"high": [1], "medium": [0]}])
def test_thresholds_are_numbers(said: Any) -> None:
    with pytest.raises(OrderingError, match="give two numbers"):
        relevance_groups([0.5], score=float, **said)


@pytest.mark.parametrize("order", [document, document_edges])
def test_numbers_in_texts_are_numbers_of_sections(order: Callable[..., list[Any]]) -> None:
    rows = [{"source_id": "x", "section_index": place} for place in ("10", "9", "2", " 1.5 ", 3)]
    assert [row["section_index"] for row in order(rows, ranked=True)] == [" 1.5 ", "2", 3, "9", "10"]
    assert choose_order(rows, None).coverage["section"] == 1.0


@pytest.mark.parametrize("value", [[1], {"a": 1}, ("a", [1])], ids=repr)
def test_groups_need_values_that_can_be_hashed(value: Any) -> None:
    rows = [{"score": 0.5, "page": value}, {"score": 0.4, "page": 1}]
    for call in (
        lambda: group_by(rows, "page", score="score"),
        lambda: document(rows, source="page", score="score"),
        lambda: document_edges(rows, source="page", score="score"),
    ):
        with pytest.raises(OrderingError, match=r"cannot be distinguished from others .*give a callable"):
            call()


@pytest.mark.parametrize("call", [
    lambda fails: group_by(ROWS, fails, ranked=True),
    lambda fails: document(ROWS, ranked=True, source=fails),
    lambda fails: document(ROWS, ranked=True, position=fails),
    lambda fails: chronological(ROWS, ranked=True, timestamp=fails),
    lambda fails: profile(ROWS, score="score", tokens=fails),
    lambda fails: auto(ROWS, question="When?", score="score", source=fails),
    lambda fails: auto(ROWS, question="Who?", score="score", tokens=fails, settings=AutoSettings(context_window=9)),
    lambda fails: custom(ROWS, key=fails),
])  # fmt: skip
def test_a_reader_of_another_field_that_fails_says_of_what(call: Callable[[Any], Any]) -> None:
    with pytest.raises(OrderingError, match=r"'id': 'a'.*cannot be read: KeyError\('nothing'\); its reader must"):
        call(itemgetter("nothing"))


@pytest.mark.parametrize("said", [
    {"key": lambda row: [3, "x", None, 1][row["section_index"]]}, {"key": lambda row: {}}, {"key": lambda row: 1j},
    {"compare": lambda a, b: None}, {"compare": lambda a, b: 1 / 0}, {"compare": lambda a, b: "x"}, {"compare": 5},
])  # fmt: skip
def test_keys_and_comparisons_that_fail_are_refused(said: Any) -> None:
    with pytest.raises(OrderingError, match=r"items cannot be compared: .*(one comparable type|for every two items)"):
        custom(ROWS, **said)


@pytest.mark.parametrize("seed", [[1], None, 1.5, float("nan"), "1", True, 1j], ids=repr)
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(OrderingError, match=r"seed is .*: it must be a whole number"):
        shuffle([1, 2], seed=seed)


class Unspeakable:
    score = float("nan")

    def __repr__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize("call", [
    lambda: score_desc([Unspeakable()]),
    lambda: document([0.5], score=float, source=lambda item: [Unspeakable()]),
    lambda: chronological([0.5], score=float, timestamp=lambda item: Unspeakable()),
    lambda: chronological([0.5], score=float, order=10**5000),  # type: ignore[arg-type]
    lambda: edge_balanced([0.5], score=float, start_count=1, end_count=-(10**5000)),
    lambda: relevance_groups([0.5], score=float, high=[10**5000]),  # type: ignore[arg-type]
    lambda: custom([1], key=Unspeakable()),  # type: ignore[arg-type]
    lambda: profile([1.0], score=float, profile=Unspeakable()),  # type: ignore[arg-type]
    lambda: question_type([10**5000]),  # type: ignore[arg-type]
])  # fmt: skip
def test_what_cannot_be_written_is_named_by_its_type(call: Callable[[], Any]) -> None:
    with pytest.raises(
        OrderingError, match=r"(a whole number of|(list|Unspeakable) (too long to|that cannot) be shown)"
    ):
        call()


@pytest.mark.parametrize("said", [
    {"count": -1}, {"count": 1.5}, {"count": None}, {"count": 10**400}, {"count": 5, "edge_share": float("nan")},
    {"count": 5, "edge_share": None}, {"count": 5, "edge_share": 2},
], ids=repr)  # fmt: skip
def test_weights_of_places_need_numbers(said: Any) -> None:
    with pytest.raises(OrderingError, match=r"(count|edge_share) is "):
        place_weights(**said)


@pytest.mark.parametrize("path", [None, 5, "\0", "no/such/folder.json"])
def test_a_profile_is_loaded_from_a_path(path: Any) -> None:
    with pytest.raises(OrderingError, match=r"cannot be read"):
        PositionProfile.load(path)


@pytest.mark.parametrize("question", [5, b"When?", ["When?"]], ids=repr)
def test_a_question_is_a_text(question: Any) -> None:
    with pytest.raises(OrderingError, match="give a text, or None"):
        auto(ROWS, question=question, score="score")


def test_a_detector_that_fails_is_named() -> None:
    with pytest.raises(OrderingError, match=r"the detector failed for 'When\?': ZeroDivisionError"):
        auto(ROWS, question="When?", score="score", settings=AutoSettings(detector=lambda question: 1 / 0))
    with pytest.raises(OrderingError, match=r"the detector returned \['temporal'\]"):
        question_type("When?", detector=lambda question: ["temporal"])  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("count", [-1, float("nan"), float("inf"), 10**400, "7"], ids=repr)
def test_token_counts_are_numbers(count: Any) -> None:
    rows = [{"token_count": count}]
    with pytest.raises(OrderingError, match="each item needs one"):
        choose_order(rows, None, settings=AutoSettings(context_window=9))
    with pytest.raises(OrderingError, match="it must be a positive number"):
        place([1.0], score=float, tokens=lambda item: count)


@pytest.mark.parametrize(("measurements", "count"), [
    ({1: 0.5}, 0), ({1: 0.5}, -1), ({1: 0.5}, 1.5), ({1: 0.5}, "2"), ({1: 0.5}, True),
])  # fmt: skip
def test_the_number_of_places_is_a_whole_number(measurements: Any, count: Any) -> None:
    with pytest.raises(OrderingError, match=r"count is .*a whole number from 1"):
        PositionProfile.from_measurements(measurements, count=count)


@pytest.mark.parametrize(
    "measurements", [{"x": 0.5}, {0.1: None}, [0.5, 0.7], 5, {0.1: 10**400}, [(1, 2, 3)]], ids=repr
)
def test_measurements_are_pairs_of_numbers(measurements: Any) -> None:
    with pytest.raises(OrderingError, match="give pairs of numbers, position and value"):
        PositionProfile.from_measurements(measurements)


def test_attention_is_what_a_float_can_hold() -> None:
    with pytest.raises(OrderingError, match="numbers that a float can hold"):
        PositionProfile((0,), (10**400,))


@pytest.mark.parametrize("data", [[1], None, 5], ids=repr)
def test_a_profile_is_read_from_a_mapping(data: Any) -> None:
    with pytest.raises(OrderingError, match="give what to_dict returned"):
        PositionProfile.from_dict(data)
