"""The composer with a sentence scorer: one more feature of the calibrated scorer, or a warning."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from fuzz.cases import Case
from hypothesis import given
from hypothesis import strategies as st
from support.properties import try_examples
from support.strategies import bare, cases, count_words, hits_of, make_chunk, make_store, tile

from retrivex import Composition, SeedHit, SpanComposer
from retrivex.errors import RerankError
from retrivex.rerank import SentenceScoring
from retrivex.scoring.feature_words import describe_feature
from retrivex.text.sentences import sentence_ranges

ANIMALS = ["ants", "bees", "wasps", "moths", "flies"]
STORE = tile("d", [f"Number {at} tells of {animal}. " for at, animal in enumerate(ANIMALS)])
HITS = hits_of(STORE, {0: 0.5, 2: 0.5, 4: 0.5})
QUESTION = "Which animal is it?"
PLAIN: dict[str, Any] = {"numbered": False, "gap_markers": False}


def likes(word: str, high: float = 0.95) -> Any:
    """A scorer that finds sentences with a word probable."""

    def scored(question: str, text: str) -> list[tuple[int, int, float]]:
        return [(a, b, high if word in text[a:b] else 1 - high) for a, b in sentence_ranges(text)]

    return scored


def made(scorer: Any, query: str | None = QUESTION, hits: Any = HITS, **said: Any) -> Composition:
    composer = SpanComposer(tokenizer=count_words, sentence_scorer=scorer)
    known = {"window": 0, "query": query, **PLAIN, **said}
    composition = composer.compose(hits, STORE, **known)
    again = asyncio.run(composer.acompose(hits, STORE, **known))
    assert composition.to_dict()["spans"] == again.to_dict()["spans"]
    assert composition.warnings == again.warnings
    return composition


def probabilities(composition: Composition) -> dict[int, float]:
    return {note.chunk_ids[0]: note.probability for note in composition.trace.units}


@pytest.mark.parametrize(("word", "chunk"), [("ants", 0), ("wasps", 2), ("flies", 4)])
def test_what_it_finds_probable_is_chosen(word: str, chunk: int) -> None:
    composition = made(likes(word), token_budget=8)
    assert [span.chunk_ids for span in composition.spans] == [[chunk]]
    assert composition.warnings == ()
    known, plain = probabilities(composition), probabilities(made(None))
    assert known[chunk] > plain[chunk]
    assert all(known[other] < plain[other] for other in {0, 2, 4} - {chunk})


def test_it_is_one_more_feature_and_no_replacement() -> None:
    plain = probabilities(made(None, query="Who tells of wasps?"))
    both = probabilities(made(likes("wasps", 0.5), query="Who tells of wasps?"))
    assert both == pytest.approx(plain)


def test_the_trace_names_it_among_the_reasons() -> None:
    (note,) = [note for note in made(likes("wasps")).trace.units if note.chunk_ids == (2,)]
    reasons = dict(note.reasons)
    assert reasons["sentence model"] > 0
    assert [abs(value) for value in reasons.values()] == sorted(map(abs, reasons.values()), reverse=True)
    assert len(reasons) <= 5
    assert describe_feature("sentence model") == "the sentence model's probability"
    assert not any("sentence model" in dict(note.reasons) for note in made(None).trace.units)


def test_the_trace_has_a_step_for_it() -> None:
    (step,) = [step for step in made(likes("ants")).trace.steps if step.name == "sentences"]
    assert (step.n_in, step.n_out) == (3, 3)
    assert "sentences" not in [step.name for step in made(None).trace.steps]


def test_it_reads_hits_and_not_their_neighbours_which_stay() -> None:
    seen: list[str] = []

    def reads(question: str, text: str) -> list[tuple[int, int, float]]:
        seen.append(text)
        return likes("ants")(question, text)

    composition = made(reads, window=1)
    assert set(seen) == {STORE["d", at].text for at in (0, 2, 4)}
    plain = probabilities(made(None, window=1))
    assert {at: p for at, p in probabilities(composition).items() if at in (1, 3)} == {1: plain[1], 3: plain[3]}


def test_only_the_best_hits_are_read() -> None:
    store = bare("d", [f"Number {at} tells of ants." for at in range(60)])
    seen: set[str] = set()

    def reads(question: str, text: str) -> list[tuple[int, int, float]]:
        seen.add(text)
        return []

    hits = hits_of(store, {at: at / 60 for at in range(60)})
    SpanComposer(tokenizer=count_words, sentence_scorer=reads).compose(hits, store, query=QUESTION, window=0)
    assert seen == {store["d", at].text for at in range(10, 60)}


def test_offsets_hold_where_chunks_overlap() -> None:
    ants, bees, wasps = (f"{animal} {' '.join(f'{animal}{at}' for at in range(39))}. " for animal in ANIMALS[:3])
    text, start = ants + bees + wasps, len(ants)
    store = make_store(make_chunk("d", 0, ants + bees, 0), make_chunk("d", 1, text[start:], start))
    composer = SpanComposer(tokenizer=count_words, sentence_scorer=likes("wasps"))
    hits = [SeedHit(chunk, 0.5) for chunk in store.values()]
    composition = composer.compose(hits, store, query=QUESTION, window=0, token_budget=40, **PLAIN)
    assert [span.text for span in composition.spans] == [wasps.strip()]


# ---- without an answer


@pytest.mark.parametrize(
    ("scorer", "said"),
    [
        (lambda q, t: [(0, 999, 0.5)], "(0, 999, 0.5) for a text of"),
        (SentenceScoring(lambda q, t: 1 / 0, retries=0), "ZeroDivisionError"),
    ],
    ids=["wrong", "raises"],
)
def test_the_context_is_made_without_it_where_it_fails(scorer: Any, said: str) -> None:
    composition = made(scorer)
    assert composition.to_dict()["spans"] == made(None).to_dict()["spans"]
    (warning,) = composition.warnings
    assert "sentences were not scored, and the context is made without" in warning
    assert said in warning
    with pytest.raises(RerankError):
        made(scorer, strict=True)


def test_the_context_is_made_without_it_where_it_hangs() -> None:
    release = threading.Event()
    try:
        composition = made(SentenceScoring(lambda q, t: release.wait() and [], timeout_s=0.05))
    finally:
        release.set()
    assert "no answer within timeout_s=0.05" in composition.warnings[0]


@pytest.mark.parametrize("said", [{"query": None}, {"query": " "}, {"scoring": "weighted"}])
def test_the_weighted_scorer_has_no_use_for_it(said: dict[str, Any]) -> None:
    (warning,) = made(lambda q, t: 1 / 0, **said).warnings
    assert warning.startswith("sentences were not scored: only the calibrated scorer reads them")


def test_without_hits_it_is_not_asked() -> None:
    assert made(lambda q, t: 1 / 0, hits=[]).spans == ()


def test_texts_of_another_scope_are_not_given_away() -> None:
    seen: list[str] = []
    store = make_store(make_chunk("d", 0, "open"), make_chunk("e", 0, "secret", scope="acme"))
    hits = [SeedHit(make_chunk("d", 0, "open"), 0.5), SeedHit(make_chunk("e", 0, "secret"), 0.5)]

    def reads(question: str, text: str) -> list[tuple[int, int, float]]:
        seen.append(text)
        return []

    SpanComposer(sentence_scorer=reads, tokenizer=count_words).compose(hits, store, query=QUESTION)
    assert seen == ["open"]


def test_something_that_cannot_score_is_refused() -> None:
    with pytest.raises(RerankError, match="sentence_scorer is 'provence'"):
        SpanComposer(sentence_scorer="provence")  # type: ignore[arg-type]


@try_examples(100)
@given(cases(), st.sampled_from(["hash", "raises", "wrong"]))
def test_the_promises_hold_with_any_scorer(case: Case, kind: str) -> None:
    def scored(question: str, text: str) -> list[tuple[int, int, float]]:
        if kind == "raises":
            raise RerankError("no")
        return [(a, b + (kind == "wrong") * 999, (a * 7919 % 31) / 30) for a, b in sentence_ranges(text)]

    composer = SpanComposer(tokenizer=count_words, sentence_scorer=scored)
    said = {"query": case.query, "scope": case.scope, **case.options, "strict": False}
    composition = composer.compose(case.hits, case.store, case.parent_store, **said)
    assert count_words(composition.text) <= composition.token_budget
    if kind == "raises":
        plain = SpanComposer(tokenizer=count_words).compose(case.hits, case.store, case.parent_store, **said)
        assert composition.text == plain.text
