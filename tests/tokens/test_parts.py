from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import tiktoken
from hypothesis import example, given
from hypothesis import strategies as st
from support.operations import growth

from retrivex.tokens.cache import TokenCache
from retrivex.tokens.tokenizer import CallableTokenizer, TiktokenTokenizer

ENCODINGS = ("cl100k_base", "o200k_base")
BLANKS = (*" \n\t\xa0\u3000\u2028\x85\x1c\x0b\0", "  ", "   ", "\n\n", "\n\n\n", "\r\n")
SIGNS = (*".!-\"'(/\\$", "...", "'s", "'LL", "\u0301", "\u200d", "👍", "\ud83d", "\ude00", "<|endoftext|>")
LETTERS = ("a", "B", "word", "The", "é", "中文", "の", "1", "3456", "e\u0301", "ſ", "Ⅷ", "½", "ǅ", "ʰ", "x" * 50)
PIECES = (*BLANKS, *SIGNS, *LETTERS)
texts = st.one_of(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=40).map("".join),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=40).map(" ".join),
    st.text(min_size=1, max_size=60),
)


@pytest.fixture(scope="module", params=ENCODINGS)
def tokenizer(request: pytest.FixtureRequest) -> TiktokenTokenizer:
    return TiktokenTokenizer(str(request.param))


@given(texts, st.data())
@example("One. Two three.  Four.\nFive.\n\nSix. ", None)
@example("a\n\nb c", None)
@example("a path\n/usr", None)
def test_parts_count_as_they_do_alone(tokenizer: TiktokenTokenizer, text: str, data: Any) -> None:
    inner = list(range(1, len(text)))
    cuts = inner if data is None or not inner else data.draw(st.lists(st.sampled_from(inner), unique=True))
    ends = [*sorted(cuts), len(text)]
    read = tokenizer.read(text)
    if read is not None:
        assert read.tokens == tokenizer.count(text)
        assert read.parts(ends) == [tokenizer.count(text[low:high]) for low, high in pairwise([0, *ends])]


def test_sentences_are_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Bees sleep. They rest.  Ants work.\nSo it is — always.\n\nÉté comes. "
    ends = [at for at in range(1, len(text)) if text[at - 1] in " \n" and text[at].isupper()]
    fresh = TiktokenTokenizer(tiktoken.get_encoding("cl100k_base"))
    first = fresh.read(text)
    assert first is not None
    expected = first.parts([*ends, len(text)])  # the first words are known now
    asked: list[str] = []
    monkeypatch.setattr(
        fresh._parts, "_encode", lambda part: asked.append(part) or fresh._encoding.encode_ordinary(part)
    )
    read = fresh.read(text)
    assert read is not None
    assert read.parts([*ends, len(text)]) == expected
    assert asked == [text]


def test_half_a_character_is_not_encoded(tokenizer: TiktokenTokenizer) -> None:
    assert tokenizer.read("half \ud83d") is None


def test_a_text_that_was_read_is_known(tokenizer: TiktokenTokenizer) -> None:
    cache = TokenCache(tokenizer)
    assert cache.read("Bees sleep.") is not None
    assert cache.knows("Bees sleep.")


def test_other_tokenizers_read_nothing() -> None:
    assert TokenCache(CallableTokenizer(len, name="characters")).read("Bees sleep.") is None


def test_parts_of_a_long_text_take_work_by_its_length(tokenizer: TiktokenTokenizer) -> None:
    def count(size: int) -> None:
        read = tokenizer.read("Bées sleep.\n" * size)
        assert read is not None
        read.parts(range(12, 12 * size + 1, 12))

    assert growth(count, 500) < 5
