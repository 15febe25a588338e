from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.similarity.trigrams import SKETCH_BITS, jaccard, trigram_batches, trigram_jaccard, trigrams

TEXTS = st.one_of(st.text(max_size=30), st.text("ab", max_size=30), st.text("a漢😀\ud800", max_size=30))


def spelled_out(text: str) -> set[str]:
    return {text[at : at + 3] for at in range(len(text) - 2)}


@given(TEXTS, TEXTS)
def test_similarity_is_that_of_the_sets_spelled_out(left: str, right: str) -> None:
    x, y = spelled_out(left), spelled_out(right)
    expected = 1.0 if left == right else len(x & y) / len(x | y) if x | y else 0.0
    assert trigram_jaccard(left, right) == trigram_jaccard(right, left) == expected


@given(TEXTS)
def test_as_many_trigrams_as_there_are_distinct_ones(text: str) -> None:
    found = trigrams(text)
    assert len(found) == len(spelled_out(text))
    assert (np.diff(found) > 0).all()


def test_other_characters_are_other_trigrams_in_any_script() -> None:
    assert trigram_jaccard("漢字仮", "漢字名") == 0
    assert trigram_jaccard("😀😀😀", "😁😁😁") == 0


def test_the_example_of_rag_chunk_reorder() -> None:
    # its README gives "~0.6" for these two; its code, like ours, 10 common of 16
    assert trigram_jaccard("hello world foo", "hello world bar") == 10 / 16


@given(st.lists(TEXTS, max_size=12))
def test_batches_hold_every_text_with_trigrams_once_with_its_size(texts: list[str]) -> None:
    sizes = {
        number: size
        for batch in trigram_batches(texts)
        for number, size in zip(batch.texts.tolist(), batch.sizes.tolist(), strict=True)
    }
    assert sizes == {i: len(spelled_out(text)) for i, text in enumerate(texts) if len(text) > 2}


@given(st.lists(TEXTS.filter(lambda text: len(text) > 2), min_size=2, max_size=6))
def test_sketches_differ_in_no_more_bits_than_the_sets_in_trigrams(texts: list[str]) -> None:
    sketches: dict[int, Any] = {}
    for batch in trigram_batches(texts):
        rows = batch.parity()
        assert rows.shape == (len(batch.texts), SKETCH_BITS // 64)
        sketches.update(zip(batch.texts.tolist(), rows, strict=True))
    for i, left in enumerate(texts):
        for j, right in enumerate(texts):
            apart = int(np.bitwise_count(sketches[i] ^ sketches[j]).sum())
            assert apart <= len(spelled_out(left) ^ spelled_out(right))


def test_texts_are_read_in_several_batches() -> None:
    texts = ["x" * 3 + str(number) * 60_000 for number in range(10)]
    assert len(list(trigram_batches(texts))) > 1


def test_two_empty_sets_have_nothing_in_common() -> None:
    assert jaccard(trigrams(""), trigrams("ab")) == pytest.approx(0)
