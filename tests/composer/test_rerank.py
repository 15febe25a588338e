"""The composer with a reranker: hits get its scores before they grow, or keep their own with a warning."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from fuzz.cases import Case
from hypothesis import given
from hypothesis import strategies as st
from support.properties import try_examples
from support.strategies import bare, cases, count_words, hits_of, make_chunk, make_store, sentences

from retrivex import Composition, RetrievalConfig, SeedHit, SpanComposer
from retrivex.errors import RerankError
from retrivex.rerank import Reranking

STORE = bare("d", sentences("d", 9))
HITS = hits_of(STORE, {0: 0.9, 4: 0.5, 8: 0.2})
QUESTION = "Which one?"


def backwards(query: str, texts: Sequence[str]) -> list[float]:
    """The later in the document, the better: against the retriever."""
    return [float(text.split()[0][1:-1]) for text in texts]


def made(reranker: Any, hits: Any = HITS, query: str | None = QUESTION, **said: Any) -> Composition:
    composer = SpanComposer(tokenizer=count_words, reranker=reranker)
    known = {"window": 0, "query": query, **said}
    composition = composer.compose(hits, STORE, **known)
    again = asyncio.run(composer.acompose(hits, STORE, **known))
    assert composition.to_dict()["spans"] == again.to_dict()["spans"]
    assert composition.warnings == again.warnings
    return composition


def relevance(composition: Composition) -> dict[int, float | None]:
    return {note.chunk_id: note.relevance for note in composition.trace.notes}


def first(composition: Composition) -> list[int]:
    return composition.spans[0].chunk_ids


@pytest.mark.parametrize("scoring", ["weighted", "calibrated"])
def test_the_rerankers_best_comes_first(scoring: str) -> None:
    assert first(made(None, scoring=scoring)) == [0]
    composition = made(backwards, scoring=scoring)
    assert first(composition) == [8]
    assert relevance(composition) == {0: 0.0, 4: 0.5, 8: 1.0}
    assert composition.warnings == ()


def test_its_scores_take_the_place_of_the_hits_and_do_not_lose_them() -> None:
    (coverage,) = made(backwards).coverage
    assert coverage.matched == ((0, 0.9), (4, 0.5), (8, 0.2))


def test_a_scale_that_is_declared_is_kept() -> None:
    def halves(query: str, texts: Sequence[str]) -> list[float]:
        return [score / 16 for score in backwards(query, texts)]

    assert relevance(made(Reranking(halves, score_scale="unit"))) == {0: 0.0, 4: 0.5, 8: 1.0}
    shifted = Reranking(lambda q, t: [0.5 + score for score in halves(q, t)], score_scale="unit")
    assert relevance(made(shifted)) == {0: 0.5, 4: 0.75, 8: 1.0}


def test_it_reads_every_hit_and_k_keeps_its_best() -> None:
    composition = made(backwards, k=1)
    assert [span.chunk_ids for span in composition.spans] == [[8]]
    assert sorted((hit.chunk_id, hit.reason, hit.similarity_score) for hit in composition.dropped) == [
        (0, "beyond_k", 0.9),
        (4, "beyond_k", 0.5),
    ]


def test_the_rerankers_best_grow() -> None:
    windows = made(backwards, window=1, expand_top=1).trace.windows
    assert [(w.start, w.end) for w in windows] == [(7, 9), (4, 5), (0, 1)]


def test_each_of_several_lists_is_reranked_by_itself() -> None:
    lists = [HITS[:2], HITS[1:]]
    said = {
        "quotas": "equal",
        "scoring": "weighted",
        "selection_unit": "span",
        "token_budget": 20,
        "gap_markers": False,
    }
    assert sorted(span.chunk_ids[0] for span in made(backwards, lists, **said).spans) == [4, 8]
    assert sorted(span.chunk_ids[0] for span in made(None, lists, **said).spans) == [0, 4]


def test_equal_scores_do_not_hang_on_the_order_of_the_hits() -> None:
    level = made(lambda q, t: [1.0] * len(t))
    assert made(lambda q, t: [1.0] * len(t), HITS[::-1]).text == level.text


# ---- without an answer


@pytest.mark.parametrize(
    ("reranker", "said"),
    [
        (lambda q, t: [1.0], "shape (1,) for 3 texts"),
        (lambda q, t: [float("nan")] * len(t), "the score nan"),
        (Reranking(lambda q, t: 1 / 0, retries=0), "ZeroDivisionError"),
    ],
    ids=["too few", "nan", "raises"],
)
def test_hits_keep_their_scores_where_it_fails(reranker: Any, said: str) -> None:
    composition = made(reranker, k=2)
    assert composition.to_dict()["spans"] == made(None, k=2).to_dict()["spans"]
    (warning,) = composition.warnings
    assert "hits were not reranked and keep the scores of their retriever" in warning
    assert said in warning
    with pytest.raises(RerankError):
        made(reranker, strict=True)


def test_hits_keep_their_scores_where_it_hangs() -> None:
    release = threading.Event()
    try:
        composition = made(Reranking(lambda q, t: release.wait() and [], timeout_s=0.05))
    finally:
        release.set()
    assert first(composition) == [0]
    assert "no answer within timeout_s=0.05" in composition.warnings[0]


@pytest.mark.parametrize("query", [None, "  "])
def test_without_a_question_it_is_not_asked(query: str | None) -> None:
    composition = made(lambda q, t: 1 / 0, query=query)
    assert composition.warnings == ("hits were not reranked: a reranker reads the question; pass query=...",)


def test_without_hits_it_is_not_asked() -> None:
    assert made(lambda q, t: 1 / 0, []).spans == ()


def test_texts_of_another_scope_are_not_given_away() -> None:
    seen: list[str] = []
    store = make_store(make_chunk("d", 0, "open"), make_chunk("d", 1, "secret", scope="acme"))
    hits = [SeedHit(chunk, 0.5) for chunk in store.values()]

    def reads(query: str, texts: Sequence[str]) -> list[float]:
        seen.extend(texts)
        return [0.0] * len(texts)

    SpanComposer(reranker=reads, tokenizer=count_words).compose(hits, store, query=QUESTION)
    assert seen == ["open"]


def test_chunks_that_are_cut_off_are_named() -> None:
    class ReadsLittle:
        def score(self, query: str, texts: Sequence[str]) -> list[float]:
            return backwards(query, texts)

        def too_long(self, query: str, texts: Sequence[str]) -> list[int]:
            return [0, 2]

    (warning,) = made(ReadsLittle()).warnings
    assert "only a part of 2 of 3 chunks" in warning
    assert "('d', 0), ('d', 8)" in warning


def test_the_trace_has_a_step_for_it() -> None:
    assert [step.name for step in made(backwards).trace.steps][:2] == ["rerank", "seeds"]
    assert "rerank" not in [step.name for step in made(None).trace.steps]


def test_something_that_cannot_score_is_refused() -> None:
    with pytest.raises(RerankError, match="it must be an object with score"):
        SpanComposer(RetrievalConfig(), reranker="bge-reranker")  # type: ignore[arg-type]


@try_examples(100)
@given(cases(), st.sampled_from(["hash", "raises", "short"]))
def test_the_promises_hold_with_any_reranker(case: Case, kind: str) -> None:
    def score(query: str, texts: Sequence[str]) -> list[float]:
        if kind == "raises":
            raise RerankError("no")
        return [float(len(text) * 7919 % 31) for text in texts][: None if kind == "hash" else 1]

    composer = SpanComposer(tokenizer=count_words, reranker=score)
    said = {"query": case.query, "scope": case.scope, **case.options, "strict": False}
    composition = composer.compose(case.hits, case.store, case.parent_store, **said)
    assert count_words(composition.text) <= composition.token_budget
    plain = SpanComposer(tokenizer=count_words).compose(case.hits, case.store, case.parent_store, **said)
    shown = {(span.doc_id, i) for span in composition.spans for i in span.chunk_ids}
    dropped = {(hit.doc_id, hit.chunk_id) for hit in composition.dropped}
    wanted = {(hit.doc_id, hit.chunk_id) for hit in plain.dropped} | {
        (c.doc_id, i) for c in plain.coverage for i, _ in c.matched
    }
    assert wanted <= shown | dropped
    if kind == "raises":
        assert composition.text == plain.text
