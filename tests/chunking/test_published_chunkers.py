"""`retrivex.utils`: the published names and signatures, without the published faults."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.errors import ChunkError
from retrivex.model.chunk import Chunk
from retrivex.utils import SentenceChunker, SimpleChunker

TEXT = "A sentence of the text that is cut. " * 200


def assert_covers(text: str, chunks: list[Chunk]) -> None:
    covered = 0
    for number, chunk in enumerate(chunks):
        made = chunk.metadata
        assert text[made.char_start : made.char_end] == chunk.text == chunk.text.lstrip() != ""
        assert made.char_start <= covered if number else not text[: made.char_start].strip()
        assert (made.chunk_id, made.chunk_count) == (number, len(chunks))
        covered = max(covered, made.char_end)
    assert not text[covered:].strip()
    starts = {chunk.metadata.char_start for chunk in chunks}
    assert all(chunk.text == chunk.text.rstrip() or chunk.metadata.char_end in starts for chunk in chunks)


ANY_TEXT = st.one_of(st.text(max_size=200), st.text("ab. !\n?。", max_size=400))


@given(ANY_TEXT, st.integers(1, 30), st.integers(0, 29), st.integers(1, 5))
def test_simple_chunks_cover_the_text(text: str, size: int, overlap: int, chars_per_token: int) -> None:
    chunker = SimpleChunker(size, min(overlap, size - 1), chars_per_token)
    chunks = chunker.chunk_text(text, "d")
    assert_covers(text, chunks)
    assert all(len(chunk.text.rstrip()) <= size * chars_per_token for chunk in chunks)


@given(ANY_TEXT, st.integers(1, 5), st.integers(0, 4))
def test_sentence_chunks_cover_the_text(text: str, size: int, overlap: int) -> None:
    assert_covers(text, SentenceChunker(size, min(overlap, size - 1)).chunk_text(text, "d"))


def test_published_arguments_and_attributes() -> None:
    simple = SimpleChunker()
    assert (simple.chunk_size, simple.overlap, simple.chars_per_token) == (200, 50, 4)
    assert (simple.chunk_chars, simple.overlap_chars) == (800, 200)
    sentence = SentenceChunker()
    assert (sentence.sentences_per_chunk, sentence.overlap_sentences) == (3, 1)
    for chunker in (simple, sentence):
        chunk = chunker.chunk_text(TEXT, "d", "section", ["Bees", "Food"])[0]
        assert (chunk.metadata.doc_id, chunk.metadata.parent_id) == ("d", "section")
        assert chunk.metadata.heading_path == ["Bees", "Food"]
        named = chunker.chunk_text(text=TEXT, doc_id="d", parent_id="section", heading_path=["Bees", "Food"])
        assert named[0] == chunk


def test_simple_chunks_end_after_a_sentence_or_a_word() -> None:
    assert all(chunk.text.endswith("cut.") for chunk in SimpleChunker().chunk_text(TEXT, "d"))
    unstopped = SimpleChunker(10, 0).chunk_text("word " * 100, "d")
    assert {word for chunk in unstopped for word in chunk.text.split()} == {"word"}


def test_simple_chunks_overlap_by_what_was_asked() -> None:
    first, second = SimpleChunker().chunk_text(TEXT, "d")[:2]
    assert 190 <= first.metadata.char_end - second.metadata.char_start <= 200


def test_a_small_chunk_with_a_large_overlap_gets_to_the_end() -> None:
    chunks = SimpleChunker(5, 4).chunk_text("One two. Three four five. " * 20, "d")
    assert chunks[-1].text.endswith("five.")


def test_sentences_are_windows() -> None:
    chunks = SentenceChunker().chunk_text("One. Two! Three? Four. Five.", "d")
    assert [chunk.text for chunk in chunks] == ["One. Two! Three?", "Three? Four. Five."]


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_no_text_gives_no_chunks(text: str) -> None:
    assert SimpleChunker().chunk_text(text, "d") == SentenceChunker().chunk_text(text, "d") == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SimpleChunker(50, 50), "overlap is 50 and chunk_size is 50: overlap must be smaller"),
        (lambda: SimpleChunker(0, 0), "chunk_size is 0"),
        (lambda: SimpleChunker(50, -1), "overlap is -1"),
        (lambda: SimpleChunker(chars_per_token=0), "chars_per_token is 0"),
        (lambda: SentenceChunker(2, 2), "overlap_sentences is 2 and sentences_per_chunk is 2"),
        (lambda: SentenceChunker(0, 0), "sentences_per_chunk is 0"),
    ],
)
def test_settings_that_would_not_move_on_are_refused(call, message: str) -> None:
    with pytest.raises(ChunkError, match=message):
        call()
