"""Files are made with python-docx, python-pptx and openpyxl; run where the office extra is installed."""

import contextlib
import datetime as dt
import io
import random
import socket
import zipfile
from pathlib import Path
from typing import Any

import pytest

from retrivex.chunking import get_chunker
from retrivex.errors import LoadError
from retrivex.loading import load_documents, load_file, package
from retrivex.loading.limits import LoadLimits
from retrivex.model.media import Media, read_media

pytestmark = pytest.mark.integration


@pytest.fixture
def office() -> Any:
    return pytest.importorskip("retrivex.loading.office", exc_type=ImportError)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a loader reached for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def saved(made: Any) -> bytes:
    stream = io.BytesIO()
    made.save(stream)
    return stream.getvalue()


def word_file() -> bytes:
    document = pytest.importorskip("docx").Document()
    document.add_heading("Bees", level=1)
    document.add_paragraph("Bees sleep at snake_case *.")
    document.add_heading("Hours", level=2)
    document.add_paragraph("first", style="List Bullet")
    document.add_paragraph("second", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip((c for row in table.rows for c in row.cells), ("Bee", "Hours", "honey", "5"), strict=True):
        cell.text = text
    return saved(document)


def slides() -> bytes:
    made = pytest.importorskip("pptx").Presentation()
    for title, body in (("Bees", "They sleep."), ("Wasps", "They do not.")):
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = body
    return saved(made)


def sheets() -> bytes:
    book = pytest.importorskip("openpyxl").Workbook()
    book.active.title = "Hours"
    for row in (("Bee", "Sleep"), ("honey", 5), (), ("mason|wool", 8.5, None), ("mining", None, "a\nnote")):
        book.active.append(row)
    book.create_sheet("Empty")
    book.create_sheet("Notes").append(("only", "row"))
    return saved(book)


def repacked(raw: bytes, name: str, content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            new.writestr(part, content if part.filename == name else old.read(part))
        if name not in old.namelist():
            new.writestr(name, content)
    return stream.getvalue()


def test_word(office: Any) -> None:
    document = office.load_office(word_file(), "bees.docx", "/x/bees.docx", suffix=".docx").document
    assert (document.format, document.title, document.source) == ("markdown", "Bees", "/x/bees.docx")
    lines = document.text.split("\n")
    assert lines[:5] == ["# Bees", "", "Bees sleep at snake_case *.", "", "## Hours"]
    assert [line[2:] for line in lines if line[:2] in ("* ", "- ")] == ["first", "second"]
    assert "| honey | 5 |" in lines


def test_slides_are_pages(office: Any) -> None:
    document = office.load_office(slides(), "a.pptx", suffix=".pptx").document
    assert "Slide number" not in document.text
    assert [document.page_at(document.text.index(word)) for word in ("Bees", "sleep", "Wasps", "not.")] == [1, 1, 2, 2]
    assert document.text[document.page_starts[1] :].startswith("# Wasps")
    assert document.title == "Bees"


def test_sheets_are_sections(office: Any) -> None:
    document = office.load_office(sheets(), "a.xlsx", suffix=".xlsx").document
    lines = document.text.split("\n")
    assert [line for line in lines if line.startswith("#")] == ["## Hours", "## Notes"]
    assert lines[2:8] == [
        "| Bee | Sleep |  |",
        "| --- | --- | --- |",
        "| honey | 5 |  |",
        "| mason\\|wool | 8.5 |  |",
        "| mining |  | a note |",
        "",
    ]


def test_pictures_become_their_description(office: Any) -> None:
    picture = io.BytesIO()
    pytest.importorskip("PIL.Image").new("RGB", (8, 8)).save(picture, "PNG")
    made = pytest.importorskip("docx").Document()
    made.add_paragraph("before")
    made.add_picture(picture)
    for properties in made.element.body.xpath("//wp:docPr"):
        properties.set("descr", "a bee asleep")
    made.add_paragraph("behind")
    document = office.load_office(saved(made), "docs/a#1.docx", suffix=".docx").document
    assert document.text.split() == ["before", "a", "bee", "asleep", "behind"]
    (one,) = read_media(document.metadata)
    assert document.text[: one.at + 1].split()[-1] == "asleep"
    (chunk,) = get_chunker("markdown").chunk(document)
    part = "docs/a#1.docx/word/media/image1.png"
    assert read_media(chunk.metadata.custom_metadata) == (Media(part, "image/png", "a bee asleep", one.at),)


def test_pictures_of_slides_are_named_by_their_part_on_their_slide(office: Any) -> None:
    image = pytest.importorskip("PIL.Image")
    pptx = pytest.importorskip("pptx")
    made = pptx.Presentation(io.BytesIO(slides()))
    for number, slide in enumerate(made.slides):
        picture = io.BytesIO()
        image.new("RGB", (8 + number, 8)).save(picture, "PNG")
        group = slide.shapes.add_group_shape() if number else slide
        picture.seek(0)
        shown = group.shapes.add_picture(picture, 0, 10**7)
        shown._element.nvPicPr.cNvPr.set("descr", "a nest" if number else " ")
        shown.name = f"Picture {number}"
    document = office.load_office(saved(made), "deck.pptx", suffix=".pptx").document
    first, second = (read_media(chunk.metadata.custom_metadata) for chunk in get_chunker("markdown").chunk(document))
    assert [(one.uri, one.media_type, one.alt, one.page) for one in (*first, *second)] == [
        ("deck.pptx/ppt/media/image1.png", "image/png", "Picture 0", 1),
        ("deck.pptx/ppt/media/image2.png", "image/png", "a nest", 2),
    ]
    assert document.text[second[0].at :].startswith("a nest")
    assert document.page_at(document.text.index("# Wasps")) == 2


def test_a_picture_that_is_only_linked_is_not_named(office: Any) -> None:
    document = pytest.importorskip("docx").Document()
    picture = io.BytesIO()
    pytest.importorskip("PIL.Image").new("RGB", (8, 8)).save(picture, "PNG")
    document.add_paragraph("before").add_run().add_picture(picture)
    for blip in document.element.body.xpath("//a:blip"):
        kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/image"
        linked = document.part.relate_to("https://example.org/bee.png", kind, is_external=True)
        for name in list(blip.attrib):
            del blip.attrib[name]
        blip.set("{http://schemas.openxmlformats.org/officeDocument/2006/relationships}link", linked)
    assert "media" not in office.load_office(saved(document), "a.docx", suffix=".docx").document.metadata


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused_before_anything_expands(office: Any, encoding: str) -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><d>&b;</d>'.encode(encoding)
    with pytest.raises(LoadError, match=r"'word/document.xml' declares XML entities"):
        office.load_office(repacked(word_file(), "word/document.xml", bomb), "a.docx", suffix=".docx")


def test_a_file_that_unpacks_to_too_much_is_refused(office: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "MAX_UNPACKED_BYTES", 100_000)
    bomb = repacked(word_file(), "word/media/zeros.bin", bytes(200_000))
    with pytest.raises(LoadError, match="the limit is 100,000 for its size; split it"):
        office.load_office(bomb, "a.docx", suffix=".docx")


@pytest.mark.parametrize("suffix", [".docx", ".pptx", ".xlsx"])
@pytest.mark.parametrize("raw", [b"", b"no zip", b"PK\x03\x04 cut off"])
def test_broken_files_are_refused(office: Any, suffix: str, raw: bytes) -> None:
    with pytest.raises(LoadError, match="not a sound office file"):
        office.load_office(raw, "a", suffix=suffix)


def test_the_wrong_kind_is_refused(office: Any) -> None:
    with pytest.raises(LoadError, match=r"cannot be read as \.pptx"):
        office.load_office(word_file(), "a.pptx", suffix=".pptx")


def test_an_empty_file_is_refused(office: Any) -> None:
    with pytest.raises(LoadError, match="it is empty"):
        office.load_office(saved(pytest.importorskip("docx").Document()), "a.docx", suffix=".docx")


def test_in_a_folder(office: Any, tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(word_file())
    (tmp_path / "b.pptx").write_bytes(slides())
    (tmp_path / "c.xlsx").write_bytes(sheets())
    (tmp_path / "d.docx").write_bytes(b"broken")
    documents, report = load_documents(tmp_path)
    assert [d.doc_id for d in documents] == ["a.docx", "b.pptx", "c.xlsx"]
    assert [Path(p.path).name for p in report.problems] == ["d.docx"]
    assert load_file(tmp_path / "a.docx") == documents[:1]


def raw_sheet(rows: str, shared: str = "") -> bytes:
    """Write a workbook of one sheet by hand, as no program would."""
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
    types = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    part = '<Override PartName="/xl/{}.xml" ContentType="' + types + '.{}+xml"/>'
    listed = part.format("workbook", "sheet.main") + part.format("sheet1", "worksheet")
    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        f"{listed}{part.format('strings', 'sharedStrings')}</Types>",
        "_rels/.rels": f'<Relationships {package}><Relationship Id="r1" Type="{kind}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook {main} xmlns:r="{kind}"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships {package}><Relationship Id="r1" Type="{kind}/worksheet" '
        f'Target="sheet1.xml"/><Relationship Id="r2" Type="{kind}/sharedStrings" Target="strings.xml"/>'
        "</Relationships>",
        "xl/strings.xml": f"<sst {main}><si><t>{shared}</t></si></sst>",
        "xl/sheet1.xml": f"<worksheet {main}><sheetData>{rows}</sheetData></worksheet>",
    }
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in parts.items():
            made.writestr(name, content)
    return stream.getvalue()


def number_cell(place: str, row: int) -> str:
    return f'<row r="{row}"><c r="{place}{row}"><v>{row}</v></c></row>'


def test_one_long_text_in_many_cells_is_refused(office: Any) -> None:
    cells = "".join(f'<row r="{n}"><c r="A{n}" t="s"><v>0</v></c></row>' for n in range(1, 4001))
    raw = raw_sheet(cells, "bee " * 25_000)
    assert len(raw) < 25_000
    with pytest.raises(LoadError, match=r"more than [\d,]+ characters come of its .* split it"):
        office.load_office(raw, "a.xlsx", suffix=".xlsx")


@pytest.mark.parametrize("rows", [400, 2000])
def test_empty_columns_are_no_text(office: Any, rows: int) -> None:
    raw = raw_sheet("".join(number_cell("XFD", n) for n in range(1, rows + 1)))
    text = office.load_office(raw, "a.xlsx", suffix=".xlsx").document.text
    assert text.split("\n")[2:5] == ["| 1 |", "| --- |", "| 2 |"]
    assert len(text) < 20 * rows


def test_rows_that_a_sheet_cannot_have_are_not_counted_up_to(office: Any) -> None:
    raw = raw_sheet(number_cell("A", 1) + number_cell("A", 2_000_000_000))
    assert office.load_office(raw, "a.xlsx", suffix=".xlsx").document.text == "## S\n\n| 1 |\n| --- |\n"


def test_an_office_file_that_takes_too_long_is_given_up(office: Any, tmp_path: Path) -> None:
    body = "<w:p/>" * 2_000_000
    xmlns = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    document = f"<w:document {xmlns}><w:body>{body}</w:body></w:document>".encode()
    path = tmp_path / "a.docx"
    path.write_bytes(repacked(word_file(), "word/document.xml", document))
    assert path.stat().st_size < 100_000
    with pytest.raises(LoadError, match="took longer than 3 s, the limit for one file"):
        load_file(path, limits=LoadLimits(timeout_s=3))
    path.write_bytes(repacked(word_file(), "word/document.xml", document.replace(body.encode(), body.encode() * 3)))
    with pytest.raises(LoadError, match=r"it unpacks to [\d,]+ bytes, the limit is 16,777,216 for its size; split it"):
        load_file(path)


def test_a_damaged_package_is_refused_in_our_words(office: Any) -> None:
    sound, draws = word_file(), random.Random(5)
    for _ in range(300):
        raw = bytearray(sound)
        at = draws.randrange(len(raw))
        raw[at : at + 4] = draws.randbytes(draws.choice((0, 1, 4, 9)))
        with contextlib.suppress(LoadError):
            office.load_office(bytes(raw), "damaged.docx", suffix=".docx")


# ---- as people see them: merged cells, hidden parts, formats, deleted text


def read(office: Any, raw: bytes, suffix: str) -> tuple[str, tuple[str, ...]]:
    loaded = office.load_office(raw, f"a{suffix}", suffix=suffix)
    return loaded.document.text, loaded.notes


def test_merged_cells_of_word_hold_for_every_row(office: Any) -> None:
    made = pytest.importorskip("docx").Document()
    table = made.add_table(rows=4, cols=3)
    rows = (("Region", "City", "Price"), ("North", "Kiel", "10"), ("", "Bremen", "12"), ("South", "Ulm", "9"))
    for cell, text in zip((c for row in table.rows for c in row.cells), sum(rows, ()), strict=True):
        cell.text = text
    table.cell(1, 0).merge(table.cell(2, 0)).text = "North"
    text, notes = read(office, saved(made), ".docx")
    assert text.split("\n")[:5] == [
        "| Region | City | Price |",
        "| --- | --- | --- |",
        "| North | Kiel | 10 |",
        "| North | Bremen | 12 |",
        "| South | Ulm | 9 |",
    ]
    assert notes == ()


def test_deleted_text_of_word_is_not_shown(office: Any) -> None:
    made = pytest.importorskip("docx").Document()
    paragraph = made.add_paragraph("Price: ")
    paragraph.add_run("forty ").font.strike = True
    paragraph.add_run("fifty ").font.double_strike = True
    paragraph.add_run("30 euros")
    tracked = (
        '<w:del w:id="1" w:author="A"><w:r><w:delText>sixty</w:delText></w:r></w:del><w:ins w:id="2" w:author="A">'
    )
    body = made.element.xml.replace("<w:r>", f"{tracked}<w:r><w:t>new </w:t></w:r></w:ins><w:r>", 1)
    text, notes = read(office, repacked(saved(made), "word/document.xml", body.encode()), ".docx")
    assert text == "new Price: 30 euros\n"
    assert notes == ("left out: 1 tracked deletion", "left out: 2 struck-out parts")


def test_hidden_text_of_word_is_not_shown(office: Any) -> None:
    made = pytest.importorskip("docx").Document()
    paragraph = made.add_paragraph("Bees sleep")
    paragraph.add_run(" secretly").font.hidden = True
    shown = paragraph.add_run(" at night.")
    shown.font.hidden = False
    shown.font.highlight_color = pytest.importorskip("docx.enum.text").WD_COLOR_INDEX.YELLOW
    text, notes = read(office, saved(made), ".docx")
    assert (text, notes) == ("Bees sleep at night.\n", ("left out: 1 hidden part",))


def test_rows_and_columns_of_no_size_and_hiding_formats(office: Any) -> None:
    book = pytest.importorskip("openpyxl").Workbook()
    sheet = book.active
    for row in (("Bee", "inner", "Sleep", "Food"), ("honey", "x", 5, 0), ("secret", "y", 6, 0), ("mason", "z", -7, 8)):
        sheet.append(row)
    sheet.column_dimensions["B"].width = 7
    sheet.row_dimensions[3].height = 5
    sheet["C2"].number_format = ";;;"
    sheet["D2"].number_format = "0;-0;;@"
    raw = saved(book)
    with zipfile.ZipFile(io.BytesIO(raw)) as package:
        part = package.read("xl/worksheets/sheet1.xml")
    part = part.replace(b'width="7"', b'width="0"').replace(b'ht="5"', b'ht="0"')
    text, notes = read(office, repacked(raw, "xl/worksheets/sheet1.xml", part), ".xlsx")
    assert text == ("## Sheet\n\n| Bee | Sleep | Food |\n| --- | --- | --- |\n| honey |  |  |\n| mason | -7 | 8 |\n")
    assert notes == ("left out: 2 hidden cells", "left out: 1 hidden row", "left out: 1 hidden column")


def test_hidden_parts_of_a_workbook(office: Any) -> None:
    book = pytest.importorskip("openpyxl").Workbook()
    sheet = book.active
    for row in (("Bee", "Note", "Sleep"), ("honey", "inner words", 5), ("secret", "x", 6), ("mason", "y", 7)):
        sheet.append(row)
    sheet.row_dimensions[3].hidden = True
    sheet.column_dimensions["B"].hidden = True
    sheet["A5"] = "old"
    sheet["A5"].font = pytest.importorskip("openpyxl.styles").Font(strike=True)
    for state in ("hidden", "veryHidden"):
        other = book.create_sheet(state)
        other.append(("plans",))
        other.sheet_state = state
    text, notes = read(office, saved(book), ".xlsx")
    assert text == "## Sheet\n\n| Bee | Sleep |\n| --- | --- |\n| honey | 5 |\n| mason | 7 |\n"
    assert notes == (
        "left out: 1 struck-out cell",
        "left out: 1 hidden row",
        "left out: 1 hidden column",
        "left out: 2 hidden sheets",
    )


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        (0.25, "0%", "25%"),
        (0.125, "0.0%", "12.5%"),
        (dt.datetime(2024, 3, 12), "dd.mm.yyyy", "2024-03-12"),
        (dt.datetime(2024, 3, 12, 13, 30), "dd.mm.yyyy", "2024-03-12"),
        (dt.datetime(2024, 3, 12, 13, 30), "yyyy-mm-dd hh:mm", "2024-03-12 13:30"),
        (dt.time(7, 5), "h:mm", "07:05"),
        (dt.timedelta(hours=26, minutes=3), "[h]:mm", "26:03"),
        (1234.5, "#,##0.00", "1,234.50"),
        (1234.5, '#,##0.00 "EUR"', "1,234.50 EUR"),
        (-3, "#,##0;[Red](#,##0)", "(3)"),
        (2.5, "[$$-409]#,##0.00", "$2.50"),
        (7, "00000", "00007"),
        (0.1 + 0.2, "General", "0.3"),
        (1.5, "# ?/?", "1.5"),
        (True, "General", "TRUE"),
        ("=1/0", "@", None),
    ],
)
def test_values_stand_as_the_sheet_shows_them(office: Any, value: Any, number_format: str, shown: str | None) -> None:
    book = pytest.importorskip("openpyxl").Workbook()
    book.active.append(("head", "x"))
    book.active["A2"] = value
    book.active["A2"].number_format = number_format
    text, _ = read(office, saved(book), ".xlsx")
    expected = "" if shown is None else f"| {shown} |  |\n"
    assert text == f"## Sheet\n\n| head | x |\n| --- | --- |\n{expected}"


def test_merged_cells_of_a_sheet_hold_for_every_row(office: Any) -> None:
    book = pytest.importorskip("openpyxl").Workbook()
    sheet = book.active
    for row in (("Region", "City"), ("North", "Kiel"), ("", "Bremen"), ("", "Emden"), ("South", "Ulm")):
        sheet.append(row)
    sheet.merge_cells("A2:A4")
    sheet.row_dimensions[2].hidden = True  # the cell is seen beside the rows below
    raw = saved(book)
    with zipfile.ZipFile(io.BytesIO(raw)) as package:
        part = package.read("xl/worksheets/sheet1.xml")
    # a cell that claims to cover the whole sheet costs nothing
    part = part.replace(b"</mergeCells>", b'<mergeCell ref="C1:XFD1048576"/></mergeCells>')
    text, _ = read(office, repacked(raw, "xl/worksheets/sheet1.xml", part), ".xlsx")
    lines = text.split("\n")
    assert lines[4:7] == ["| North | Bremen |", "| North | Emden |", "| South | Ulm |"]


def test_hidden_slides_and_struck_out_words(office: Any) -> None:
    made = pytest.importorskip("pptx").Presentation()
    for words in ("first", "secret", "last"):
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text = f"Slide {words}"
        slide.placeholders[1].text = f"Words of {words}"
        slide.notes_slide.notes_text_frame.text = f"Note of {words}"
    made.slides[1].element.set("show", "0")
    box = made.slides[0].shapes.add_textbox(0, 0, 9999, 9999)
    box.text_frame.text = "secret box"
    box.element.nvSpPr.cNvPr.set("hidden", "1")
    made.slides[2].placeholders[1].text_frame.paragraphs[0].add_run().text = " struck"
    made.slides[2].placeholders[1].text_frame.paragraphs[0].runs[-1].font._rPr.set("strike", "sngStrike")
    document = office.load_office(saved(made), "a.pptx", suffix=".pptx")
    text = document.document.text
    assert "secret" not in text
    assert "struck" not in text
    assert "Note of first" in text
    assert document.document.page_at(text.index("Words of last")) == 3
    assert document.notes == ("left out: 1 hidden object", "left out: 1 hidden slide", "left out: 1 struck-out part")


def test_merged_cells_of_a_slide_hold_for_every_row(office: Any) -> None:
    made = pytest.importorskip("pptx").Presentation()
    slide = made.slides.add_slide(made.slide_layouts[6])
    table = slide.shapes.add_table(3, 2, 0, 0, 99999, 99999).table
    for place, words in (((0, 0), "Region"), ((0, 1), "City"), ((1, 0), "North"), ((1, 1), "Kiel"), ((2, 1), "Bremen")):
        table.cell(*place).text = words
    table.cell(1, 0).merge(table.cell(2, 0))
    text, _ = read(office, saved(made), ".pptx")
    assert "| North | Kiel |" in text
    assert "| North | Bremen |" in text
