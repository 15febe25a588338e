"""Cutting a text down to what fits, around its best sentence."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import try_examples
from support.strategies import bare, compose, count_words, hits_of, make_chunk, make_store, texts

from retrivex.rendering.trimming import trim

TEXT = "Bees sleep at night. Ants dig deep holes. Wasps sting people hard. Flies do not."


def fitting(text: str, words: int, question: str | None = None, within: tuple[int, int] | None = None) -> str | None:
    part = trim(text, lambda start, end: count_words(text[start:end]) <= words, question, within)
    return None if part is None else text[slice(*part)].strip()


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (99, TEXT),
        (8, "Bees sleep at night. Ants dig deep holes."),
        (7, "Bees sleep at night."),
        (4, "Bees sleep at night."),
        (3, "Bees sleep at"),
        (1, "Bees"),
        (0, None),
    ],
)
def test_whole_sentences_from_the_best_one_on(words: int, kept: str | None) -> None:
    assert fitting(TEXT, words) == kept


def test_the_question_chooses_the_best_sentence() -> None:
    assert fitting(TEXT, 4, "Do wasps sting?") == "Wasps sting people hard."
    assert fitting(TEXT, 8, "Do wasps sting?") == "Wasps sting people hard. Flies do not."
    assert fitting(TEXT, 3, "Do wasps sting?") == "Wasps sting people"


def test_within_limits_where_the_best_sentence_is_looked_for() -> None:
    at = TEXT.index("Ants")
    assert fitting(TEXT, 4, within=(at, at + 10)) == "Ants dig deep holes."


@pytest.mark.parametrize("text", ["👩‍🚀👩‍🚀👩‍🚀", "e\u0301e\u0301e\u0301", "👍🏽👍🏽👍🏽", "蜜蜂住在蜂巢里"])
@pytest.mark.parametrize("size", range(8))
def test_no_letter_is_parted_from_its_accents(text: str, size: int) -> None:
    part = trim(text, lambda start, end: end - start <= size)
    if part is not None:
        after = text[part[1] :]
        assert not (after and (unicodedata.combining(after[0]) or after[0] in "\u200d\ufe0f🏽"))
        assert not text[: part[1]].endswith("\u200d")


@try_examples(500)
@given(texts, st.integers(0, 60), st.sampled_from([None, "honey bees"]))
def test_what_is_kept_fits_and_is_not_empty(text: str, size: int, question: str | None) -> None:
    part = trim(text, lambda start, end: end - start <= size, question)
    if part is None:
        assert size == 0 or not text.strip() or any(len(word) > size for word in text.split())
    else:
        assert 0 <= part[0] < part[1] <= len(text)
        assert part[1] - part[0] <= size or (part[1] - part[0]) == 0


def test_a_small_budget_shows_the_part_that_answers() -> None:
    store = bare("d", [TEXT])
    made = compose(hits_of(store, {0: 1.0}), store, query="Do wasps sting?", token_budget=5)
    assert made.text.split() == ["[1]", "Wasps", "sting", "people", "hard."]
    assert any("was cut to fit token_budget=5" in warning for warning in made.warnings)
    (part,) = made.dropped
    assert part.reason == "budget"
    assert 0 < part.shown < 1


def test_offsets_of_a_trimmed_span_are_exact() -> None:
    source = "x" * 7 + TEXT
    chunk = make_chunk("d", 0, TEXT, 7)
    (span,) = compose([*hits_of(make_store(chunk), {0: 1.0})], {}, query="wasps sting", token_budget=5).spans
    assert span.exact
    assert source[span.char_start : span.char_end] == span.text


def test_budget_0_gives_an_empty_context_and_says_why() -> None:
    store = bare("d", [TEXT])
    made = compose(hits_of(store, {0: 1.0}), store, token_budget=0)
    assert (made.text, made.spans, made.tokens) == ("", (), 0)
    assert [hit.reason for hit in made.dropped] == ["budget"]
    assert any("token_budget=0" in warning for warning in made.warnings)
