"""The benchmark's common protocol, and its baselines, on hand-made cases; a token is a word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.evidence.index import Asked, Index, part_of, retrieve, sampled
from benchmarks.evidence.lexical import content_words, words
from benchmarks.evidence.protocol import Case, System, Timed, answer, cut, take
from benchmarks.evidence.reference import Reference, best_runs
from benchmarks.evidence.systems import RetriVex, in_document_order, nearest, ranges_of, widened
from retrivex import Chunk, ChunkMetadata, SeedHit, SpanComposer
from retrivex.evaluation.metrics import Range
from retrivex.evaluation.questions.evidence import Evidence, Question
from retrivex.evaluation.run.bm25 import BM25

WORDS = (
    "bees sleep at night. ants dig deep holes. wasps build paper nests. flies eat old fruit. moths love bright lamps. "
)


def made(*doc_ids: str) -> Index:
    """Chunks of four words; chunk i of every document points along axis i."""
    chunks, rows = [], []
    for doc_id in doc_ids:
        start = 0
        for number, sentence in enumerate(WORDS.split(". ")[:-1]):
            end = start + len(sentence) + 2
            rows.append(np.eye(5, dtype=np.float32)[number])
            chunks.append(Chunk(WORDS[start:end], ChunkMetadata(doc_id, number, start, end), rows[-1]))
            start = end
    return Index(dict.fromkeys(doc_ids, WORDS), chunks, np.array(rows), tokenizer=lambda text: len(text.split()))


@pytest.fixture
def index() -> Index:
    return made("d", "e")


def case(index: Index, places: Sequence[int], budget: int) -> Case:
    question = Question("q", "do ants dig?", (Evidence("d", 0, 4),))
    hits = [(place, 0.9 - at / 10) for at, place in enumerate(places)]
    return Case(Asked("s", question, np.eye(5, dtype=np.float32)[1]), hits, index, 4, budget)


def texts(index: Index, ranges: Sequence[Range]) -> list[str]:
    return [index.text(part).split()[0] for part in ranges]


def test_spans_are_taken_in_their_order_until_the_budget_is_used(index: Index) -> None:
    context = take(nearest(case(index, [3, 0, 2], 8)), index, 8)
    assert texts(index, context.ranges) == ["flies", "bees"]
    assert context.tokens == 8


def test_a_span_that_does_not_fit_is_skipped_and_a_later_one_may(index: Index) -> None:
    whole, small = index.range_between(range(3)), index.range_of(4)
    context = take([small, whole, index.range_of(3)], index, 8)
    assert texts(index, context.ranges) == ["moths", "flies"]


def test_text_already_taken_is_free_and_counts_as_duplicate(index: Index) -> None:
    context = take([index.range_between(range(2)), index.range_between(range(1, 3))], index, 12)
    assert context.tokens == 12
    assert context.duplicate_tokens == 4
    assert len(context.ranges) == 2


def test_if_nothing_fits_the_first_is_cut(index: Index) -> None:
    context = take([index.range_of(1), index.range_of(0)], index, 2)
    assert [index.text(part) for part in context.ranges] == ["ants dig "]
    assert context.tokens == 2
    assert take([index.range_of(1)], index, 0).ranges == []
    assert take([], index, 5).ranges == []


def test_cutting_keeps_a_span_that_fits(index: Index) -> None:
    assert cut(index.range_of(1), index, 9).ranges == [index.range_of(1)]


def test_methods_without_a_budget_get_one_hit_more_than_fits(index: Index) -> None:
    asked: list[int] = []

    def spans(given: Case) -> list[Range]:
        asked.append(len(given.hits))
        return nearest(given)

    found = answer(System("s", spans, all_hits=False), case(index, [0, 1, 2, 3, 4], 9))
    assert asked == [1, 2, 3]
    assert len(found.spans) == 3
    assert answer(System("s", spans, all_hits=False), case(index, [], 9)).spans == []


def test_a_system_may_bring_its_own_time(index: Index) -> None:
    assert answer(System("s", lambda _: Timed([], 7.5)), case(index, [0], 9)).ms == 7.5


def test_windows_end_with_their_document(index: Index) -> None:
    first, last = widened(1)(case(index, [0, 9], 99))
    assert index.text(first).split()[0::4] == ["bees", "ants"]
    assert last[0] == "e"
    assert index.text(last).split()[0::4] == ["flies", "moths"]


def test_document_order_shows_what_knn_shows(index: Index) -> None:
    asked = case(index, [3, 7, 1, 0], 12)
    ordered = in_document_order(asked)
    assert ordered == sorted(ordered)
    assert set(ordered) == set(take(nearest(asked), index, 12).ranges)


def test_retrieval(index: Index) -> None:
    asked = case(index, [], 9).asked
    assert [place for place, _ in retrieve(index, asked, "dense", 2)] == [1, 6]
    assert [place for place, _ in retrieve(index, asked, "bm25", 9)] == [1, 6]
    assert [place for place, _ in retrieve(index, asked, "fused", 2)] == [1, 6]
    assert retrieve(part_of(index, {"e"}), asked, "dense", 1)[0][0] == 1


def test_bm25_prefers_rare_words_and_knows_any_language() -> None:
    scores = BM25(["the bees", "the the ants", "蜜蜂 睡觉"], terms=words).scores("the bees 睡觉")
    assert scores.argmax() in (0, 2)
    assert scores[0] > scores[1]
    assert BM25(["the bees"], terms=content_words).scores("the").sum() == 0


def test_questions_are_sampled_in_their_order_and_only_those_with_evidence() -> None:
    questions = [Question(str(n), "?", (Evidence("d", 0, 1),) if n % 2 else ()) for n in range(40)]
    places = sampled(questions, 10)
    assert len(places) == 10
    assert places == sorted(places)
    assert all(place % 2 for place in places)
    assert sampled(questions, 10) == places
    assert len(sampled(questions, 99)) == 20


@given(st.lists(st.tuples(st.integers(-8, 8), st.booleans()), min_size=1, max_size=9))
def test_the_reference_finds_the_best_runs(units: list[tuple[int, bool]]) -> None:
    worth = np.array([value / 2 + 0.01 for value, _ in units])
    doc = np.cumsum([new for _, new in units])

    def value(chosen: set[int]) -> float:
        runs = sum(1 for unit in chosen if unit - 1 not in chosen or doc[unit] != doc[unit - 1])
        return float(sum(worth[unit] for unit in chosen)) - 2 * runs

    best = max(value({unit for unit in range(len(units)) if mask >> unit & 1}) for mask in range(1 << len(units)))
    assert value(set(best_runs(worth, doc))) == pytest.approx(best)


def test_the_reference_keeps_the_budget_and_finds_the_match(index: Index) -> None:
    reference = Reference(index, unit_tokens=4)
    for budget in (4, 8, 20):
        asked = case(index, [], budget)
        values = reference.values(asked, "k")
        ranges = reference.runs(reference.select(values, budget), values)
        context = take(ranges, index, budget)
        assert 0 < context.tokens <= budget
        assert context.ranges[0][1] <= index.range_of(1)[1] < context.ranges[0][2]


def test_retrivex_keeps_the_budget_under_the_common_protocol(index: Index) -> None:
    asked = case(index, [1, 3, 8], 60)
    spans = RetriVex(window=1, scoring="weighted")(asked)
    context = take(spans, index, 60)
    assert sorted(context.ranges) == sorted(spans)
    at = index.range_of(1)[1]
    assert any(doc_id == "d" and start <= at < end for doc_id, start, end in spans)


def test_the_ranges_of_a_span_are_its_text(index: Index) -> None:
    composer = SpanComposer(tokenizer=lambda text: len(text.split()))
    spans = composer.retrieve([SeedHit(index.chunks[2], 1.0)], index.store, token_budget=99)
    for span in spans:
        assert "".join(index.text(part) for part in ranges_of(span)) == span.text
