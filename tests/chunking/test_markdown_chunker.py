import re
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.chunking import MarkdownChunker
from retrivex.chunking.blocks import Heading, headings, markdown_blocks, path_of
from retrivex.model.chunk import Chunk
from retrivex.model.document import Document


def words(text: str) -> int:
    return len(text.split())


def cut(text: str, size: int = 1000) -> list[Chunk]:
    return MarkdownChunker(size, tokenizer=words).chunk(Document("d", text, format="markdown"))


def texts(chunks: list[Chunk]) -> list[str]:
    return [chunk.text for chunk in chunks]


def paths(chunks: list[Chunk]) -> list[tuple[str, ...]]:
    return [tuple(chunk.metadata.heading_path) for chunk in chunks]


def test_headings_of_both_kinds_become_paths() -> None:
    chunks = cut("before\n\nBees\n====\n\na\n\nFood\n---\n\nb\n\n### Deep\n\nc\n\n## Sleep ##\n\nd\n\n# Ants\n\ne\n")
    assert paths(chunks) == [(), ("Bees",), ("Bees", "Food"), ("Bees", "Food", "Deep"), ("Bees", "Sleep"), ("Ants",)]


def test_a_skipped_level_does_not_confuse_the_path() -> None:
    assert paths(cut("# A\n\na\n\n#### B\n\nb\n\n## C\n\nc")) == [("A",), ("A", "B"), ("A", "C")]


def test_headings_are_kept_as_words() -> None:
    assert paths(cut("# The *big* `bee` [book](x.html) <br>&amp; more\n\ntext")) == [("The big bee book & more",)]


@pytest.mark.parametrize(
    "text",
    [
        "```\n# not a heading\n```",
        "~~~ py\n# not a heading\n\n# nor this\n~~~",
        "    # not a heading",
        "> # not a heading of the document",
        "- # not a heading of the document",
        "<pre>\n# not a heading\n</pre>",
        "#not a heading",
        "\\# not a heading",
        "---\ntitle: not a heading\n---\n",
    ],
)
def test_what_only_looks_like_a_heading_is_none(text: str) -> None:
    chunks = cut(f"{text}\n\nbody")
    assert paths(chunks) == [()]
    assert len(chunks) == 1


def test_text_after_front_matter_keeps_its_offsets() -> None:
    text = "---\r\ntitle: Bees\r\nby: Lee\r\n---\r\n# Bees\r\n\r\ntext"
    front, body = cut(text)
    assert (front.text, paths([front])) == ("---\r\ntitle: Bees\r\nby: Lee\r\n---\r\n", [()])
    assert (body.text, paths([body])) == ("# Bees\r\n\r\ntext", [("Bees",)])


def test_a_heading_without_text_goes_with_the_deeper_one() -> None:
    chunks = cut("# Bees\n\n## Food\n\nnectar\n\n## Empty\n\n## Sleep\n\nnight")
    assert texts(chunks) == ["# Bees\n\n## Food\n\nnectar\n\n", "## Empty\n\n", "## Sleep\n\nnight"]
    assert paths(chunks) == [("Bees", "Food"), ("Bees", "Empty"), ("Bees", "Sleep")]


def test_a_heading_is_not_left_alone_before_a_long_paragraph() -> None:
    first = cut("# Bees\n\nOne two three four. Five six seven eight.", size=8)[0]
    assert first.text == "# Bees\n\nOne two three four. "


TABLE = "| bee | food |\n|-----|------|\n" + "".join(f"| b{n} | f{n} |\n" for n in range(12))


def test_a_table_that_fits_stays_whole() -> None:
    _, with_table = cut(f"{'before ' * 140}\n\n{TABLE}\nafter", size=150)
    assert with_table.text == f"{TABLE}\nafter"
    assert with_table.metadata.prefix is None


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_later_pieces_of_a_table_carry_the_header_outside_their_text(newline: str) -> None:
    table = TABLE.replace("\n", newline)
    chunks = cut(table, size=30)
    assert len(chunks) > 2
    header = newline.join(table.split(newline)[:2]) + newline
    assert chunks[0].metadata.prefix is None
    assert chunks[0].text.startswith(header)
    for chunk in chunks[1:]:
        assert chunk.metadata.prefix == header
        assert all(line.count("|") == 3 for line in chunk.text.rstrip().split(newline))
        assert words(header + chunk.text) <= 30
        again = cut(header + chunk.text)
        assert len(again) == 1
    assert all(chunk.text.endswith(newline) for chunk in chunks[:-1])
    assert "".join(texts(chunks)) == table.strip()


def test_a_row_is_never_cut_however_long() -> None:
    row = "| " + "word " * 50 + "| x |"
    chunks = cut(f"| a | b |\n|---|---|\n| 1 | 2 |\n{row}\n| 3 | 4 |\n", size=12)
    assert f"{row}\n" in texts(chunks)


def test_text_right_under_a_table_may_be_cut() -> None:
    chunks = cut(f"| a | b |\n|---|---|\n| 1 | 2 |\n{'word ' * 50}\n", size=12)
    assert all(words(chunk.text) <= 12 for chunk in chunks)


CODE = "```py\n" + "".join(f"if x{n}:\n    y{n} = 1\n" for n in range(10)) + "```"


def test_code_that_fits_is_not_cut() -> None:
    _, with_code = cut(f"{'before ' * 40}\n\n{CODE}\n\nafter", size=60)
    assert with_code.text == f"{CODE}\n\nafter"


def test_long_code_is_cut_between_lines_and_says_what_it_is() -> None:
    chunks = cut(CODE, size=15)
    assert len(chunks) > 2
    assert chunks[0].text.startswith("```py\nif x0:")
    assert {chunk.metadata.prefix for chunk in chunks[1:]} == {"```py\n"}
    assert chunks[-1].text.endswith("\n```")
    assert all(chunk.text.endswith("\n") for chunk in chunks[:-1])
    assert "".join(texts(chunks)) == CODE  # whole lines, indentation kept


def test_a_list_is_cut_between_items() -> None:
    items = [f"- item {n} has\n  two lines" for n in range(6)]
    chunks = cut("\n".join(items), size=15)
    assert texts(chunks) == ["\n".join([*items[n : n + 2], ""]) for n in (0, 2)] + ["\n".join(items[4:])]


def test_an_item_that_is_too_long_is_cut_between_the_items_in_it() -> None:
    text = "- top\n" + "".join(f"  - inner item {n}\n" for n in range(6)) + "- next"
    for chunk in cut(text, size=9):
        assert all(line.lstrip().startswith("-") for line in chunk.text.splitlines())


def test_a_long_paragraph_is_cut_at_sentences_and_a_long_sentence_at_words() -> None:
    chunks = texts(cut("One two three. Four five six. " + "seven " * 9 + "end.", size=5))
    assert chunks[:2] == ["One two three. ", "Four five six. "]
    assert set(" ".join(chunks[2:]).split()) == {"seven", "end."}


def test_no_chunk_holds_text_of_two_sections() -> None:
    chunks = cut("# A\n\na\n\n# B\n\nb\n\n# C\n\nc", size=1000)
    assert texts(chunks) == ["# A\n\na\n\n", "# B\n\nb\n\n", "# C\n\nc"]


def test_plain_documents_are_read_as_markdown_too() -> None:
    chunks = MarkdownChunker(50, tokenizer=words).chunk(Document("d", "# A\n\na"))
    assert chunks[0].metadata.heading_path == ("A",)


def test_link_definitions_and_rules_are_not_lost() -> None:
    text = "[a]: http://x.org\n\n# A\n\n***\n\ntext\n\n[b]: http://y.org"
    joined = "".join(texts(cut(text)))
    assert all(part in joined for part in ("[a]:", "***", "[b]:"))


@given(st.lists(st.text("ab|#`->~ \t\n\r:=.1", max_size=12), max_size=20).map("\n".join), st.integers(1, 9))
def test_any_mix_of_marks_is_cut_without_loss(text: str, size: int) -> None:
    covered = 0
    chunks = cut(text, size)
    for chunk in chunks:
        assert text[chunk.metadata.char_start : chunk.metadata.char_end] == chunk.text
        start = chunk.metadata.char_start
        assert start == covered or (chunk is chunks[0] and not text[:start].strip())
        covered = chunk.metadata.char_end
        assert words(chunk.text) <= size or "|" in chunk.text
    assert not text[covered:].strip()


def test_joined_text_is_counted_not_the_sum_of_its_parts() -> None:
    def joins_cost(text: str) -> int:
        return words(text) + len(re.findall(r"\S\n\n\S", text))

    chunks = MarkdownChunker(10, tokenizer=joins_cost).chunk(Document("d", "one two\n\n" * 20))
    assert max(joins_cost(chunk.text.rstrip()) for chunk in chunks) <= 10


def test_the_head_of_a_long_table_is_counted_once_not_for_each_piece() -> None:
    def count(text: str) -> int:
        counted.append(text)
        return words(text)

    counted: list[str] = []
    head = "|a|b|\n|-|-|"
    chunks = MarkdownChunker(10, tokenizer=count).chunk(Document("d", f"{head}\n" + "|x|y|\n" * 50, format="markdown"))
    heads = [chunk.metadata.prefix for chunk in chunks[1:]]
    assert len(heads) > 3
    assert len(set(heads)) == 1
    assert counted.count(heads[0] or "") == 1


class CountedHeadings(list[Heading]):
    """Counts the headings that are read of it, copies included."""

    read = 0

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        self.read += len(found) if isinstance(at, slice) else 1
        return found


def test_paths_of_many_headings_are_found_without_copying_the_headings_behind_each() -> None:
    outline = CountedHeadings(headings(markdown_blocks("# a\n" * 2_000)))
    for heading in list(outline):
        path_of(outline, heading.start, heading.start + 4)
    assert outline.read < 20 * len(outline)  # a binary search for each


def test_a_table_of_short_rows_takes_memory_by_its_rows_and_not_by_all_marks_in_them() -> None:
    text = "|a|b|\n|-|-|\n" + "|x|y|\n" * 10_000
    cut("|a|b|\n|-|-|\n|x|y|\n")  # what is made once
    tracemalloc.start()
    try:
        cut(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100 * len(text)  # 400 with a token for each part of a cell
