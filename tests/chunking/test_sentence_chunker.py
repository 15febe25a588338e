import pytest

from retrivex.chunking import SentenceChunker
from retrivex.model.document import Document

TEXT = "One. Two! Three? 四。 Five."


@pytest.mark.parametrize(
    ("size", "overlap", "expected"),
    [
        (2, 0, ["One. Two! ", "Three? 四。 ", "Five."]),
        (3, 1, ["One. Two! Three?", "Three? 四。 Five."]),
        (3, 2, ["One. Two! Three?", "Two! Three? 四。", "Three? 四。 Five."]),
        (9, 1, [TEXT]),
    ],
)
def test_so_many_sentences_a_chunk(size: int, overlap: int, expected: list[str]) -> None:
    assert [chunk.text for chunk in SentenceChunker(size, overlap).chunk(Document("d", TEXT))] == expected


def test_the_last_chunk_says_something_new() -> None:
    chunks = SentenceChunker(2, 1).chunk(Document("d", "One. Two."))
    assert [chunk.text for chunk in chunks] == ["One. Two."]


def test_language_decides_about_abbreviations() -> None:
    text = "Das kostet z.B. Geld. Und Zeit."
    german = SentenceChunker(1, 0, language="de").chunk(Document("d", text))
    assert [chunk.text for chunk in german] == ["Das kostet z.B. Geld. ", "Und Zeit."]
