"""Small files that would become large ones, or take hours: each is refused, or stays small."""

import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.errors import LoadError
from retrivex.loading import html_to_markdown, load_file
from retrivex.loading.limits import GROWTH, MAX_CHARACTERS, SMALL_FILE_CHARACTERS, Allowance, LoadLimits

TOO_MUCH = r"more than [\d,]+ characters come of its [\d,]+ bytes, the limit .* split it, or save it as plain text"
# generous: what counts is that each ends by itself, not how fast this machine is
IN_TIME = LoadLimits(timeout_s=300)


def load(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return "".join(document.text for document in load_file(path, limits=IN_TIME))


def test_a_text_cell_over_many_rows_is_repeated_in_few_of_them(tmp_path: Path) -> None:
    page = f"<table><tr><td rowspan=999999>{'bee ' * 5000}</td><td>1</td></tr>{'<tr><td>2</td></tr>' * 8000}</table>"
    assert len(load(tmp_path / "a.html", page.encode())) < 3_000_000


def test_cells_over_rows_do_not_multiply(tmp_path: Path) -> None:
    row = f"<tr>{'<td rowspan=100>' + 'bee ' * 30}</td><td>1</td></tr>"
    with pytest.raises(LoadError, match=TOO_MUCH):
        load(tmp_path / "a.html", f"<table>{row * 2000}</table>".encode())


def test_one_long_row_does_not_widen_thousands_of_short_ones(tmp_path: Path) -> None:
    page = f"<table><tr>{'<td>x' * 4000}</tr>{'<tr><td>y</tr>' * 4000}</table>"
    with pytest.raises(LoadError, match=TOO_MUCH):
        load(tmp_path / "a.html", page.encode())


@pytest.mark.parametrize(("opening", "closing"), [("<ul><li>", "</li></ul>"), ("<blockquote>", "</blockquote>")])
def test_nesting_does_not_indent_a_page_without_end(opening: str, closing: str) -> None:
    page = f"{opening * 480}{'<p>x' * 1000}{closing * 480}"
    with pytest.raises(LoadError, match=TOO_MUCH):
        html_to_markdown(page)
    with pytest.raises(LoadError, match=TOO_MUCH):
        html_to_markdown(f"{opening * 480}<p>{'x<br>' * 2000}{closing * 480}")


def pdf_of_one_stream(pages: int, shown: int) -> bytes:
    """Pages that all show the same stream, which writes `shown` letters."""
    stream = zlib.compress(b"BT /F 9 Tf " + b"(x)Tj " * shown + b"ET")
    kids = " ".join(["3 0 R"] * pages)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {pages}/Kids[{kids}]/MediaBox[0 0 9 9]>>".encode(),
        b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    made, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return made + b"xref\n0 6\n0000000000 65535 f \n%strailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        table,
        len(made),
    )


def test_pages_of_one_stream_are_not_read_without_end(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    with pytest.raises(LoadError, match=TOO_MUCH):
        load(tmp_path / "a.pdf", pdf_of_one_stream(1000, 5_000))


def test_a_few_pages_of_one_stream_are_read(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    assert load(tmp_path / "a.pdf", pdf_of_one_stream(3, 20)).count("x") == 60


@given(st.integers(0, 2 * MAX_CHARACTERS), st.lists(st.integers(0, MAX_CHARACTERS), max_size=5))
def test_no_more_is_taken_than_allowed(size: int, parts: list[int]) -> None:
    most = max(SMALL_FILE_CHARACTERS, min(GROWTH * size, MAX_CHARACTERS))
    allowance = Allowance(size)
    taken = 0
    for part in parts:
        taken += part
        if taken > most:
            with pytest.raises(LoadError, match="split it"):
                allowance.take(part)
            return
        allowance.take(part)
