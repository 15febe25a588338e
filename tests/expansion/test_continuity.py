"""How well one chunk goes on from the one before it."""

from __future__ import annotations

import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import embeddings, make_chunk, texts

from retrivex.expansion.continuity import SharedWords, neighbour_continuity
from retrivex.text import word_overlap
from retrivex.text.word_overlap import SignatureCache, common_words, word_signature


def flow(left: Any, right: Any, texts: tuple[str, str] = ("Honey bees sleep.", "Rust hurts.")) -> tuple[float, bool]:
    chunks = [make_chunk("d", 0, texts[0], embedding=left), make_chunk("d", 1, texts[1], embedding=right)]
    (made,), _ = neighbour_continuity(chunks, SignatureCache())
    return round(made.value, 6), made.lexical


def test_with_embeddings_it_is_their_cosine() -> None:
    assert flow([3.0, 4.0], [4.0, 3.0]) == (0.96, False)  # (3*4 + 4*3) / (5 * 5)
    assert flow(np.array([1.0, 0.0], dtype=np.float32), [-2.0, 0.0]) == (-1.0, False)


@pytest.mark.parametrize(
    ("left", "right"),
    [(None, [1.0]), ([0.0, 0.0], [1.0, 0.0]), ([float("nan"), 1.0], [1.0, 0.0]), ([1.0], [1.0, 0.0]), ([], [])],
)
def test_without_comparable_embeddings_it_is_common_words(left: Any, right: Any) -> None:
    assert flow(left, right) == (0.0, True)
    assert flow(left, right, ("Honey bees sleep.", "Honey feeds bees.")) == (round(2 / 3, 6), True)


def test_embeddings_of_several_sizes_are_reported() -> None:
    chunks = [make_chunk("d", i, "text", embedding=[1.0] * size) for i, size in enumerate((2, 3))]
    assert neighbour_continuity(chunks, SignatureCache())[1] is True


def test_chinese_is_compared_by_character_pairs() -> None:
    assert common_words(word_signature("蜜蜂住在蜂巢里"), word_signature("蜜蜂住在树上")) == pytest.approx(3 / 5)


@given(st.lists(st.tuples(texts, embeddings), min_size=2, max_size=5))
def test_it_is_the_same_for_a_row_and_for_each_pair(parts: list[tuple[str, Any]]) -> None:
    chunks = [make_chunk("d", i, text, embedding=vector) for i, (text, vector) in enumerate(parts)]
    row, _ = neighbour_continuity(chunks, SignatureCache())
    for left, right, made in zip(chunks, chunks[1:], row, strict=False):
        (alone,), _ = neighbour_continuity([left, right], SignatureCache())
        assert made.lexical == alone.lexical
        assert made.value == pytest.approx(alone.value)
        assert -1.0 - 1e-9 <= made.value <= 1.0 + 1e-9


@given(texts)
def test_a_text_has_all_words_in_common_with_itself(text: str) -> None:
    signature = word_signature(text)
    assert common_words(signature, signature) == (1.0 if signature else 0.0)


@pytest.mark.parametrize("odd", [np.ones((1, 3)), 0.5, ["a", "b", "c"], "abc", [10**400, 0, 0]], ids=repr)
@pytest.mark.parametrize("others", [[1.0, 0.0, 0.0], None])
def test_an_embedding_that_is_no_row_of_numbers_is_reported_and_words_are_compared(odd: Any, others: Any) -> None:
    vectors = (odd, others, odd)
    chunks = [make_chunk("d", i, "Honey bees sleep.", embedding=vector) for i, vector in enumerate(vectors)]
    made, mixed = neighbour_continuity(chunks, SignatureCache())
    assert made == [(1.0, True), (1.0, True)]
    assert mixed


def test_what_is_remembered_of_texts_is_bounded_and_what_is_in_use_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(word_overlap, "word_signature", lambda text: read.append(text) or word_signature(text))
    cache = SignatureCache(max_entries=4)
    for other in "abcdefgh":
        assert cache.of("honey") == word_signature("honey")
        cache.of(other * 5)
    assert read.count("honey") == 1
    assert cache.of("aaaaa") == word_signature("aaaaa")
    assert read.count("aaaaa") == 2


def test_what_is_remembered_of_pairs_is_bounded_and_what_is_in_use_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[int, int]] = []
    monkeypatch.setattr(word_overlap, "common_words", lambda a, b: compared.append((a, b)) or common_words(a, b))
    cache = SignatureCache(max_entries=4)
    for other in "abcdefgh":
        assert cache.between("honey bees", "bees sleep") == 0.5
        cache.between("honey bees", other * 5)
    pairs = [(word_signature("honey bees"), word_signature(text)) for text in ("bees sleep", "aaaaa")]
    assert [compared.count(pair) for pair in pairs] == [1, 1]
    cache.between("honey bees", "aaaaa")
    assert compared.count(pairs[1]) == 2


@given(st.lists(texts, max_size=6))
def test_words_that_are_compared_when_asked_for_are_those_of_neighbours(row: list[str]) -> None:
    chunks = [make_chunk("d", at, text) for at, text in enumerate(row)]
    lazy = SharedWords([chunk.key for chunk in chunks], row, SignatureCache())
    made = dict(
        zip([chunk.key for chunk in chunks[1:]], neighbour_continuity(chunks, SignatureCache())[0], strict=True)
    )
    assert dict(lazy) == made
    assert len(lazy) == len(made)
    assert ("d", 0) not in lazy
    assert lazy.get(("d", 99)) is None
    assert pickle.loads(pickle.dumps(lazy)) == made


def test_words_are_only_read_of_neighbours_that_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(word_overlap, "word_signature", lambda text: read.append(text) or word_signature(text))
    lazy = SharedWords([("d", 0), ("d", 1), ("d", 2)], ["honey bees", "bees sleep", "ants"], SignatureCache())
    assert list(lazy) == [("d", 1), ("d", 2)]
    assert not read
    assert lazy["d", 1].value == 0.5
    assert read == ["honey bees", "bees sleep"]


def test_what_is_compared_later_keeps_no_cache_alive() -> None:
    signatures = SignatureCache()
    lazy, gone = SharedWords([("d", 0), ("d", 1)], ["honey bees", "bees sleep"], signatures), weakref.ref(signatures)
    expected = lazy["d", 1]
    del signatures
    gc.collect()
    assert gone() is None
    assert lazy["d", 1] == expected
