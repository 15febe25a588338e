import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from retrivex.chunk import Chunk, ChunkMetadata
from retrivex.chunking import AdaptiveChunker, MarkdownChunker, ParentChildChunker, SentenceChunker, TokenChunker
from retrivex.document import Document
from retrivex.errors import ChunkError


def words(text: str) -> int:
    return len(text.split())


TEXT = "# Bees\n\nThey sleep at night. They wake early.\n\n## Food\n\nNectar and pollen. Nothing else.\n"
DOCUMENT = Document("d", TEXT, format="markdown", page_starts=(0, TEXT.index("## Food")))


def test_children_lie_in_their_parents_and_count_through_the_document() -> None:
    chunker = ParentChildChunker(MarkdownChunker(50, tokenizer=words), TokenChunker(5, tokenizer=words))
    children, parents = chunker.chunk_with_parents(DOCUMENT)
    assert list(parents) == ["d#parent-0", "d#parent-1"]
    assert [child.metadata.chunk_id for child in children] == list(range(len(children)))
    assert {child.metadata.parent_id for child in children} == set(parents)
    for child in children:
        parent = parents[child.metadata.parent_id]
        assert TEXT[child.metadata.char_start : child.metadata.char_end] == child.text
        assert parent.metadata.char_start <= child.metadata.char_start
        assert child.metadata.char_end <= parent.metadata.char_end
    assert chunker.chunk(DOCUMENT) == children


def test_headings_and_pages_of_children_are_those_of_the_document() -> None:
    chunker = ParentChildChunker(MarkdownChunker(50, tokenizer=words), SentenceChunker(1, 0))
    last = chunker.chunk(DOCUMENT)[-1]
    assert (last.text, last.metadata.heading_path, last.metadata.page) == ("Nothing else.", ("Bees", "Food"), 2)


def test_children_of_overlapping_parents_are_kept_once() -> None:
    chunker = ParentChildChunker(SentenceChunker(3, 1), SentenceChunker(1, 0))
    children, parents = chunker.chunk_with_parents(Document("d", "One. Two. Three. Four."))
    assert [(child.text, child.metadata.parent_id[-1]) for child in children] == [
        ("One. ", "0"),
        ("Two. ", "0"),
        ("Three. ", "0"),
        ("Four.", "1"),
    ]
    assert [parent.text for parent in parents.values()] == ["One. Two. Three. ", "Three. Four."]


PARTS = ["One.", "Two three.", "four", "- five", " ", "    ", "\n", "\n\n", "\t"]
LAID_OUT = st.lists(st.sampled_from(PARTS), max_size=30).map("".join)


@pytest.mark.parametrize(
    "chunker",
    [
        ParentChildChunker(AdaptiveChunker(2, 8, tokenizer=words), TokenChunker(3, tokenizer=words)),
        ParentChildChunker(AdaptiveChunker(2, 8, tokenizer=words), MarkdownChunker(3, tokenizer=words)),
        ParentChildChunker(SentenceChunker(4, 2), TokenChunker(3, 2, tokenizer=words)),
        ParentChildChunker(TokenChunker(8, 4, tokenizer=words), SentenceChunker(2, 1)),
    ],
    ids=["blocks, tokens", "blocks, Markdown", "overlapping sentences, tokens", "overlapping tokens, sentences"],
)
@given(text=LAID_OUT, format=st.sampled_from(["text", "markdown"]))
@example(text="a b c d e f\n\n    g h i j k l\n\n    m n o p q r", format="text")
def test_children_reach_over_no_edge_of_their_parent(chunker: ParentChildChunker, text: str, format: str) -> None:
    children, parents = chunker.chunk_with_parents(Document("d", text, format=format))
    for parent in parents.values():
        assert parent.text == text[parent.metadata.char_start : parent.metadata.char_end]
    for child in children:
        parent = parents[child.metadata.parent_id]
        assert parent.metadata.char_start <= child.metadata.char_start
        assert child.metadata.char_end <= parent.metadata.char_end
    starts = {child.metadata.char_start for child in children}
    assert all(parent.metadata.char_start in starts for parent in parents.values())
    ranges = {(child.metadata.char_start, len(child.text.rstrip())) for child in children}
    assert len(ranges) == len(children)


def test_an_indentation_goes_with_the_first_child() -> None:
    text = "One two three.\n\n    Four five six."
    chunker = ParentChildChunker(AdaptiveChunker(0, 3, tokenizer=words), TokenChunker(2, tokenizer=words))
    children, parents = chunker.chunk_with_parents(Document("d", text))
    assert [parent.text for parent in parents.values()] == ["One two three.\n\n", "    Four five six."]
    assert [child.text for child in children] == ["One two ", "three.\n\n", "    Four five ", "six."]


def test_a_child_at_the_start_of_a_table_piece_keeps_the_header() -> None:
    table = "| a | b |\n|---|---|\n" + "".join(f"| {n} | x |\n" for n in range(12))
    chunker = ParentChildChunker(MarkdownChunker(40, tokenizer=words), MarkdownChunker(20, tokenizer=words))
    children, parents = chunker.chunk_with_parents(Document("d", table, format="markdown"))
    second = parents["d#parent-1"].metadata
    first_child = next(child for child in children if child.metadata.parent_id == "d#parent-1")
    assert second.prefix == first_child.metadata.prefix == "| a | b |\n|---|---|\n"


def test_chunkers_without_offsets_are_refused() -> None:
    class NoOffsets:
        name = "no offsets"

        def chunk(self, document: Document) -> list[Chunk]:
            return [Chunk(document.text, ChunkMetadata(document.doc_id, 0))]

    with pytest.raises(ChunkError, match=r"\('d', 0\) has no offsets"):
        ParentChildChunker(NoOffsets(), SentenceChunker()).chunk(DOCUMENT)
