from __future__ import annotations

from itertools import pairwise

import pytest
import tiktoken
from hypothesis import example, given
from hypothesis import strategies as st
from support.processor_time import growth

from retrivex.tokens import words
from retrivex.tokens.cache import TokenCache
from retrivex.tokens.tokenizer import TiktokenTokenizer
from retrivex.tokens.words import WordCounter

ENCODINGS = ("cl100k_base", "o200k_base")
BLANKS = (*" \n\t\xa0\u3000\u2028\x85\x1c\x0b\0", "  ", "   ", "\n\n", "\n\n\n", "\r\n")
SIGNS = (*".!-\"'(/\\$", "...", "'s", "'LL", "\u0301", "\u200d", "👍", "\ud83d", "\ude00", "<|endoftext|>")
LETTERS = ("a", "B", "word", "The", "é", "中文", "の", "1", "3456", "e\u0301", "ſ", "Ⅷ", "½", "ǅ", "ʰ", "x" * 50)
PIECES = (*BLANKS, *SIGNS, *LETTERS)
texts = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join),
    st.text(max_size=60),
)


@pytest.fixture(scope="module", params=ENCODINGS)
def tokenizer(request: pytest.FixtureRequest) -> TiktokenTokenizer:
    return TiktokenTokenizer(str(request.param))


def direct(tokenizer: TiktokenTokenizer, text: str) -> int:
    return len(tiktoken.get_encoding(tokenizer.name).encode_ordinary(text))


@given(texts)
@example("two  spaces, and a\n\nline. ")
@example("a path\n/usr")
@example("a\n\n\nb c")
def test_words_count_as_the_text_does(tokenizer: TiktokenTokenizer, text: str) -> None:
    assert tokenizer.count(text) == direct(tokenizer, text)
    assert tokenizer.count(text) == direct(tokenizer, text)  # by words that are known


@given(texts.filter(bool), st.lists(st.integers(1, 80), max_size=6))
@example("One. Two three. Four.\nFive.\n\nSix. ", [5, 16, 22, 29])
@example("a\n\nb c", [2, 3])
def test_parts_count_as_they_do_alone(tokenizer: TiktokenTokenizer, text: str, cuts: list[int]) -> None:
    read = tokenizer.read(text)
    ends = sorted({*(cut for cut in cuts if cut < len(text)), len(text)})
    if read is not None:
        assert read.tokens == direct(tokenizer, text)
        assert read.parts(ends) == [direct(tokenizer, text[low:high]) for low, high in pairwise([0, *ends])]


def test_plain_sentences_are_read_by_their_words(tokenizer: TiktokenTokenizer) -> None:
    assert tokenizer.read("Bees sleep in the hive. They rest.\n\nAnts work. ") is not None


def test_a_word_is_counted_once() -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return len(text.split())

    counter = WordCounter(count)
    assert [counter.count("Bees sleep and bees rest"), counter.count("Ants rest and bees sleep")] == [5, 5]
    assert asked == ["Bees", " sleep", " and", " bees", " rest", "Ants"]


def test_words_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "MAX_WORDS", 20)
    counter = WordCounter(lambda text: len(text.split()))
    for number in range(100):
        assert counter.count(f"a{number} b{number} c{number}") == 3
    assert len(counter) <= 20


def test_texts_of_words_that_nobody_knows_are_counted_as_a_whole() -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return len(text.split())

    text = " ".join(f"x{number}" for number in range(2000))
    assert WordCounter(count).count(text) == 2000
    assert asked.count(text) == 1
    assert len(asked) < 100


def test_a_text_that_was_read_is_known(tokenizer: TiktokenTokenizer) -> None:
    cache = TokenCache(tokenizer)
    assert cache.read("Bees sleep.") is not None
    assert cache.knows("Bees sleep.")


def test_parts_of_a_long_text_take_time_by_its_length(tokenizer: TiktokenTokenizer) -> None:
    def count(size: int) -> None:
        read = tokenizer.read("Bees sleep.\n" * size)
        assert read is not None
        read.parts(range(12, 12 * size + 1, 12))

    assert growth(count, 2000) < 8
