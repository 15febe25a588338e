"""Where words begin, against a plain walk along the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import texts

from retrivex.merging.offsets import OffsetIndex
from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.run import stitch
from retrivex.scoring.term_index import TermIndexer
from retrivex.text.terms import TermIndex, index_words, is_unspaced, split_words
from retrivex.text.words import is_letter, read, read_text

LETTERS = st.text(st.sampled_from("abeinst\u00e9\u0436\u00df\ufb01 .-_\n9\u871c\U00010400"), max_size=60) | st.lists(
    st.sampled_from(["in", "-\n", "t", "-", "\n", " ", "b"]), max_size=30
).map("".join)


def placed(pool: TermIndex, word: str) -> list[int]:
    """Places of a word."""
    return [int(place) for place in pool.find([(word, True)])[1]]


def walked(text: str) -> list[tuple[int, str]]:
    """Words of a text with their places, character by character; those of scripts without spaces are none."""
    found: list[tuple[int, str]] = []
    inside = False
    for at, character in enumerate(text):
        here = is_letter(character) and not is_unspaced(character)
        if here and inside:
            found[-1] = (found[-1][0], found[-1][1] + character)
        elif here:
            found.append((at, character))
        inside = here
    return found


def walked_from(stretches: list[str]) -> list[tuple[int, str]]:
    """Words as they are read, with their places in the source."""
    found, base = [], 0
    for text in stretches:
        made = read(text)
        found += [(base + (at if made.offsets is None else int(made.offsets[at])), w) for at, w in walked(made.text)]
        base += len(text) + 2
    return found


@given(st.lists(LETTERS | texts, min_size=1, max_size=4), st.sampled_from("abeinst\u00e9\u0436"), st.integers(1, 12))
def test_words_are_those_of_a_plain_walk(stretches: list[str], letter: str, size: int) -> None:
    pool = TermIndex.of(stretches)
    assert pool.text == "\n\n".join(map(read_text, stretches))
    words = walked_from(stretches)
    assert pool.places().tolist() == [at for at, _ in words]
    terms = [(term, False) for term in sorted({letter, *(word[:size] for _, word in words)})]
    terms += [(term, True) for term, _ in terms if len(term) <= 5]
    for some in (terms, [(term, whole) for term, whole in terms if whole or len(term) > 1]):
        assert list(zip(*[found.tolist() for found in pool.find(some)], strict=True)) == expected(words, some)


def expected(words: list[tuple[int, str]], terms: list[tuple[str, bool]]) -> list[tuple[int, int]]:
    """Number of a term and place of a word, once for each word that is, or begins with, each term."""
    found = [
        (number, at)
        for number, (term, whole) in enumerate(terms)
        for at, word in words
        if (word == term if whole else word.startswith(term))
    ]
    return list(dict.fromkeys(found))


@given(st.lists(LETTERS, max_size=4))
def test_texts_are_indexed_together_as_each_by_itself(stretches: list[str]) -> None:
    for together, text in zip(index_words(stretches), stretches, strict=True):
        (alone,) = index_words([text])
        assert together[:-1] == alone[:-1]
        assert together.reading.text == alone.reading.text


def test_a_word_in_latin_letters_ends_where_chinese_begins() -> None:
    assert placed(TermIndex.of(["\u4f7f\u7528python\u7f16\u7a0b"]), "python") == [2]


@given(st.text(st.sampled_from("abz.\n\u00e9\u871c"), max_size=80), st.text("abz\u00e9", min_size=1, max_size=2))
def test_letters_are_counted_as_text_counts_them(text: str, letters: str) -> None:
    low, letters = read_text(text), read_text(letters)
    assert TermIndex.of([text, text]).count(letters) == f"{low}\n\n{low}".count(letters)


@pytest.mark.parametrize(("left", "right"), [("two wo", "rds here"), ("two ", "words here"), ("two", " words here")])
def test_a_word_cut_by_a_chunks_end_is_one_word(left: str, right: str) -> None:
    chunks = [
        Chunk(left, ChunkMetadata("a", 0, 0, len(left))),
        Chunk(right, ChunkMetadata("a", 1, len(left), len(left + right))),
    ]
    runs = stitch(chunks, 0).runs
    index = TermIndexer()
    for _ in range(2):  # with fresh and with remembered texts
        pool = index.pool(OffsetIndex(runs))
        assert pool.places().tolist() == [at for at, _ in walked(left + right)]
        assert placed(pool, "words") == [4]


def test_words_behind_an_overlap_are_found_though_the_chunk_before_ends_in_a_word() -> None:
    chunks = [Chunk("two wor", ChunkMetadata("a", 0, 0, 7)), Chunk("o words here", ChunkMetadata("a", 1, 2, 14))]
    pool = TermIndexer().pool(OffsetIndex(stitch(chunks, 0).runs))
    assert pool.places().tolist() == [0, 4, 10]
    assert [placed(pool, word) for word in ("two", "words", "here")] == [[0], [4], [10]]


@given(LETTERS.filter(bool), st.lists(st.tuples(st.integers(1, 14), st.integers(0, 13)), min_size=1, max_size=8))
def test_words_of_overlapping_chunks_are_those_of_their_text(text: str, cuts: list[tuple[int, int]]) -> None:
    chunks, end = [], 0
    for size, overlap in cuts:
        start = max(0, end - overlap)
        if part := text[start : start + size]:
            chunks.append(Chunk(part, ChunkMetadata("a", len(chunks), start, start + len(part))))
            end = max(end, start + len(part))
    runs = stitch(chunks, 0).runs
    pool = TermIndexer().pool(OffsetIndex(runs))
    whole = TermIndex.of([run.text for run in runs])
    assert pool.places().tolist() == whole.places().tolist()
    terms = [(word[:8], True) for run in runs for _, word in walked(read_text(run.text))]
    assert [found.tolist() for found in pool.find(terms)] == [found.tolist() for found in whole.find(terms)]
    assert (pool.text, pool.count("a")) == (whole.text, whole.count("a"))


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_text_in_ascii_is_split_as_any_other(text: str) -> None:
    assert split_words(text) == split_words(text + " \u00b7") == [(word, False) for _, word in walked(text)]
