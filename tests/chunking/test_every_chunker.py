"""What holds for every chunker: exact offsets, nothing lost, nothing over size, what the document says carried over."""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from retrivex.chunking import (
    CHUNKER_NAMES,
    AdaptiveChunker,
    AutoChunker,
    Chunker,
    MarkdownChunker,
    ParentChildChunker,
    SemanticChunker,
    SentenceChunker,
    TokenChunker,
    get_chunker,
)
from retrivex.encoders.encoder import Encoder
from retrivex.errors import ChunkError, RetrivexError
from retrivex.model.chunk import Chunk
from retrivex.model.document import Document
from retrivex.model.run import stitch


def count(text: str) -> int:
    """Parts of words, and every other visible character: as uneven as a real vocabulary, and quick."""
    return len(re.findall(r"[a-zA-Z]{1,4}|[^\sa-zA-Z]", text))


class LetterEncoder:
    name = "letters"

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[text.count(letter) for letter in "aeiou 。"] for text in texts], dtype=np.float32)


assert isinstance(LetterEncoder(), Encoder)

SIZE = 12
CHUNKERS: dict[str, Chunker] = {
    "token": TokenChunker(SIZE, tokenizer=count),
    "token, overlapping": TokenChunker(SIZE, 5, tokenizer=count),
    "sentence": SentenceChunker(2, 0),
    "sentence, overlapping": SentenceChunker(3, 1),
    "semantic": SemanticChunker(LetterEncoder(), min_size=4, max_size=SIZE, tokenizer=count),
    "semantic, threshold": SemanticChunker(LetterEncoder(), "threshold", 0.2, 0, SIZE, tokenizer=count),
    "markdown": MarkdownChunker(SIZE, tokenizer=count),
    "adaptive": AdaptiveChunker(4, SIZE, tokenizer=count),
    "parent-child": ParentChildChunker(AdaptiveChunker(10, 40, tokenizer=count), TokenChunker(SIZE, tokenizer=count)),
    "overlapping parents": ParentChildChunker(SentenceChunker(4, 2), TokenChunker(SIZE, 3, tokenizer=count)),
    "auto": AutoChunker(SIZE, tokenizer=count),
}
UNBOUNDED = ("sentence", "sentence, overlapping")
OVERLAPPING = ("token, overlapping", "sentence, overlapping", "overlapping parents")
every_chunker = pytest.mark.parametrize("chunker", CHUNKERS.values(), ids=CHUNKERS.keys())

LINES = st.sampled_from(
    [
        "# Bees",
        "## Food & drink",
        "Set in stone\n===",
        "#### Deep",
        "They sleep. They wake! Do they dream?",
        "A long line that goes on and on without any stop at all until it is far too long to fit",
        "- one\n- two\n  - three\n\n  still two\n- four",
        "1. first\n2. second item with rather more words than the other items have",
        "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| five | six |\n| 7 | 8 |",
        "```py\n# no heading\nx = 1\n\nif x:\n    y = 2\n```",
        "    indented = code\n    more = code",
        "> quoted\n>\n> # inside",
        "<div>\nhtml\n</div>",
        "[a]: http://example.org/",
        "---",
        "蜜蜂睡觉。“它们醒来！”它们做梦吗？",
        "👨‍👩‍👧 café e\u0301 \ud83d",
        "a\u0085.\u2028b.\u3000c\x1c\x0c",
        "",
        "   ",
    ]
)
STRUCTURED = st.builds(
    lambda lines, breaks: "".join(line.replace("\n", breaks) + breaks for line in lines),
    st.lists(LINES, max_size=14),
    st.sampled_from(["\n", "\r\n", "\n\n", "\r"]),
)
TEXTS = st.one_of(st.text(max_size=120), STRUCTURED)


def assert_tiled(document: Document, chunks: list[Chunk]) -> None:
    """Exact offsets, ascending, no gap between them, nothing but white space around them."""
    covered = 0
    starts = []
    for number, chunk in enumerate(chunks):
        start, end = chunk.metadata.char_start, chunk.metadata.char_end
        assert document.text[start:end] == chunk.text
        assert chunk.text.strip()
        assert start <= covered if number else not document.text[:start].strip()
        covered = max(covered, end)
        starts.append(start)
        assert (chunk.metadata.chunk_id, chunk.metadata.chunk_count) == (number, len(chunks))
    assert not document.text[covered:].strip()
    assert starts == sorted(starts)


@every_chunker
@given(text=TEXTS, format=st.sampled_from(["text", "markdown"]))
@example(text="", format="markdown")
@example(text=" \r\n\t\u3000", format="text")
@example(text="\n---\n", format="markdown")
def test_offsets_are_exact_and_no_text_is_lost(chunker: Chunker, text: str, format: str) -> None:
    document = Document("d", text, format=format)
    assert_tiled(document, chunker.chunk(document))


@pytest.mark.parametrize("name", [name for name in CHUNKERS if name not in OVERLAPPING])
@given(text=TEXTS, format=st.sampled_from(["text", "markdown"]))
@example(text="One.\r\n\r\n    Two. Three.\n\n\tFour.\n", format="text")
def test_chunks_without_overlap_join_into_the_text_of_the_document(name: str, text: str, format: str) -> None:
    chunks = CHUNKERS[name].chunk(Document("d", text, format=format))
    assert all(a.metadata.char_end == b.metadata.char_start for a, b in pairwise(chunks))
    start = chunks[0].metadata.char_start if chunks else len(text)
    assert not text[:start].strip()
    assert "".join(chunk.text for chunk in chunks) == text[start:].rstrip()


@every_chunker
@given(text=TEXTS, format=st.sampled_from(["text", "markdown"]))
@example(text="A b c d e f. G h i j k l m n o p. Q r. S t. U v w. X y z.", format="text")
def test_stitched_chunks_are_one_exact_run(chunker: Chunker, text: str, format: str) -> None:
    chunks = chunker.chunk(Document("d", text, format=format))
    runs, liars, gaps = stitch(chunks)
    assert not liars
    assert not gaps
    assert len(runs) == bool(chunks)
    for run in runs:
        assert run.is_exact(0, len(run) - 1)
        assert run.text == text[chunks[0].metadata.char_start :].rstrip()


@pytest.mark.parametrize("name", [name for name in CHUNKERS if name not in UNBOUNDED])
@given(text=TEXTS, format=st.sampled_from(["text", "markdown"]))
def test_no_chunk_is_over_size(name: str, text: str, format: str) -> None:
    for chunk in CHUNKERS[name].chunk(Document("d", text, format=format)):
        is_row = chunk.text.lstrip("> -").startswith("|")
        assert count(chunk.text.rstrip()) <= SIZE or is_row, chunk


@st.composite
def paged(draw: st.DrawFn) -> Document:
    text = draw(TEXTS)
    starts = draw(st.lists(st.integers(0, len(text)), max_size=5))
    return Document("d", text, draw(st.sampled_from(["text", "markdown"])), page_starts=tuple(sorted(starts)))


def in_pages(text: str, *starts: int, format: str = "text") -> Document:
    return Document("d", text, format, page_starts=starts)


@every_chunker
@given(document=paged())
@example(document=in_pages("One page.\n\n\n\n  Another one. It goes on.", 0, 11))
@example(document=in_pages("Page one.\n\n\n\n\nPage three.", 0, 10, 12))
@example(document=in_pages("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |", 0, 24, 33, format="markdown"))
def test_the_page_of_a_chunk_is_that_of_all_its_text(chunker: Chunker, document: Document) -> None:
    text, chunks = document.text, chunker.chunk(document)
    covered = 0
    for number, chunk in enumerate(chunks):
        start, end = chunk.metadata.char_start, chunk.metadata.char_end
        assert text[start:end] == chunk.text
        assert document.page_at(start) == document.page_at(end - 1) == chunk.metadata.page
        assert chunk.metadata.chunk_id == number
        assert not text[covered:start].strip()
        # between chunks there is nothing but whole pages of white space
        assert number == 0 or start <= covered or {covered, start} <= set(document.page_starts)
        covered = max(covered, end)
    assert not text[covered:].strip()
    starts = [chunk.metadata.char_start for chunk in chunks]
    assert starts == sorted(starts)


@pytest.mark.parametrize("name", [name for name in CHUNKERS if name not in UNBOUNDED])
@given(document=paged())
def test_no_chunk_of_a_page_is_over_size(name: str, document: Document) -> None:
    for chunk in CHUNKERS[name].chunk(document):
        assert count(chunk.text.rstrip()) <= SIZE or "|" in chunk.text, chunk


@every_chunker
@given(text=TEXTS, format=st.sampled_from(["text", "markdown"]))
def test_a_document_of_one_page_is_cut_like_one_without_pages(chunker: Chunker, text: str, format: str) -> None:
    def ranges(document: Document) -> list[tuple]:
        return [
            (chunk.text, chunk.metadata.char_start, chunk.metadata.prefix, tuple(chunk.metadata.heading_path or ()))
            for chunk in chunker.chunk(document)
        ]

    assert ranges(in_pages(text, 0, 0, len(text), format=format)) == ranges(Document("d", text, format))


@every_chunker
@pytest.mark.parametrize("text", ["", " ", "\r\n\r\n", "\u3000\x1c\u2028"])
@pytest.mark.parametrize("format", ["text", "markdown"])
def test_nothing_in_gives_nothing_out(chunker: Chunker, text: str, format: str) -> None:
    assert chunker.chunk(Document("d", text, format=format)) == []


@every_chunker
def test_chunks_carry_what_the_document_says(chunker: Chunker) -> None:
    text = "# Bees\n\nThey sleep at night. They wake early.\f# Ants\n\nThey work all day. Who knows why?\n"
    text = text.replace("\f", "\n\n")
    document = Document(
        "d",
        text,
        format="markdown",
        page_starts=(0, text.index("# Ants")),
        timestamp=1.5,
        scope="acme",
        metadata={"author": "Lee"},
    )
    chunks = chunker.chunk(document)
    for chunk in chunks:
        made = chunk.metadata
        assert (made.doc_id, made.scope, made.timestamp, made.custom_metadata) == ("d", "acme", 1.5, {"author": "Lee"})
        assert made.page == document.page_at(made.char_start)
    assert {chunk.metadata.page for chunk in chunks} == {1, 2}
    assert chunks[-1].metadata.heading_path is not None


@every_chunker
def test_plain_text_has_no_headings(chunker: Chunker) -> None:
    chunks = chunker.chunk(Document("d", "Bees sleep. Ants work.\n\nWho knows?"))
    assert {tuple(chunk.metadata.heading_path or ()) for chunk in chunks} == {()}


@every_chunker
def test_the_same_document_is_cut_alike_twice(chunker: Chunker) -> None:
    document = Document("d", "# Bees\n\nThey sleep. 蜜蜂。\n\n- one\n- two\n" * 4, format="markdown")
    assert chunker.chunk(document) == chunker.chunk(document)


def test_names_tell_settings_apart() -> None:
    others = [
        TokenChunker(SIZE + 1, tokenizer=count),
        SentenceChunker(3, 1, language="de"),
        SemanticChunker(LetterEncoder(), min_size=3, max_size=SIZE, tokenizer=count),
        MarkdownChunker(SIZE + 1, tokenizer=count),
        AdaptiveChunker(3, SIZE, tokenizer=count),
        AutoChunker(SIZE, 1, tokenizer=count),
    ]
    names = [chunker.name for chunker in [*CHUNKERS.values(), *others]]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", CHUNKER_NAMES)
def test_every_name_gives_a_chunker(name: str) -> None:
    chunker = get_chunker(name, size=20, tokenizer=count, encoder=LetterEncoder())
    assert isinstance(chunker, Chunker)
    document = Document("d", "# Bees\n\n" + "They sleep. They wake. 它们。 " * 30, format="markdown")
    chunks = chunker.chunk(document)
    assert_tiled(document, chunks)
    assert len(chunks) > 1
    assert name in chunker.name


def test_overlap_and_size_reach_the_chunker() -> None:
    assert get_chunker("sentence", size=4, overlap=2).name == SentenceChunker(4, 2).name
    assert get_chunker("sentence", size=1).name == SentenceChunker(1, 0).name
    assert "overlap=7" in get_chunker("auto", size=20, overlap=7, tokenizer=count).name
    assert "overlap=7" in get_chunker("parent-child", size=20, overlap=7, tokenizer=count).name


def test_auto_goes_by_the_format_of_the_document() -> None:
    text = "# Bees\n\nThey sleep.\n\n# Ants\n\nThey work."
    auto = get_chunker("auto", size=100, tokenizer=count)
    assert len(auto.chunk(Document("d", text, format="markdown"))) == 2
    assert len(auto.chunk(Document("d", text))) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: get_chunker("words"), "'words': it must be one of auto, token"),
        (lambda: get_chunker("semantic", tokenizer=count), "no encoder"),
        (lambda: get_chunker("markdown", overlap=3, tokenizer=count), "do not overlap"),
        (lambda: get_chunker("token", size=0, tokenizer=count), "size is 0"),
        (lambda: get_chunker("token", size=10, overlap=10, tokenizer=count), "overlap is 10 and size is 10"),
        (lambda: TokenChunker(True, tokenizer=count), "size is True"),
        (lambda: TokenChunker(10, -1, tokenizer=count), "overlap is -1"),
        (lambda: SentenceChunker(2, 2), "lower overlap or raise size"),
        (lambda: SentenceChunker(2.5, 1), "size is 2.5"),
        (lambda: AdaptiveChunker(20, 20, tokenizer=count), "min_size is 20 and max_size is 20"),
        (lambda: MarkdownChunker(0, tokenizer=count), "size is 0"),
        (lambda: SemanticChunker(LetterEncoder(), "gradient", tokenizer=count), "'percentile' or 'threshold'"),
        (lambda: SemanticChunker(LetterEncoder(), value=101, tokenizer=count), "between 0 and 100"),
        (lambda: SemanticChunker(LetterEncoder(), "threshold", float("nan"), tokenizer=count), "between 0 and 2"),
    ],
)
def test_bad_settings_are_refused(call, message: str) -> None:
    with pytest.raises(ChunkError, match=re.escape(message)) as caught:
        call()
    assert isinstance(caught.value, RetrivexError)
