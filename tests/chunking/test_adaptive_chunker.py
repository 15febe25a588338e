from retrivex.chunking import AdaptiveChunker
from retrivex.model.chunk import Chunk
from retrivex.model.document import Document


def words(text: str) -> int:
    return len(text.split())


def cut(text: str, min_size: int, max_size: int, format: str = "markdown") -> list[Chunk]:
    return AdaptiveChunker(min_size, max_size, tokenizer=words).chunk(Document("d", text, format=format))


def texts(chunks: list[Chunk]) -> list[str]:
    return [chunk.text for chunk in chunks]


def test_a_short_document_stays_whole() -> None:
    (chunk,) = cut("# A\n\na\n\n## B\n\nb\n", 1, 50)
    assert chunk.text == "# A\n\na\n\n## B\n\nb"
    assert chunk.metadata.heading_path == ("A",)


def test_short_sections_stay_whole_with_what_is_under_them() -> None:
    first = "# A\n\none two three\n\n## B\n\nfour five six"
    second = "# C\n\nseven eight nine ten eleven twelve"
    chunks = cut(f"{first}\n\n{second}", 2, 10)
    assert texts(chunks) == [f"{first}\n\n", second]
    assert [chunk.metadata.heading_path for chunk in chunks] == [("A",), ("C",)]


def test_small_siblings_are_joined_and_keep_the_path_they_share() -> None:
    text = "# Top\n\n" + "\n\n".join(f"## S{n}\n\nword word" for n in range(5))
    chunks = cut(text, 5, 9)
    assert [words(chunk.text) for chunk in chunks] == [6, 8, 8]
    assert chunks[1].metadata.heading_path == ("Top",)


def test_min_size_zero_joins_nothing() -> None:
    text = "# Top\n\n" + "\n\n".join(f"## S{n}\n\nword word" for n in range(6))
    assert len(cut(text, 0, 9)) == 6


def test_a_long_section_is_cut_at_headings_before_blank_lines_before_sentences() -> None:
    body = "One two three four.\n\nFive six seven eight."
    assert texts(cut(f"# A\n\n{body}\n\n# B\n\n{body}", 0, 12)) == [f"# A\n\n{body}\n\n", f"# B\n\n{body}"]
    assert texts(cut(body, 0, 6)) == ["One two three four.\n\n", "Five six seven eight."]
    assert texts(cut("One two three. Four five six.", 0, 5)) == ["One two three. ", "Four five six."]


def test_parts_of_a_long_section_are_of_similar_size() -> None:
    text = "\n\n".join("word " * 10 for _ in range(11))
    sizes = [words(chunk.text) for chunk in cut(text, 0, 100, format="text")]
    assert sizes == [60, 50]  # filling up would give 100 and 10


def test_plain_text_has_paragraphs_but_no_headings() -> None:
    chunks = cut("# no heading\n\ntext\n\n" + "word " * 9, 0, 10, format="text")
    assert texts(chunks) == ["# no heading\n\ntext\n\n", ("word " * 9).strip()]
    assert chunks[0].metadata.heading_path is None


def test_a_long_table_keeps_its_header_as_prefix() -> None:
    table = "| a | b |\n|---|---|\n" + "".join(f"| {n} | x |\n" for n in range(20))
    chunks = cut(table, 0, 40)
    assert {chunk.metadata.prefix for chunk in chunks[1:]} == {"| a | b |\n|---|---|\n"}
