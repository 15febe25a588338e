from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, Span
from retrivex.evaluation.questions.evidence import Evidence, Question
from retrivex.evaluation.run import MEASURES
from retrivex.evaluation.run.context import Order, Selection, arrange
from retrivex.evaluation.run.measures import holds_answer, measure
from retrivex.evaluation.run.sentence_edges import SentenceEdges
from retrivex.model.run import Segment
from retrivex.tokens.tokenizer import get_tokenizer

# ten sentences of ten characters each; a token is a character
TEXT = "".join(f"Bee no {n}. " for n in range(10))
DOCUMENTS = {"d": TEXT}
LETTERS = get_tokenizer(len)


def span(start: int, end: int, score: float) -> Span:
    chunk = Chunk(TEXT[start:end], ChunkMetadata("d", start, start, end))
    return Span(
        "d", [start], [chunk], score, start, end, end - start,
        text=TEXT[start:end], segments=(Segment(0, end - start, start, start),),
    )  # fmt: skip


def measured(
    spans: list[Span],
    *evidence: tuple[int, int],
    hits: list[tuple[int, int]] | None = None,
    order: str = "score_desc",
    **fields: Any,
) -> dict[str, float]:
    question = Question("q", "Which?", tuple(Evidence("d", *part) for part in evidence), **fields)
    plain = RetrievalConfig(numbered=False, gap_markers=False)
    context = arrange(Selection(spans, plain, 2.5), Order(order), question.text)
    places = [("d", *part) for part in hits or []]
    return measure(question, context, places, SentenceEdges(DOCUMENTS), LETTERS)


def test_two_spans_by_hand() -> None:
    # 20 characters of evidence: 10 of them in the second span, 6 where no hit is; 4 were hit and are not shown
    made = measured([span(0, 10, 2.0), span(40, 60, 1.0)], (50, 70), hits=[(0, 10), (56, 64)])
    assert made["evidence_recall"] == 0.5
    assert made["complete"] == 0.0
    assert made["evidence_precision"] == pytest.approx(10 / 30)
    assert made["evidence_iou"] == pytest.approx(10 / 40)
    assert made["rescued_by_neighbours"] == pytest.approx(6 / 20)
    assert made["lost"] == pytest.approx(4 / 20)
    assert (made["recall_at_1"], made["recall_at_3"]) == (0.0, 0.5)
    assert made["reciprocal_rank"] == 0.5
    assert made["spans"] == 2.0
    assert made["tokens"] == 32.0  # with the blank line
    assert made["evidence_tokens_per_1000"] == pytest.approx(1000 * 10 / 32)
    assert made["evidence_position"] == pytest.approx(27 / 32)  # the middle of characters 22 to 32
    assert made["broken_sentences"] == 0.0
    assert made["ms"] >= 2.5
    assert "answer_in_context" not in made


def test_position_follows_the_order_and_ranks_do_not() -> None:
    spans = [span(0, 10, 3.0), span(20, 30, 2.0), span(40, 50, 1.0)]
    first = measured(spans, (0, 10))
    last = measured(spans, (0, 10), order="back_first")
    assert first["evidence_position"] == pytest.approx(5 / 34)
    assert last["evidence_position"] == pytest.approx(29 / 34)
    assert first["reciprocal_rank"] == last["reciprocal_rank"] == 1.0
    assert first["recall_at_1"] == last["recall_at_1"] == 1.0


def test_the_position_of_several_passages_is_their_mean() -> None:
    made = measured([span(0, 10, 2.0), span(40, 50, 1.0)], (0, 10), (40, 50))
    assert made["evidence_position"] == pytest.approx((5 + 17) / 2 / 22)
    assert made["complete"] == 1.0


def test_evidence_that_is_not_shown_stands_nowhere() -> None:
    made = measured([span(0, 10, 1.0)], (50, 60))
    assert "evidence_position" not in made
    assert (made["evidence_recall"], made["reciprocal_rank"], made["evidence_tokens_per_1000"]) == (0.0, 0.0, 0.0)


def test_an_empty_context_has_no_sentences_to_break() -> None:
    made = measured([], (50, 60), answers=("Bee",))
    assert "broken_sentences" not in made
    assert (made["tokens"], made["spans"], made["answer_in_context"], made["evidence_precision"]) == (0, 0, 0, 0)


def test_without_evidence_or_answers_only_what_the_context_costs_is_told() -> None:
    assert set(measured([span(0, 10, 1.0)])) == {"tokens", "spans", "ms", "broken_sentences"}
    assert "answer_in_context" not in measured([span(0, 10, 1.0)], answers=(" ",))


@pytest.mark.parametrize(("start", "end", "broken"), [(0, 10, 0.0), (0, 9, 0.0), (3, 10, 1.0), (10, 25, 1.0)])
def test_sentences_are_broken_inside_not_at_their_white_space(start: int, end: int, broken: float) -> None:
    assert measured([span(start, end, 1.0)], (0, 10))["broken_sentences"] == broken


@pytest.mark.parametrize(
    ("text", "answers", "needed", "found"),
    [
        ("It was the Queen.", ("queen",), "any", True),
        ("It was the queens.", ("queen",), "any", False),
        ("It was the\nred  queen.", ("Red Queen",), "any", True),
        ("It is blue.", ("red", "blue"), "any", True),
        ("It is blue.", ("red", "blue"), "all", False),
        ("It is red and blue.", ("red", "blue"), "all", True),
        ("首都是北京市。", ("北京",), "any", True),
        ("In ２００８", ("2008",), "any", True),
        ("12008", ("2008",), "any", False),
        ("Straße", ("STRASSE",), "any", True),
        ("It is blue.", ("", "blue"), "all", True),
        ("她毕业于厦门大学中文系", ("厦门大学。",), "any", True),
        ("the answer (42%) is", ('"42%".',), "any", True),
        ("the price is $5", ("5",), "any", True),
        ("a ... b", ("...",), "any", True),
        ("a b", ("...",), "any", False),
    ],
)
def test_answers_are_whole_words_or_characters(text: str, answers: tuple[str, ...], needed: Any, found: bool) -> None:
    assert holds_answer(text, Question("q", "?", (), answers=answers, needed=needed)) is found


def test_a_line_break_is_an_edge_unless_the_text_is_wrapped() -> None:
    edges = SentenceEdges({"d": "Minutes of the meeting\nWe met at noon and went on\n until dusk."})
    assert not edges.breaks("d", 0, 23)
    assert not edges.breaks("d", 23, 62)
    assert edges.breaks("d", 23, 50)
    assert edges.breaks("d", 26, 62)
    assert edges.breaks("d", 23, 40)


@pytest.mark.parametrize(
    ("passage", "broken"),
    [
        ("# Bees", True),  # a heading alone
        ("Some. ", False),
        ("Some. **Order.", True),
        ("**Order.** The best is first.", False),
        ("** The best is first.", True),
        ("first.\n\n## Sleep", True),
        ("| a | b |\n|---|---|\n| c | d |", False),
        ("| a | b |\n|---|---|", True),
        ("| c | d |", True),  # a row without its head
        ("| d |", True),
        ("```\nx = 1", True),
        ("## Sleep\n\n```\nx = 1\ny = 2\n```", False),
    ],
)
def test_headings_rows_fences_and_emphasis_are_seen(passage: str, broken: bool) -> None:
    text = (
        "# Bees\n\nSome. **Order.** The best is first.\n\n## Sleep\n\n```\nx = 1\ny = 2\n```\n\n"
        "| a | b |\n|---|---|\n| c | d |\n"
    )
    at = text.rindex(passage)
    assert SentenceEdges({"d": text}).breaks("d", at, at + len(passage)) is broken


def test_a_prefix_holds_the_head_of_a_table_and_the_beginning_of_a_fence() -> None:
    text = "| a |\n|---|\n| c |\n\n```\nx = 1\ny = 2\n```"
    edges = SentenceEdges({"d": text})
    assert not edges.breaks("d", 12, 17, "| a |\n|---|\n")
    assert not edges.breaks("d", text.index("y"), len(text), "```\n")


PLACES = st.lists(st.integers(0, 19), min_size=1, max_size=8, unique=True)


@given(PLACES, PLACES, st.sampled_from(["score_desc", "shuffle", "edge_balanced"]))
def test_measures_agree_with_one_another(shown: list[int], wanted: list[int], order: str) -> None:
    spans = [span(5 * at, 5 * at + 5, 100.0 - rank) for rank, at in enumerate(shown)]
    made = measured(spans, *[(5 * at, 5 * at + 5) for at in wanted], order=order)
    both = set(shown) & set(wanted)
    assert made["evidence_recall"] == pytest.approx(len(both) / len(wanted)) == pytest.approx(made["recall_at_10"])
    assert made["complete"] == float(both == set(wanted))
    assert made["reciprocal_rank"] == max([1 / rank for rank, at in enumerate(shown, 1) if at in both], default=0.0)
    recalls = [made[f"recall_at_{k}"] for k in (1, 3, 5, 10)]
    assert recalls == sorted(recalls)
    assert ("evidence_position" in made) == bool(both)
    assert 0 <= made.get("evidence_position", 0) <= 1


def test_every_measure_is_named() -> None:
    made = measured([span(0, 10, 1.0)], (0, 10), answers=("Bee",))
    assert list(made) == list(MEASURES)
