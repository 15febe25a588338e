"""Bare texts are scored for a question by what stands in them, and not by where they stand."""

from __future__ import annotations

import random

import numpy as np
import pytest

from retrivex.composer.texts import LEAST, score_embedded, score_texts, text_composer
from retrivex.encoders.encoder import HashingEncoder
from retrivex.errors import EncoderError, RetrivexError
from retrivex.tokens.tokenizer import get_tokenizer

QUESTION = "Who lays eggs in the hive?"
TEXTS = ["Rain falls on hills.", "The queen lays all the eggs in the hive.", "A hive has wax.", "Wind and rain."]
COMPOSER = text_composer(tokenizer=get_tokenizer("estimate"))


def score(texts: list[str], question: str = QUESTION) -> list[float]:
    vectors = HashingEncoder().encode([question, *texts])
    made: list[float] = score_embedded(COMPOSER, question, texts, vectors).tolist()
    return made


def test_the_text_that_answers_is_the_best_and_what_says_nothing_the_last() -> None:
    made = score([*TEXTS, ""])
    assert int(np.argmax(made)) == 1
    assert made[1] > 0 > made[0]
    assert made[-1] == LEAST < min(made[:-1])
    assert score(["", ""]) == [LEAST, LEAST]


@pytest.mark.parametrize("question", [QUESTION, "Which text says what text 3 of day 2 says?", "What is 10 01 1?"])
def test_the_order_of_the_texts_says_nothing(question: str) -> None:
    texts = [*TEXTS, *(f"On that day, note {letter}." for letter in "abcdefgh")]
    expected = dict(zip(texts, score(texts, question), strict=True))
    shuffled = random.Random(5).sample(texts, len(texts))
    assert score(shuffled, question) == pytest.approx([expected[text] for text in shuffled], abs=1e-9)


def test_texts_that_are_the_same_score_the_same() -> None:
    first, second, other = score([TEXTS[1], TEXTS[1], TEXTS[0]])
    assert first == pytest.approx(second)
    assert first > other


def test_lengths_of_vectors_say_nothing() -> None:
    vectors = HashingEncoder().encode([QUESTION, *TEXTS])
    long = vectors * np.array([[5.0], [0.5], [2.0], [3.0], [7.0]])
    made = score_embedded(COMPOSER, QUESTION, TEXTS, long)
    assert made == pytest.approx(score_embedded(COMPOSER, QUESTION, TEXTS, vectors), abs=1e-4)


def test_embeddings_and_scores_count() -> None:
    question, texts = "glad?", ["first words", "other words"]
    near, far = np.array([1.0, 0.1]), np.array([0.1, 1.0])
    made = score_embedded(COMPOSER, question, texts, np.array([near, far, near]))
    assert made[1] > made[0]
    by_scores = score_texts(COMPOSER, question, texts, np.array([0.9, 0.1]))
    assert by_scores[0] > by_scores[1]


@pytest.mark.parametrize(
    "vectors", [np.ones((2, 3)), np.ones(5), np.full((5, 3), np.nan)], ids=["too few", "one row", "NaN"]
)
def test_an_encoder_that_fails_is_said_to(vectors: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    with pytest.raises(EncoderError, match="encode\\(\\) must return one row of finite numbers"):
        score_embedded(COMPOSER, QUESTION, TEXTS, vectors)


def test_a_question_without_anything_to_read_is_refused() -> None:
    with pytest.raises(RetrivexError, match="'\\?!': the encoder finds nothing to read"):
        score(TEXTS, "?!")
    with pytest.raises(RetrivexError, match="units are valued by the question"):
        score_texts(COMPOSER, "  ", TEXTS, np.zeros(4))
