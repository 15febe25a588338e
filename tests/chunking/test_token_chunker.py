import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.chunking import TokenChunker
from retrivex.model.document import Document


def words(text: str) -> int:
    return len(text.split())


def texts(chunker: TokenChunker, text: str) -> list[str]:
    return [chunk.text for chunk in chunker.chunk(Document("d", text))]


def test_whole_sentences_are_packed() -> None:
    text = "Bees sleep at night. Ants do not. Nobody knows why they work so."
    assert texts(TokenChunker(7, tokenizer=words), text) == [
        "Bees sleep at night. Ants do not. ",
        "Nobody knows why they work so.",
    ]


def test_a_paragraph_is_a_better_place_to_cut_than_a_sentence() -> None:
    text = "One two. Three four.\n\nFive six. Seven eight."
    assert texts(TokenChunker(6, tokenizer=words), text) == ["One two. Three four.\n\n", "Five six. Seven eight."]


def test_overlap_repeats_the_end_of_the_chunk_before() -> None:
    text = " ".join(f"w{n}" for n in range(20))
    chunks = texts(TokenChunker(6, 2, tokenizer=words), text)
    assert [re.findall(r"\d+", chunk)[0] for chunk in chunks] == ["0", "4", "8", "12", "16"]
    assert all(before.split()[-2:] == after.split()[:2] for before, after in pairwise(chunks))


@given(st.text(max_size=200), st.integers(1, 20), st.integers(0, 19))
def test_only_a_single_character_may_be_longer_than_size(text: str, size: int, overlap: int) -> None:
    chunker = TokenChunker(size, min(overlap, size - 1), tokenizer=lambda part: len(part.encode("utf-8", "replace")))
    for chunk in texts(chunker, text):
        said = chunk.rstrip()
        assert len(said.encode()) <= size or len(said) == 1


@given(st.text("ab c", max_size=300), st.integers(1, 6))
def test_a_count_that_shrinks_with_more_text_cannot_break_the_promise(text: str, size: int) -> None:
    def odd(part: str) -> int:  # as vocabularies do: a space in front can make the text shorter
        return max(len(part) // 2 - part.count(" "), 1 if part else 0) + (not part.startswith(" "))

    for chunk in texts(TokenChunker(size, tokenizer=odd), text):
        said = chunk.rstrip()
        assert odd(said) <= size or len(said) == 1


@pytest.mark.parametrize("unit", ["a", "字", "word ", "[1,2],", " \t"])
def test_text_without_a_sentence_is_counted_in_proportion_to_its_length(unit: str) -> None:
    counted = 0

    def count(part: str) -> int:
        nonlocal counted
        counted += len(part)
        return len(part) // 3 + 1

    text = "x" + unit * 10_000
    TokenChunker(50, tokenizer=count).chunk(Document("d", text))
    assert counted < 60 * len(text)


def test_chunks_are_as_full_at_the_edge_of_a_window_as_elsewhere() -> None:
    text = "one two three four five. " * 2_000
    chunks = texts(TokenChunker(10, tokenizer=words), text)
    assert {words(chunk) for chunk in chunks} == {10}


def test_a_markdown_document_gives_heading_paths_that_hold_for_the_whole_chunk() -> None:
    text = "# Bees\n\n## Food\n\nNectar and pollen.\n\n## Sleep\n\nAt night."
    document = Document("d", text, format="markdown")
    apart = TokenChunker(8, tokenizer=words).chunk(document)
    assert [chunk.metadata.heading_path for chunk in apart] == [("Bees", "Food"), ("Bees", "Sleep")]
    together = TokenChunker(20, tokenizer=words).chunk(document)
    assert [chunk.metadata.heading_path for chunk in together] == [("Bees",)]


def test_a_tokenizer_may_be_named() -> None:
    chunker = TokenChunker(30, tokenizer="estimate")
    assert "tokenizer=estimate" in chunker.name
    assert len(texts(chunker, "Bees sleep at night and work by day. " * 40)) > 5
