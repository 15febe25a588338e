"""`make_chunks`: where the white space between pieces goes."""

import pytest

from retrivex.chunking import Piece, make_chunks
from retrivex.model.document import Document


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


def pages(text: str, starts: tuple[int, ...], *ranges: tuple[int, int]) -> list[tuple[str, int | None]]:
    chunks = make_chunks(Document("d", text, page_starts=starts), [Piece(start, end) for start, end in ranges])
    assert all(text[chunk.metadata.char_start : chunk.metadata.char_end] == chunk.text for chunk in chunks)
    return [(chunk.text, chunk.metadata.page) for chunk in chunks]


def test_a_piece_on_two_pages_is_cut_where_the_second_begins() -> None:
    assert pages("One and two. Three.", (0, 4), (0, 12), (13, 19)) == [("One ", 1), ("and two. ", 2), ("Three.", 2)]


def test_pieces_that_overlap_across_a_page_leave_no_part_twice() -> None:
    assert pages("One. Two. Three.", (0, 5), (0, 9), (2, 16)) == [("One. ", 1), ("Two. Three.", 2)]


def test_a_piece_within_another_stays_though_the_other_is_cut() -> None:
    assert pages("One. Two. Three.", (0, 10), (0, 16), (5, 9)) == [("One. Two. ", 1), ("Two.", 1), ("Three.", 2)]


def test_white_space_stays_on_its_page() -> None:
    assert pages("One.\n\n  Two.", (0, 5), (0, 4), (8, 12)) == [("One.\n", 1), ("\n  Two.", 2)]


def test_a_page_of_white_space_is_in_no_chunk() -> None:
    assert pages("One.\n \nThree.", (0, 5, 7), (0, 4), (7, 13)) == [("One.\n", 1), ("Three.", 3)]


def test_what_stands_before_the_first_page_counts_as_on_it() -> None:
    assert pages("Title. One. Two.", (7, 12), (0, 11), (12, 16)) == [("Title. One. ", 1), ("Two.", 2)]


def test_white_space_before_a_heading_is_not_under_the_one_before() -> None:
    text = "# A\n\none\n\n# B\n\ntwo"
    document = Document("d", text, format="markdown", page_starts=(0, 9))
    chunks = make_chunks(document, [Piece(0, 8), Piece(10, 18)])
    assert [(chunk.text, chunk.metadata.heading_path) for chunk in chunks] == [
        ("# A\n\none\n", ("A",)),
        ("\n# B\n\ntwo", ("B",)),
    ]


def test_only_the_first_part_of_a_piece_keeps_its_prefix() -> None:
    made = make_chunks(Document("d", "1 | 2 and more", page_starts=(0, 6)), [Piece(0, 14, prefix="a | b")])
    assert [chunk.metadata.prefix for chunk in made] == ["a | b", None]
