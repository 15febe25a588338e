"""Hit lists with questions of their own: each passage is valued by the question that its hits were found for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import count_words, make_store, tile

from retrivex import Composition, RetrievalConfig, RetriVex, SeedHit, SpanComposer
from retrivex.composer.reasons import PassageReasons
from retrivex.errors import ConfigError, HitError
from retrivex.model.chunk import ChunkKey
from retrivex.rerank import Reranking

LONG, HARM = "How long do winter bees live?", "Which mites weaken colonies?"
TEXTS = {
    "bees": ["Bees live in hives. ", "Winter bees live for six months. ", "Drones die after mating. "],
    "mites": ["Acids are used in winter. ", "Varroa mites weaken colonies. ", "Pesticides kill foragers. "],
    "ants": ["Ants live in hills. ", "A hill has many queens. ", "Ants weaken trees. "],
}
STORE = make_store(*(chunk for name, texts in TEXTS.items() for chunk in tile(name, texts).values()))
COMPOSER = SpanComposer(RetrievalConfig(window=1, numbered=False, gap_markers=False), tokenizer=count_words)


def hits(*keys: ChunkKey) -> list[SeedHit]:
    return [SeedHit(STORE[key], 0.9 - at / 10) for at, key in enumerate(keys)]


LISTS = {LONG: hits(("bees", 0)), HARM: hits(("mites", 2))}


def test_each_passage_is_valued_by_the_question_of_its_hits() -> None:
    made = COMPOSER.compose(LISTS, STORE, query="Tell me about insects.", token_budget=14)
    assert "Winter bees live for six months." in made.text
    assert "Varroa mites weaken colonies." in made.text
    said = dict(zip([span.doc_id for span in made.spans], made.questions, strict=True))
    assert said == {"bees": LONG, "mites": HARM}
    assert {note.doc_id: note.question for note in made.trace.units} == said
    assert made.question == "Tell me about insects."
    plain = COMPOSER.compose(list(LISTS.values()), STORE, query="Tell me about insects.", token_budget=14)
    assert plain.text != made.text
    assert set(plain.questions) == {None}


def test_without_a_whole_question_it_is_the_questions_of_the_lists() -> None:
    assert COMPOSER.compose(LISTS, STORE).question == f"{LONG} {HARM}"
    assert COMPOSER.compose({}, STORE).question is None


@given(st.lists(st.sampled_from(sorted(STORE)), min_size=1, unique=True), st.integers(0, 60))
def test_one_list_with_its_question_is_a_question_with_its_hits(keys: list[ChunkKey], budget: int) -> None:
    named = COMPOSER.compose({LONG: hits(*keys)}, STORE, token_budget=budget)
    plain = COMPOSER.compose(hits(*keys), STORE, query=LONG, token_budget=budget)
    assert named == plain
    assert [note.value for note in named.trace.units] == [note.value for note in plain.trace.units]


@given(st.lists(st.sampled_from(sorted(STORE)), min_size=1, unique=True))
def test_near_hits_of_several_lists_a_unit_counts_as_the_best_of_them(keys: list[ChunkKey]) -> None:
    def units(lists: dict[str, list[SeedHit]]) -> dict[Any, Any]:
        made = COMPOSER.compose(lists, STORE, hedge=0)
        return {(note.doc_id, note.char_start): note for note in made.trace.units}

    both = units({LONG: hits(*keys), HARM: hits(*keys)})
    alone = {question: units({question: hits(*keys)}) for question in (LONG, HARM)}
    for place, note in both.items():
        values = {question: alone[question][place].value for question in alone}
        assert note.value == pytest.approx(max(values.values()))
        assert values[note.question] == pytest.approx(note.value)
        assert note.probability == pytest.approx(alone[note.question][place].probability)


@given(
    st.dictionaries(
        st.sampled_from([LONG, HARM, "Where do ants live?"]),
        st.lists(st.sampled_from(sorted(STORE)), max_size=5, unique=True),
        max_size=3,
    ),
    st.integers(0, 60),
    st.fixed_dictionaries(
        {},
        optional={
            "quotas": st.just("equal"),
            "selection_unit": st.sampled_from(["chunk", "span"]),
            "effort": st.sampled_from(["lean", "full"]),
            "scoring": st.just("weighted"),
            "diversity": st.just(0.5),
            "k": st.just(2),
        },
    ),
)
def test_one_composition_one_budget_and_an_account_of_every_hit(
    keys: dict[str, list[ChunkKey]], budget: int, options: dict[str, Any]
) -> None:
    lists = {question: hits(*own) for question, own in keys.items()}
    made = COMPOSER.compose(lists, STORE, token_budget=budget, **options)
    assert made.tokens <= budget
    shown = {chunk.key for span in made.spans for chunk in span.chunks}
    dropped = {(hit.doc_id, hit.chunk_id) for hit in made.dropped}
    assert {key for own in keys.values() for key in own} <= shown | dropped
    assert len(made.questions) == len(made.spans)
    assert set(made.questions) <= {None, *keys}


def test_every_call_takes_them_and_json_keeps_them() -> None:
    made = COMPOSER.compose(LISTS, STORE)
    assert asyncio.run(COMPOSER.acompose(LISTS, STORE)) == made
    [item] = COMPOSER.compose_batch([{"seed_hits": LISTS, "chunk_store": STORE}])
    assert item.composition == made
    again = Composition.from_dict(json.loads(made.to_json(trace=True)))
    assert again.questions == made.questions
    lines = [line for span in made.spans for line in PassageReasons(made).explain(span)]
    assert {f"for the question: {LONG}", f"for the question: {HARM}"} <= set(lines)
    plain = COMPOSER.compose(hits(("bees", 0)), STORE, query=LONG)
    assert "question" not in plain.to_dict(trace=True)["trace"]["units"][0]


def test_the_least_confidence_counts() -> None:
    found = {question: [SeedHit(STORE[key], 30.0 - at) for at, key in enumerate(sorted(STORE))] for question in LISTS}
    known = [COMPOSER.compose({question: own}, STORE).confidence for question, own in found.items()]
    assert COMPOSER.compose(found, STORE).confidence == (None if None in known else pytest.approx(min(known)))  # type: ignore[type-var]


def test_a_reranker_reads_the_question_of_each_list() -> None:
    asked: dict[str, int] = {}

    def rerank(query: str, texts: Sequence[str]) -> list[float]:
        asked[query] = len(texts)
        return [float("mites" in text) for text in texts]

    found = {LONG: hits(("bees", 0), ("bees", 1)), HARM: hits(("mites", 1), ("mites", 2), ("bees", 0)), "Empty?": []}
    made = SpanComposer(COMPOSER.config, tokenizer=count_words, reranker=rerank).compose(found, STORE, k=1, window=0)
    assert asked == {LONG: 2, HARM: 3}
    assert {(hit.doc_id, hit.chunk_id) for hit in made.dropped if hit.reason == "beyond_k"} == {
        ("bees", 0), ("bees", 1), ("mites", 2)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ({" ": hits(("bees", 0))}, r"seed_hits has list under ' ': give \{'the question': \[its hits\]\}"),
        ({3: hits(("bees", 0))}, "seed_hits has list under 3"),
        ({LONG: STORE["bees", 0]}, "seed_hits has Chunk under"),
        (STORE, "seed_hits has Chunk under"),
        ({LONG: [STORE["bees", 0]]}, r"seed_hits\[0\] is Chunk: every hit must be a SeedHit"),
    ],
)
def test_what_is_no_question_with_its_hits_is_refused(lists: Any, message: str) -> None:
    with pytest.raises(HitError, match=message):
        COMPOSER.compose(lists, STORE)


# ---- from the whole pipeline


class ByQuestion:
    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    def retrieve(self, question: str, k: int = 50, scope: Any = None) -> list[SeedHit]:
        self.asked.append((question, k))
        return LISTS.get(question, hits(("ants", 0), ("bees", 0)))[:k]


class Awaited(ByQuestion):
    async def aretrieve(self, question: str, k: int = 50, scope: Any = None) -> list[SeedHit]:
        return self.retrieve(question, k, scope)


def test_a_pipeline_retrieves_for_each_sub_question() -> None:
    retriever = Awaited()
    for rag in (RetriVex(STORE, config=COMPOSER.config, retriever=one) for one in (ByQuestion(), retriever)):
        made = rag.ask("Tell me about bees.", sub_questions=[LONG, HARM, LONG], k=3)
        assert set(made.questions) == {LONG, HARM}
        assert {span.doc_id for span in made.spans} == {"bees", "mites"}
        assert made.question == "Tell me about bees."
        assert asyncio.run(rag.aask("Tell me about bees.", sub_questions=(LONG, HARM), k=3)) == made
    assert retriever.asked == [(LONG, 3), (HARM, 3)] * 2


def test_limits_hold_for_all_lists_together() -> None:
    rag = RetriVex(STORE, config=COMPOSER.config, retriever=ByQuestion())
    made = rag.ask("Why?", sub_questions=["Why?", LONG, HARM], max_documents=2, min_score=0.85)
    cut = {(hit.doc_id, hit.chunk_id) for hit in made.dropped if hit.reason == "cut_off"}
    assert cut == {("mites", 2)}  # bees are the second document, by the other list: the worse hit there is no loss
    assert {span.doc_id for span in made.spans} <= {"ants", "bees"}


def test_a_hit_of_two_lists_is_as_relevant_to_each_as_its_own_question_says() -> None:
    keys: list[ChunkKey] = [("bees", 1), ("mites", 1), ("ants", 2)]
    liked = {LONG: {"bees": 1.0, "mites": 0.2, "ants": 0.0}, HARM: {"bees": 0.1, "mites": 0.9, "ants": 0.0}}

    def shares(question: str, texts: Sequence[str]) -> list[float]:
        names = {"Winter": "bees", "Varroa": "mites", "Ants": "ants"}
        return [liked[question][names[text.split()[0]]] for text in texts]

    said: dict[str, Any] = {"window": 0, "token_budget": 7, "quotas": (0.0, 1.0), "scoring": "weighted"}
    composer = SpanComposer(COMPOSER.config, tokenizer=count_words, reranker=Reranking(shares, score_scale="unit"))
    made = composer.compose({LONG: hits(*keys), HARM: hits(*keys)}, STORE, query="Why?", **said)
    assert made.spans[0].doc_id == "mites"  # with the best scores of each, it would be the bees
    assert [note.relevance for note in sorted(made.trace.notes, key=lambda note: note.doc_id)] == [0.0, 1.0, 0.9]


def test_a_sentence_scorer_reads_hits_with_the_question_of_their_list() -> None:
    asked: dict[str, list[str]] = {}

    def scored(question: str, text: str) -> list[tuple[int, int, float]]:
        asked.setdefault(question, []).append(text.strip())
        return [(0, len(text), 0.95 if ("Winter" if question == LONG else "Varroa") in text else 0.05)]

    both = {LONG: hits(("bees", 1), ("ants", 0)), HARM: hits(("mites", 1), ("ants", 0))}
    composer = SpanComposer(COMPOSER.config, tokenizer=count_words, sentence_scorer=scored)
    made = composer.compose(both, STORE, query="Why?", window=0)
    assert {question: sorted(texts) for question, texts in asked.items()} == {
        LONG: ["Ants live in hills.", "Winter bees live for six months."],
        HARM: ["Ants live in hills.", "Varroa mites weaken colonies."],
    }
    plain = COMPOSER.compose(both, STORE, query="Why?", window=0)
    known, before = ({note.doc_id: note.probability for note in one.trace.units} for one in (made, plain))
    assert known["bees"] > before["bees"]
    assert known["mites"] > before["mites"]


@pytest.mark.parametrize("wrong", [[], "one", [" "], [1], 5])
def test_what_is_no_list_of_questions_is_refused(wrong: Any) -> None:
    rag = RetriVex(STORE, config=COMPOSER.config, retriever=ByQuestion())
    with pytest.raises(ConfigError, match=r"sub_questions is .*: it must be a list of questions as text, or None"):
        rag.ask("Why?", sub_questions=wrong)
