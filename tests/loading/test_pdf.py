from datetime import UTC, datetime
from itertools import pairwise

import pytest
from fpdf import FPDF

from retrivex.errors import LoadError

pytest.importorskip("pypdfium2")
from pypdfium2 import PdfiumError

from retrivex.loading.pdf import load_pdf
from retrivex.loading.running_lines import PAGE_SEPARATOR, remove_running_lines

CREATED = datetime(2024, 5, 1, tzinfo=UTC)


def make_pdf(pages: list[str], *, title: str | None = None, password: str | None = None) -> bytes:
    pdf = FPDF()
    pdf.set_creation_date(CREATED)
    pdf.set_font("Helvetica", size=12)
    if title is not None:
        pdf.set_title(title)
    if password is not None:
        pdf.set_encryption(owner_password="owner", user_password=password)
    for text in pages:
        pdf.add_page()
        if text:
            pdf.multi_cell(0, text=text)
    return bytes(pdf.output())


def test_every_page_begins_where_page_starts_says() -> None:
    pages = ["Bees sleep at night.", "They dream.\nIn two lines.", "The end."]
    document = load_pdf(make_pdf(pages, title="Bees"), "bees.pdf", "/x/bees.pdf").document
    assert document.text == PAGE_SEPARATOR.join(pages)
    bounds = pairwise([*document.page_starts, len(document.text)])
    cut = [document.text[start:end].removesuffix(PAGE_SEPARATOR) for start, end in bounds]
    assert cut == pages
    assert document.page_at(document.text.index("dream")) == 2
    assert (document.title, document.format, document.source) == ("Bees", "text", "/x/bees.pdf")
    assert document.timestamp == CREATED.timestamp()


def test_pages_without_text_are_noted_and_keep_the_numbers_right() -> None:
    loaded = load_pdf(make_pdf(["", "Two.", "", "", "Five.", ""]), "a.pdf")
    assert loaded.document.text == "Two." + PAGE_SEPARATOR + "Five."
    assert loaded.document.page_starts == (0, 0, 6, 6, 6, 11)
    assert loaded.document.page_at(0) == 2
    assert loaded.document.page_at(loaded.document.text.index("Five")) == 5
    assert loaded.notes == ("no text on page 1, 3-4, 6 of 6: pictures or scans",)


class Report(FPDF):
    def header(self) -> None:
        self.cell(0, 10, "ACME Corp - Confidential", new_x="LMARGIN", new_y="NEXT")

    def footer(self) -> None:
        self.set_y(-15)
        self.cell(0, 10, f"Page {self.page_no()} of 4")


def make_report(pages: list[str]) -> bytes:
    pdf = Report()
    pdf.set_font("Helvetica", size=12)
    for text in pages:
        pdf.add_page()
        pdf.multi_cell(0, text=text)
    return bytes(pdf.output())


def test_heads_and_feet_are_left_out_and_a_sentence_overleaf_is_whole() -> None:
    pages = [
        "Loans run for five years. The interest rate is",
        "4.2 percent a year. It is fixed.",
        "Fees are none.",
        "End.",
    ]
    loaded = load_pdf(make_report(pages), "loan.pdf")
    document = loaded.document
    assert document.text == f"{pages[0]}\n" + PAGE_SEPARATOR.join(pages[1:])
    assert [document.page_at(document.text.index(page)) for page in pages] == [1, 2, 3, 4]
    assert loaded.notes == ("left out: 8 running heads, feet and page numbers, such as 'ACME Corp - Confidential'",)


@pytest.mark.parametrize(
    ("pages", "kept"),
    [
        (["Manual\nOne.", "Manual\nTwo."], ["One.", "Two."]),
        (["One.\nii", "Two.\niii", "Three.\n1", "Four.\n2"], ["One.", "Two.", "Three.", "Four."]),
        (["One.\n- ii -", "Two.\n- iii -", "Three.\n- iv -"], ["One.", "Two.", "Three."]),
        (["One.\nPage ii", "Two.\nPage iii", "Three.\nPage iv"], ["One.", "Two.", "Three."]),
        (
            ["4 Bees\nOne.", "Sleep 5\nTwo.", "6 Bees\nA.", "Sleep 7\nB.", "8 Bees\nC.", "Sleep 9\nD."],
            ["One.", "Two.", "A.", "B.", "C.", "D."],
        ),
        (["One.\n1", "Two.\n2", "Three.\n4 flies"], None),
        (["Bees\nOne.", "Bees\nTwo.", "Ants\nThree.", "Wasps\nFour."], None),  # twice only: two sections
        (["Order 17\nOne.", "Order 92\nTwo.", "Order 5\nThree."], None),  # no page has such numbers
        (["Bees", "Bees", "Bees"], None),  # nothing else would be left
        (
            ["A.\nSame words in the middle.\nB.\nC.\nD.\nE.\nF.", "G.\nH.\nI.\nSame words in the middle.\nK.\nL.\nM."],
            None,
        ),
    ],
)
def test_what_a_running_line_is(pages: list[str], kept: list[str] | None) -> None:
    text = load_pdf(make_pdf(pages), "a.pdf").document.text
    assert text.split() == " ".join(kept or pages).split()


def test_a_number_that_python_does_not_read_is_no_obstacle() -> None:
    pages = ("9" * 5000 + "\nOne.", "1\nTwo.")
    assert remove_running_lines(pages).texts == pages


@pytest.mark.parametrize(
    ("page", "after", "joined"),
    [
        ("The rate is", "4.2 percent.", True),
        ("It is infor-", "mation.", True),
        ("Rates are fixed for a year,\nand the bank in the town of", "Kiel sets them anew.", True),
        ("It ends here.", "and so on", False),
        ("Chapter 2\nThe long lines of a page reach as far as this one.\nBees", "Ants", False),
    ],
)
def test_a_sentence_goes_on_overleaf(page: str, after: str, joined: bool) -> None:
    document = load_pdf(make_pdf([page, after]), "a.pdf").document
    assert document.text == page + ("\n" if joined else PAGE_SEPARATOR) + after
    assert document.page_at(document.text.index(after)) == 2


def test_what_is_struck_out_is_left_out() -> None:
    pdf = FPDF()
    pdf.set_font("Helvetica", size=12)
    pdf.add_page()
    pdf.write(text="The price is forty thirty euros.")
    left, right = (
        28.35 + 2.83 + pdf.get_string_width(words) * pdf.k for words in ("The price is ", "The price is forty ")
    )
    pdf.add_text_markup_annotation("StrikeOut", "no", [left, 814, right, 814, left, 801, right, 801])
    loaded = load_pdf(bytes(pdf.output()), "a.pdf")
    assert " ".join(loaded.document.text.split()) == "The price is thirty euros."
    assert loaded.notes == ("left out: 1 struck-out passage",)


def test_cells_of_a_row_stand_on_one_line() -> None:
    pdf = FPDF()
    pdf.set_font("Helvetica", size=12)
    pdf.add_page()
    with pdf.table() as table:
        for cells in (("Region", "City", "Price"), ("North", "Kiel", "10")):
            row = table.row()
            for cell in cells:
                row.cell(cell)
    assert load_pdf(bytes(pdf.output()), "a.pdf").document.text == "Region City Price\nNorth Kiel 10"


def test_no_title_is_no_title() -> None:
    assert load_pdf(make_pdf(["text"]), "a.pdf").document.title is None


def test_an_empty_password_is_no_obstacle() -> None:
    assert load_pdf(make_pdf(["open"], password=""), "a.pdf").document.text == "open"


def test_a_password_is() -> None:
    with pytest.raises(LoadError, match="needs a password; save it without one"):
        load_pdf(make_pdf(["secret"], password="hidden"), "a.pdf")


def test_a_scan_is_refused() -> None:
    with pytest.raises(LoadError, match=r"none of its 2 pages has text.*OCR"):
        load_pdf(make_pdf(["", ""]), "a.pdf")


def test_a_text_layer_of_no_letters_is_refused() -> None:
    # A font whose map sends every letter into the private use area, as broken converters write it.
    cmap = b"1 beginbfrange <00> <FF> <E000> endbfrange"
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>",
        b"<< /Length 42 >> stream\nBT /F 9 Tf 9 9 Td (Bees sleep at night) Tj ET\nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Odd /ToUnicode 6 0 R >>",
        b"<< /Length %d >> stream\n%s\nendstream" % (len(cmap), cmap),
    ]
    body, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    table = b"xref\n0 7\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    raw = body + table + b"trailer << /Size 7 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % len(body)
    with pytest.raises(LoadError, match="text layer is garbled"):
        load_pdf(raw, "a.pdf")


@pytest.mark.parametrize("raw", [b"", b"no PDF at all", b"%PDF-1.7\n%%EOF", make_pdf(["text"])[:400]])
def test_broken_files_are_refused(raw: bytes) -> None:
    with pytest.raises(LoadError, match=r"cannot be read|without pages"):
        load_pdf(raw, "a.pdf")


def test_any_byte_may_be_broken() -> None:
    sound = make_pdf(["Bees sleep at night."])
    for place in range(0, len(sound), 7):
        broken = sound[:place] + bytes([sound[place] ^ 0x15]) + sound[place + 1 :]
        try:
            load_pdf(broken, "a.pdf")
        except LoadError as error:
            assert str(error)  # noqa: PT017  no other error may come out


def test_an_address_that_a_reader_quotes_is_without_its_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise PdfiumError(f"{'x' * 160} https://{'S3CRET' * 20}@host/x?key=S3CRET was not found")

    monkeypatch.setattr("retrivex.loading.pdf.PdfDocument", fail)
    with pytest.raises(LoadError, match=r"cannot be read as PDF \(PdfiumError: xxx.* https://host/x was") as told:
        load_pdf(b"%PDF-", "a")
    assert "S3CRET" not in str(told.value)
