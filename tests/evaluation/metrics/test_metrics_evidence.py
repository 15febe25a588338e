from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.errors import RetrivexError
from retrivex.evaluation.metrics import covered, score_context, uncovered, united
from retrivex.evaluation.questions.evidence import Evidence

PARTS = st.lists(
    st.tuples(st.sampled_from("de"), st.integers(0, 40), st.integers(1, 20)).map(lambda p: (p[0], p[1], p[1] + p[2])),
    max_size=6,
)
GOLD = PARTS.filter(bool)


def characters(parts: list[tuple[str, int, int]]) -> set[tuple[str, int]]:
    return {(doc_id, at) for doc_id, start, end in parts for at in range(start, end)}


def test_the_whole_of_the_evidence() -> None:
    found = score_context([("d", 0, 100)], [Evidence("d", 10, 20), Evidence("d", 50, 60)], tokens=25)
    assert (found.recall, found.complete, found.precision, found.iou) == (1.0, True, 0.2, 0.2)
    assert (found.spans, found.tokens) == (1, 25)


def test_one_passage_of_two() -> None:
    found = score_context([("d", 0, 30)], [Evidence("d", 10, 20), Evidence("e", 10, 20)])
    assert (found.recall, found.complete) == (0.5, False)


def test_a_passage_counts_as_shown_from_99_percent_on() -> None:
    assert score_context([("d", 0, 99)], [Evidence("d", 0, 100)]).complete
    assert not score_context([("d", 0, 98)], [Evidence("d", 0, 100)]).complete


def test_evidence_that_no_hit_held_is_rescued_and_a_hit_that_is_not_shown_is_lost() -> None:
    evidence = [Evidence("d", 0, 100)]
    found = score_context([("d", 40, 80)], evidence, hits=[("d", 0, 50)])
    assert (found.rescued, found.lost) == (0.3, 0.4)


def test_the_same_characters_of_another_document_are_no_evidence() -> None:
    assert score_context([("e", 0, 100)], [Evidence("d", 0, 100)]).recall == 0


def test_overlapping_evidence_counts_once() -> None:
    assert score_context([("d", 0, 10)], [Evidence("d", 0, 10), Evidence("d", 5, 15)]).recall == pytest.approx(2 / 3)


def test_ranges_that_touch_are_one_span() -> None:
    assert score_context([("d", 10, 20), ("d", 0, 10), ("d", 30, 40)], [Evidence("d", 0, 1)]).spans == 2


def test_an_empty_context() -> None:
    found = score_context([], [Evidence("d", 0, 10)], hits=[("d", 0, 10)])
    assert (found.recall, found.precision, found.iou, found.complete, found.lost) == (0, 0, 0, False, 1)


def test_duplicate_tokens_are_a_share_of_all_given() -> None:
    assert score_context([("d", 0, 9)], [Evidence("d", 0, 9)], tokens=30, duplicate_tokens=10).duplicate_share == 0.25


def test_without_evidence_nothing_can_be_measured() -> None:
    with pytest.raises(RetrivexError, match="leave out questions"):
        score_context([("d", 0, 9)], [])


@given(PARTS, GOLD, PARTS)
def test_the_same_as_counting_characters(
    shown: list[tuple[str, int, int]], gold: list[tuple[str, int, int]], hits: list[tuple[str, int, int]]
) -> None:
    found = score_context(shown, [Evidence(*part) for part in gold], hits)
    s, g, h = characters(shown), characters(gold), characters(hits)
    assert found.recall == pytest.approx(len(s & g) / len(g))
    assert found.precision == pytest.approx(len(s & g) / len(s) if s else 0)
    assert found.iou == pytest.approx(len(s & g) / len(s | g))
    assert found.rescued == pytest.approx(len((s - h) & g) / len(g))
    assert found.lost == pytest.approx(len((h - s) & g) / len(g))


@given(PARTS, GOLD)
def test_covered_and_uncovered_make_up_a_range(
    shown: list[tuple[str, int, int]], gold: list[tuple[str, int, int]]
) -> None:
    joined = united(shown)
    for part in gold:
        pieces = uncovered(part, joined)
        assert covered(part, joined) + sum(end - start for _, start, end in pieces) == part[2] - part[1]
        assert not characters(pieces) & characters(shown)


def test_ranges_of_any_length() -> None:
    assert score_context([("d", 0, 10**400)], [Evidence("d", 0, 2 * 10**400)]).recall == 0.5
