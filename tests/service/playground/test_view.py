"""What the page is given of an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fuzz.cases import Case, OddStore
from fuzz.compositions import Bench
from hypothesis import given
from hypothesis import strategies as st
from support.properties import try_examples
from support.strategies import cases, compose, hits_of, make_chunk, make_store

from retrivex import Chunk, RetrievalConfig, SpanComposer
from retrivex.service.playground import view as views
from retrivex.service.playground.pieces import Mark, cut
from retrivex.service.playground.view import SCHEMA, Answer, fetch_chunks, write_view
from retrivex.stores import InMemoryChunkStore

TEXTS = ("Bees live in hives.", "A hive has one queen.", "She lays all the eggs.", "Drones do nothing.")
QUESTION = "Who lays the eggs in a hive?"


def make_world(texts: tuple[str, ...] = TEXTS, doc_id: str = "bees", **more: Any) -> dict[Any, Chunk]:
    chunks, start = [], 0
    for number, text in enumerate(texts):
        chunks.append(make_chunk(doc_id, number, text, start, chunk_count=len(texts), **more))
        start += len(text) + 1
    return make_store(*chunks)


def answer_of(store: dict[Any, Chunk], hits: dict[int, float], **options: Any) -> Answer:
    config = RetrievalConfig(tokenizer="estimate", **options)
    made = SpanComposer(config).compose(hits_of(store, hits, next(iter(store))[0]), store, query=QUESTION)
    return Answer(made, config, fetch_chunks(made, InMemoryChunkStore(store.values())))


def one(answer: Answer) -> dict[str, Any]:
    view = write_view([answer])
    assert view["schema"] == SCHEMA
    [written] = view["answers"]
    assert json.loads(json.dumps(written, allow_nan=False)) == written
    return written


def joined(pieces: list[dict[str, Any]]) -> str:
    return "".join(piece["text"] for piece in pieces)


def test_the_pieces_of_the_context_are_the_context_with_its_sources() -> None:
    answer = answer_of(make_world(), {1: 0.9}, window=1)
    written = one(answer)
    assert joined(written["context"]) == answer.composition.text
    source = " ".join(TEXTS)
    cited = [piece for piece in written["context"] if "number" in piece]
    assert {piece["doc_id"] for piece in cited} == {"bees"}
    assert all(piece["text"] == source[piece["char_start"] : piece["char_end"]] for piece in cited)


def test_a_document_is_a_strip_of_chunks_with_what_became_of_each() -> None:
    written = one(answer_of(make_world(), {1: 0.9, 3: 0.2}, window=0, token_budget=16))
    [document] = written["documents"]
    assert (document["doc_id"], document["chunk_count"]) == ("bees", 4)
    became = {chunk["chunk_id"]: (chunk["role"], chunk["outcome"]) for chunk in document["chunks"]}
    assert became == {1: ("seed", "selected"), 3: ("seed", "dropped")}
    dropped = document["chunks"][1]
    assert dropped["reason"] == written["left_out"][0]["detail"]
    assert joined(dropped["pieces"]) == TEXTS[3]


def test_every_group_of_sentences_has_its_score_and_reasons_in_words() -> None:
    written = one(answer_of(make_world(), {1: 0.9}, window=1))
    pieces = [piece for chunk in written["documents"][0]["chunks"] for piece in chunk["pieces"]]
    assert {piece["group"] for piece in pieces if "group" in piece} == set(range(len(written["groups"])))
    assert all(group["why"][0].startswith("likely to hold evidence: ") for group in written["groups"])
    shown = {piece["group"] for piece in pieces if "number" in piece and "group" in piece}
    assert shown == {number for number, group in enumerate(written["groups"]) if group["selected"]}


def test_evidence_of_the_passages_is_what_the_scorer_expects_of_what_is_shown() -> None:
    answer = answer_of(make_world(), {1: 0.9}, window=1, effort="lean")
    written = one(answer)
    share = written["curve"][-1]["evidence"]
    units = answer.composition.trace.units
    assert sum(unit.expected or 0.0 for unit in units) == pytest.approx(1.0)
    assert share == pytest.approx(sum(unit.expected or 0.0 for unit in units if unit.selected))
    figures = written["figures"]
    assert figures["evidence_per_100_tokens"] == pytest.approx(100 * share / figures["tokens"])


def test_the_weighted_scorer_has_no_evidence_to_show() -> None:
    written = one(answer_of(make_world(), {1: 0.9}, scoring="weighted"))
    assert (written["groups"], written["curve"], written["figures"]["evidence_per_100_tokens"]) == ([], [], None)
    assert "made of: score of its best hit" in written["passages"][0]["why"][1]


def test_of_two_settings_each_shows_what_the_other_lacks() -> None:
    store = make_world()
    little, much = answer_of(store, {1: 0.9}, window=0), answer_of(store, {1: 0.9}, window=2, effort="full")
    first, second = write_view([little, much])["answers"]
    assert not any(piece.get("only") for piece in first["context"])
    assert {piece["text"] for piece in second["context"] if piece.get("only")} >= {TEXTS[2]}
    assert TEXTS[1] not in joined([piece for piece in second["context"] if piece.get("only")])


def test_two_settings_are_compared_without_offsets_too() -> None:
    bare = {key: Chunk(chunk.text, type(chunk.metadata)(*key)) for key, chunk in make_world().items()}
    little, much = answer_of(bare, {1: 0.9}, window=0), answer_of(bare, {1: 0.9}, window=2, effort="full")
    first, second = write_view([little, much])["answers"]
    assert not any(piece.get("only") for piece in first["context"])
    assert any(piece.get("only") for piece in second["context"])
    chunk = next(chunk for chunk in first["documents"][0]["chunks"] if chunk["chunk_id"] == 1)
    assert any(piece.get("number") == 1 for piece in chunk["pieces"])


def test_an_answer_without_hits_is_written() -> None:
    written = one(Answer(compose([], {}, query=QUESTION), RetrievalConfig(), {}))
    assert (written["documents"], written["passages"], written["curve"]) == ([], [], [])
    assert written["warnings"]


def test_long_documents_are_drawn_without_all_of_their_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "MAX_CHARACTERS", 60)
    monkeypatch.setattr(views, "MAX_CHUNKS", 3)
    monkeypatch.setattr(views, "MAX_GROUPS", 2)
    answer = answer_of(make_world(), {1: 0.9}, window=3, effort="full")
    written = one(answer)
    chunks = written["documents"][0]["chunks"]
    assert (len(chunks), written["omitted"]["chunks"]) == (3, 1)
    assert sum(len(joined(chunk["pieces"])) for chunk in chunks if chunk["pieces"]) <= 60
    assert any(chunk["pieces"] is None for chunk in chunks)
    assert len(written["groups"]) == 2


@pytest.mark.parametrize("behaviour", ["ignores scope", "gives everything"])
def test_what_a_scope_hides_is_not_drawn(behaviour: str) -> None:
    mine, theirs = make_world(scope="acme"), make_world(scope="other")
    store = OddStore({("bees", 1): mine["bees", 1], ("bees", 2): theirs["bees", 2]}, behaviour, None)
    config = RetrievalConfig(tokenizer="estimate", window=1)
    made = SpanComposer(config).compose(hits_of(mine, {1: 0.9}, "bees"), store, query=QUESTION, scope="acme")
    written = one(Answer(made, config, fetch_chunks(made, store, "acme")))
    assert [chunk["chunk_id"] for chunk in written["documents"][0]["chunks"] if chunk["pieces"]] == [1]
    assert TEXTS[2] not in json.dumps(written)


BENCH = Bench()


@try_examples(100)
@given(cases())
def test_nothing_is_lost_or_added_in_the_pieces(case: Case) -> None:
    composer, _ = BENCH(case.tokenizer)
    said = {"query": case.query, "query_embedding": case.query_embedding, "scope": case.scope, **case.options}
    made = composer.compose(case.hits, case.world.store, case.parent_store, **said)
    chunks = fetch_chunks(made, InMemoryChunkStore(case.world.store.values()), case.scope)
    written = one(Answer(made, composer.config, chunks))
    assert joined(written["context"]) == made.text
    for document in written["documents"]:
        for chunk in document["chunks"]:
            if chunk["pieces"] is not None:
                assert joined(chunk["pieces"]) == chunks[document["doc_id"], chunk["chunk_id"]].text


marks = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)).map(lambda pair: Mark(min(pair), max(pair), pair)))


@given(st.integers(0, 30), marks, marks)
def test_pieces_cover_a_text_once(length: int, first: list[Mark], second: list[Mark]) -> None:
    pieces = list(cut(length, first, second))
    assert [piece[0] for piece in pieces] == [0, *(piece[1] for piece in pieces)][: len(pieces)]
    assert (pieces[-1][1] if pieces else 0) == length
