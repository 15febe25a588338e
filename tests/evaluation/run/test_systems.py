from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex import RetrievalConfig, RetrivexError, SpanComposer
from retrivex.evaluation.questions.evidence import Question
from retrivex.evaluation.run import ORDERS, Index
from retrivex.evaluation.run.context import Case, Context, Order, arrange
from retrivex.evaluation.run.systems import COMPOSERS, load_system
from retrivex.tokens.tokenizer import get_tokenizer

TOKENIZER = get_tokenizer("cl100k_base")
BEES = " ".join(f"Bee number {n} lives in hive {n * 7 % 10}." for n in range(12))
ANTS = " ".join(f"Ant number {n} keeps {n} aphids." for n in range(12))
DOCUMENTS = {"bees": BEES, "ants": ANTS}
INDEX = Index(DOCUMENTS, size=12, tokenizer=TOKENIZER)


def case(question: str, hits: int = 10) -> Case:
    found = INDEX.hits([Question("q", question, ())], "bm25", hits)[0]
    return Case(question, found, INDEX, 500)


def context(name: str, given: Case, budget: int, order: str = "score_desc", seed: int = 0) -> Context:
    composer = load_system(name, {}, TOKENIZER)
    return arrange(
        composer.select(replace(given, budget=budget), Order(order, seed)), Order(order, seed), given.question
    )


def test_nearest_chunks_stand_best_first_with_blank_lines_between() -> None:
    given = case("Which hive does bee number 3 live in?", 3)
    made = context("knn", given, 500)
    assert made.text == "\n\n".join(hit.chunk.text.rstrip() for hit in given.hits)
    assert [span.score for span in made.spans] == [hit.similarity_score for hit in given.hits]


def test_a_chunk_that_does_not_fit_is_passed_over_and_the_first_is_cut() -> None:
    given = case("Which hive does bee number 3 live in?")
    first = TOKENIZER.count(given.hits[0].chunk.text)
    assert len(context("knn", given, 3 * first).spans) in (2, 3)
    cut = context("knn", given, first - 3)
    assert given.hits[0].chunk.text.startswith(cut.text)
    assert 0 < TOKENIZER.count(cut.text) <= first - 3
    assert context("knn", Case("?", [], INDEX, 100), 100).text == ""


def test_neighbours_come_once_and_as_the_documents_text() -> None:
    given = case("Which hive does bee number 3 live in?", 2)
    made = context("knn±1", given, 500)
    assert all(span.text in DOCUMENTS[span.doc_id] for span in made.spans)
    shown = [key for span in made.spans for key in span.chunk_ids]
    assert len(shown) == len(set(shown))
    for hit in given.hits:
        doc_id, at = hit.key
        assert {at, at + 1} <= {key for span in made.spans if span.doc_id == doc_id for key in span.chunk_ids}
    wider = context("knn±2", given, 500)
    assert sum(len(span.chunk_ids) for span in wider.spans) > len(shown)


@given(st.sampled_from(COMPOSERS), st.sampled_from(ORDERS), st.integers(1, 300), st.integers(0, 9))
def test_no_context_has_more_tokens_than_its_budget(name: str, order: str, budget: int, number: int) -> None:
    made = context(
        name, case(f"Where does bee number {number} live, and how many aphids has ant {number}?"), budget, order
    )
    assert TOKENIZER.count(made.text) <= budget


@given(st.sampled_from(COMPOSERS), st.integers(1, 300), st.integers(0, 9))
def test_every_citation_is_where_it_says(name: str, budget: int, number: int) -> None:
    made = context(name, case(f"Where does bee number {number} live?"), budget, "shuffle", number)
    assert made.spans == sorted(made.spans, key=lambda span: -span.score)
    for cited in made.citations:
        assert made.text[cited.start : cited.end] == DOCUMENTS[cited.doc_id][cited.char_start : cited.char_end]


def test_an_order_changes_the_text_and_not_the_choice() -> None:
    given = case("How many aphids has ant number 3, and where does bee 7 live?")
    first, last = (context("knn", given, 90, order) for order in ("score_desc", "back_first"))
    assert first.spans == last.spans
    assert first.text.split("\n\n") == last.text.split("\n\n")[::-1]
    shuffled = {context("knn", given, 90, "shuffle", seed).text for seed in range(5)}
    assert len(shuffled) > 1
    assert {"".join(sorted(text)) for text in shuffled} == {"".join(sorted(first.text))}


def test_the_composition_is_what_the_composer_itself_gives() -> None:
    given = case("How many aphids has ant number 3?")
    made = SpanComposer(RetrievalConfig(), tokenizer=TOKENIZER).compose(
        given.hits, given.store, query=given.question, token_budget=80
    )
    assert context("balanced", given, 80, "edge_balanced").text == made.text


def test_a_file_of_options_is_called_by_its_stem(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('preset = "published"\nwindow = 0\n')
    composer = load_system(str(tmp_path / "mine.toml"), {}, TOKENIZER)
    assert composer.name == "mine"
    assert composer.describe()["config"]["window"] == 0
    assert str(tmp_path) not in str(composer.describe())


def test_a_configuration_can_be_given(tmp_path: Path) -> None:
    mine = {"mine": RetrievalConfig(window=1, ordering_strategy="document")}
    composer = load_system("mine", mine, TOKENIZER)
    assert (composer.name, composer.own_order) == ("mine", "document")


def test_what_no_manifest_can_describe_is_refused() -> None:
    with pytest.raises(RetrivexError, match="sets boosts, which no manifest can describe"):
        load_system("mine", {"mine": RetrievalConfig(boosts=lambda chunk: 0.0)}, TOKENIZER)
    with pytest.raises(RetrivexError, match="composer is 'nix': it must be one of knn, knn±1"):
        load_system("nix", {}, TOKENIZER)
    with pytest.raises(RetrivexError, match="cannot be read"):
        load_system("nowhere.toml", {}, TOKENIZER)
    with pytest.raises(RetrivexError, match="order is 'custom': it must be one of"):
        Order("custom")
