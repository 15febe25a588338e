"""Words of a question in the candidates: whose language it is does not matter."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import texts

from retrivex.scoring.bm25 import K1, MAX_TERMS, B, FoundTerms, bm25, inverse_frequency, question_terms, term_counts
from retrivex.text.terms import TermIndex


def counted(question: str, *stretches: str) -> list[list[int]]:
    """How often each word stands in each stretch; words that stand in none, or everywhere, have no row."""
    starts = np.cumsum([0, *(len(stretch) + 2 for stretch in stretches[:-1])])
    return [
        [int(count) for count in row]
        for row in term_counts(FoundTerms.of(question, TermIndex.of(stretches)), starts).counts
    ]


def test_a_question_is_read_as_texts_are() -> None:
    assert counted("izmir? äpfel?", "ÄPFEL aus İzmir", "Birnen") == [[1, 0], [1, 0]]
    assert counted("strasse?", "Die Straße", "Birnen") == [[1, 0]]


def test_words_are_looked_for_by_their_stems() -> None:
    assert counted("treated", "the treatment", "entreated", "nothing") == [[1, 0, 0]]
    assert counted("the bee", "a bee", "bees", "beehive") == [[1, 0, 0]]
    assert counted("Königinnen", "Die Königin legt Eier", "Könige", "König") == [[1, 0, 0]]


def test_numbers_are_looked_for_whole() -> None:
    assert counted("SKU0070", "SKU0069 and SKU0070", "SKU0071", "sku00700") == [[1, 0, 0]]
    assert counted("20240312", "on 20240312", "on 20240399", "2024") == [[1, 0, 0]]


def test_a_word_begins_where_a_word_begins() -> None:
    assert counted("art", "art", "part", "arts", "the art.") == [[1, 0, 0, 1]]


def test_chinese_is_matched_by_pairs_of_characters() -> None:
    assert question_terms("蜜蜂睡觉") == (("蜜蜂", False), ("蜂睡", False), ("睡觉", False))
    assert question_terms("蜂") == (("蜂", False),)
    assert counted("蜜蜂睡觉", "蜜蜂住在蜂巢里。", "人睡觉。", "冬天") == [[1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize(
    ("question", "text"),
    [("ミツバチ", "ミツバチは蜜を集める。"), ("ผึ้ง", "ผึ้งทำน้ำผึ้ง"), ("벌집은", "벌집은 크다"), ("Привет?", "привет мир"),
     ("été", "L'Été dernier"), ("שלום", "שלום עולם"), ("मधुमक्खी", "मधुमक्खी उड़ती है")],
)  # fmt: skip
def test_every_script_is_found(question: str, text: str) -> None:
    found = counted(question, text, "nothing of it", "and here neither")
    assert found
    assert all(row[0] > 0 and row[1:] == [0, 0] for row in found)


def test_mixed_scripts_and_numbers() -> None:
    terms = [term for term, _ in question_terms("GPT-4 在2026年")]
    assert terms[:2] == ["gpt", "4"]
    assert "2026" in terms


@given(texts)
def test_terms_are_distinct_and_not_too_many(question: str) -> None:
    terms = [term for term, _ in question_terms(question * 30)]
    assert len(terms) == len(set(terms)) <= MAX_TERMS
    assert all(re.fullmatch(r"[^\W_]+", term) for term in terms if term.isascii())


@given(texts, st.lists(texts, min_size=1, max_size=5))
def test_counts_are_of_every_stretch(question: str, stretches: list[str]) -> None:
    for row in counted(question, *stretches):
        assert len(row) == len(stretches)
        assert sum(row) > 0


def test_no_words_in_common() -> None:
    pool = TermIndex.of(["bees live in hives"])
    nowhere, nothing = (term_counts(FoundTerms.of(question, pool), np.array([0])) for question in ("xylophone?", "?!"))
    assert (nowhere.counts.shape, nowhere.coverage) == ((0, 1), 0.0)
    assert (nothing.counts.shape, nothing.coverage) == ((0, 1), 0.0)


def test_letters_that_stand_everywhere_say_nothing() -> None:
    assert counted("an apple", *["banana bandana cabana"] * 40, "an apple a day") == [[0] * 40 + [1]]
    assert counted("an apple", *["we buy fruit", "they sell it"] * 20, "an apple a day") == [[0] * 40 + [1]] * 2


def slow_bm25(documents: list[list[str]], words: list[str]) -> list[float]:
    """The formula as it is printed, one word and document at a time."""
    mean = sum(map(len, documents)) / len(documents)
    scores = []
    for document in documents:
        score = 0.0
        for word in words:
            holding = sum(word in other for other in documents)
            idf = math.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
            count = document.count(word)
            score += idf * count * (K1 + 1) / (count + K1 * (1 - B + B * len(document) / mean))
        scores.append(score)
    return scores


@given(st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=12), min_size=1, max_size=8))
def test_bm25_is_the_formula(documents: list[list[str]]) -> None:
    words = ["a", "b", "f"]
    counts = np.array([[document.count(word) for document in documents] for word in words], dtype=float)
    lengths = np.array([len(document) for document in documents], dtype=float)
    made = bm25(counts, lengths, inverse_frequency(counts))
    assert made == pytest.approx(slow_bm25(documents, words))
    assert (made >= 0).all()


@pytest.mark.parametrize(
    ("question", "coverage"),
    [
        ("bees hives", 1.0),
        ("bees xylophone", 4 / 10),  # looked for as "xyloph": a word weighs as many as it has letters
        ("beekeeper zebra", 6 / 11),  # looked for as "beekee"
        ("beekeeper pollination unknowable", 14 / 21),
        ("xylophone", 0.0),
        ("?!", 0.0),
        ("улья zebra", 8 / 13),  # two bytes a letter
        ("蜜蜂吃什么", 1.0),  # pairs across words are no words, and never missing
        ("老虎吃什么", 0.0),
        ("bees 老虎", 1.0),
        ("zebra 蜜蜂", 6 / 11),
    ],
)
def test_how_many_of_a_question_s_words_occur_anywhere(question: str, coverage: float) -> None:
    pool = TermIndex.of(["bees live in hives; beekeepers, pollination, inheritance, улья", "蜜蜂住在蜂箱里"])
    assert term_counts(FoundTerms.of(question, pool), np.array([0, 60])).coverage == pytest.approx(coverage)


def test_words_that_occur_everywhere_are_covered() -> None:
    stretches = ["The queen of a hive sleeps. "] * 60
    starts = np.arange(60) * len(stretches[0])
    found = term_counts(FoundTerms.of("queen hive sleeps", TermIndex.of(stretches)), starts)
    assert (len(found.counts), found.coverage) == (0, 1.0)
    assert found.all.sum() == 3 * len(stretches)
