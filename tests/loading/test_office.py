"""Files are made with python-docx, python-pptx and openpyxl; run where the office extra is installed."""

import io
import socket
import zipfile
from pathlib import Path
from typing import Any

import pytest

from retrivex.errors import LoadError
from retrivex.loading import load_documents, load_file

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
    text = office.load_office(saved(made), "a.docx", suffix=".docx").document.text
    assert text.split() == ["before", "a", "bee", "asleep"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused_before_anything_expands(office: Any, encoding: str) -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><d>&b;</d>'.encode(encoding)
    with pytest.raises(LoadError, match=r"'word/document.xml' declares XML entities"):
        office.load_office(repacked(word_file(), "word/document.xml", bomb), "a.docx", suffix=".docx")


def test_a_file_that_unpacks_to_too_much_is_refused(office: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office, "MAX_UNPACKED_BYTES", 100_000)
    bomb = repacked(word_file(), "word/media/zeros.bin", bytes(200_000))
    with pytest.raises(LoadError, match="the limit is 100,000; split it"):
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
