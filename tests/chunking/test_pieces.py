"""`make_chunks`: where the white space between pieces goes."""

import pytest

from retrivex.chunking import Piece, make_chunks
from retrivex.document import Document


def cut(text: str, *ranges: tuple[int, int]) -> list[str]:
    chunks = make_chunks(Document("d", text), [Piece(start, end) for start, end in ranges])
    assert all(text[chunk.metadata.char_start : chunk.metadata.char_end] == chunk.text for chunk in chunks)
    return [chunk.text for chunk in chunks]


@pytest.mark.parametrize("gap", [" ", "\n\n", "\r\n", "\u3000", " \t\x0c\u2028"])
def test_white_space_goes_with_the_piece_before_it(gap: str) -> None:
    text = f"{gap}One.{gap}Two.{gap}"
    first, second = text.index("One."), text.index("Two.")
    assert cut(text, (first, first + 4), (second, second + 4)) == [f"One.{gap}", "Two."]


def test_left_out_text_is_not_taken_in() -> None:
    assert cut("One. two Three.", (0, 4), (9, 15)) == ["One.", "Three."]


def test_pieces_that_overlap_stay_as_they_are() -> None:
    assert cut("One. Two. Three.", (0, 9), (5, 16)) == ["One. Two.", "Two. Three."]


def test_white_space_behind_a_piece_inside_another_goes_with_the_outer_one() -> None:
    assert cut("One. Two. Three. Four.", (0, 16), (5, 9), (17, 22)) == ["One. Two. Three. ", "Two.", "Four."]


def test_pieces_of_white_space_are_no_chunks() -> None:
    assert cut("One. \n Two.", (0, 4), (4, 5), (5, 5), (5, 7), (7, 11)) == ["One. \n ", "Two."]
