"""The benchmark's baselines and its reference, on hand-made cases; a token is a word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.evidence.index import Asked, parents_of, part_of, retrieve, sampled
from benchmarks.evidence.lexical import content_words, words
from benchmarks.evidence.ranges import take
from benchmarks.evidence.reference import Reference, best_runs
from benchmarks.evidence.systems import RetriVex, in_document_order, nearest, widened
from retrivex import Chunk, ChunkMetadata, SeedHit, SpanComposer
from retrivex.evaluation.metrics import Range
from retrivex.evaluation.questions.evidence import Evidence, Question
from retrivex.evaluation.run import Case, Index
from retrivex.evaluation.run.bm25 import BM25
from retrivex.evaluation.run.measures import ranges_of

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
    return Index(
        dict.fromkeys(doc_ids, WORDS),
        size=4,
        tokenizer=lambda text: len(text.split()),
        terms=words,
        chunks=chunks,
        vectors=np.array(rows),
    )


@pytest.fixture
def index() -> Index:
    return made("d", "e")


ASKED = Asked("s", Question("q", "do ants dig?", (Evidence("d", 0, 4),), ("e",)), np.eye(5, dtype=np.float32)[1])


def case(index: Index, places: Sequence[int], budget: int) -> Case:
    hits = [SeedHit(index.chunks[place], 0.9 - at / 10) for at, place in enumerate(places)]
    return Case(ASKED.question.text, hits, index, budget, "dense", ASKED.embedding)


def text(index: Index, part: Range) -> str:
    return index.documents[part[0]][part[1] : part[2]]


def test_windows_end_with_their_document(index: Index) -> None:
    first, last = widened(1)(case(index, [0, 9], 99))
    assert text(index, first).split()[0::4] == ["bees", "ants"]
    assert last[0] == "e"
    assert text(index, last).split()[0::4] == ["flies", "moths"]


def test_document_order_shows_what_knn_shows(index: Index) -> None:
    asked = case(index, [3, 7, 1, 0], 12)
    ordered = in_document_order(asked)
    assert ordered == sorted(ordered)
    assert set(ordered) == set(take(nearest(asked), index, 12).ranges)


def test_retrieval(index: Index) -> None:
    for how, most in (("dense", 2), ("bm25", 9), ("fused", 2)):
        assert [index.positions[hit.key] for hit in retrieve(index, ASKED, how, most)] == [1, 6]
    part = part_of(index, {"e"})
    assert [part.positions[hit.key] for hit in retrieve(part, ASKED, "dense", 1)] == [1]


def test_of_equal_fused_scores_the_first_in_the_index_is_the_better() -> None:
    documents = {"wasps": "wasps sting.", "bees": "bees sleep."}  # against the order of the names
    chunks = [Chunk(text, ChunkMetadata(name, 0, 0, len(text))) for name, text in documents.items()]
    index = Index(documents, chunks=chunks, vectors=np.eye(2, dtype=np.float32), terms=words)
    asked = Asked("s", Question("q", "bees, bees, wasps", ()), np.array([1, 0.5], dtype=np.float32))
    first, second = retrieve(index, asked, "fused", 2)
    assert first.similarity_score == second.similarity_score
    assert first.key[0] == "wasps"


def test_parents_are_four_chunks_of_one_document(index: Index) -> None:
    assert parents_of(index) == [range(4), range(4, 5), range(5, 9), range(9, 10)]


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
        assert "".join(text(index, part) for part in ranges_of(span)) == span.text
