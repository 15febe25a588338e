import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from retrivex.chunking import (
    AdaptiveChunker,
    Chunker,
    MarkdownChunker,
    ParentChildChunker,
    SentenceChunker,
    TokenChunker,
    get_chunker,
)
from retrivex.errors import ChunkError
from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.document import Document


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


PARENTS_CUT_THESE = {
    "table": (
        "# T\n\n| name | text | n |\n|---|---|---|\n"
        + "".join(f"| row {n} | What row {n} says. In two sentences. | {n} |\n" for n in range(60)),
        "| name | text | n |\n|---|---|---|\n",
    ),
    "table in a list": (
        "1.  # T\n\n    | name | n |\n    |---|---|\n" + "".join(f"    | row number {n} | {n} |\n" for n in range(60)),
        "    | name | n |\n    |---|---|\n",
    ),
    "fence": ("# T\n\n```py\n" + "".join(f"# {n}\ndef f{n}(x):\n    y = x\n\n" for n in range(60)), "```py\n"),
}


@pytest.mark.parametrize(("text", "head"), PARENTS_CUT_THESE.values(), ids=PARENTS_CUT_THESE.keys())
@pytest.mark.parametrize("name", ["parent-child", "markdown in tokens"])
def test_children_know_the_table_or_code_that_their_parent_cuts(name: str, text: str, head: str) -> None:
    chunker = {
        "parent-child": get_chunker("parent-child", size=30, tokenizer=words),
        "markdown in tokens": ParentChildChunker(
            TokenChunker(120, tokenizer=words), MarkdownChunker(30, tokenizer=words)
        ),
    }[name]
    children, parents = chunker.chunk_with_parents(Document("d", text, format="markdown"))
    assert len(parents) > 2
    inside = [child for child in children if child.metadata.char_start > text.index(head.strip())]
    assert len(inside) > 10
    assert {child.metadata.prefix for child in inside} == {head}
    assert all(tuple(child.metadata.heading_path) == children[0].metadata.heading_path for child in children)
    edges = {parent.metadata.char_start for parent in parents.values()}
    for child in children:
        start = child.metadata.char_start
        assert start == 0 or text[start - 1] == "\n" or start in edges


class EveryTenWords:
    """Heeds neither pages nor parents, nor the white space behind a chunk."""

    name = "every ten words"

    def chunk(self, document: Document) -> list[Chunk]:
        found = [match.span() for match in re.finditer(r"(?:\S+\s+){0,9}\S+", document.text)]
        return [
            Chunk(document.text[start:end], ChunkMetadata(document.doc_id, number, start, end))
            for number, (start, end) in enumerate(found)
        ]


@pytest.mark.parametrize("parent", [SentenceChunker(2, 0), SentenceChunker(4, 2), TokenChunker(9, 4, tokenizer=words)])
@given(
    text=st.lists(st.sampled_from([*PARTS, "A sentence of six words. "]), max_size=30).map("".join),
    page=st.integers(1, 99),
)
def test_a_child_chunker_that_heeds_no_edges_is_cut_at_them(parent: Chunker, text: str, page: int) -> None:
    document = Document("d", text, page_starts=(0, page))
    children, parents = ParentChildChunker(parent, EveryTenWords()).chunk_with_parents(document)
    for child in children:
        around = parents[child.metadata.parent_id].metadata
        start, end = child.metadata.char_start, child.metadata.char_end
        assert around.char_start <= start < end <= around.char_end
        assert document.page_at(start) == document.page_at(end - 1) == child.metadata.page == around.page
        assert text[start:end] == child.text
    covered = {at for child in children for at in range(child.metadata.char_start, child.metadata.char_end)}
    assert covered >= {at for at, character in enumerate(text) if not character.isspace()}


def test_parents_end_with_their_page() -> None:
    chunker = get_chunker("parent-child", size=50, tokenizer=words)
    _, parents = chunker.chunk_with_parents(replace(DOCUMENT, page_starts=(0, TEXT.index("They wake"))))
    assert [(parent.text[:9], parent.metadata.page) for parent in parents.values()] == [
        ("# Bees\n\nT", 1),
        ("They wake", 2),
    ]


def test_chunkers_without_offsets_are_refused() -> None:
    class NoOffsets:
        name = "no offsets"

        def chunk(self, document: Document) -> list[Chunk]:
            return [Chunk(document.text, ChunkMetadata(document.doc_id, 0))]

    with pytest.raises(ChunkError, match=r"\('d', 0\) has no offsets"):
        ParentChildChunker(NoOffsets(), SentenceChunker()).chunk(DOCUMENT)
