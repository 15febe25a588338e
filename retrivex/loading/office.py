"""Converts Word, PowerPoint and Excel files to Markdown; needs the `office` extra."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any

from retrivex.errors import LoadError, describe_cause, install_hint
from retrivex.loading.limits import Allowance
from retrivex.loading.markdown import first_heading
from retrivex.loading.report import Loaded
from retrivex.loading.tables import Cell, pipe_table
from retrivex.model.document import Document

try:
    from markitdown import StreamInfo
    from markitdown.converters import DocxConverter, PptxConverter
    from openpyxl import load_workbook
except ImportError as error:
    raise ImportError(f"reading office files needs markitdown: {install_hint('office')}") from error

MAX_UNPACKED_BYTES = 512 * 1024 * 1024
"""Most an office file may hold when unpacked; a small zip file can be made to unpack to a full disk."""

MAX_UNPACKING = 100
"""Bytes that each byte of a packed file may unpack to, where that is more than `SMALL_UNPACKED_BYTES`."""

SMALL_UNPACKED_BYTES = 16 * 1024 * 1024
"""What any office file may unpack to, however small."""

MAX_ROWS = 1_048_576
"""Rows of a sheet that Excel knows; a file may number them up to any number."""

# The converters are called one by one: markitdown's own front end would also guess formats and fetch addresses.
_CONVERTERS: Mapping[str, Any] = {".docx": DocxConverter, ".pptx": PptxConverter}
_XML = (".xml", ".rels", ".vml")
_SLIDE = re.compile(r"^<!-- Slide number: \d+ -->\n?", re.MULTILINE)
_IMAGE = re.compile(r"!\[([^\]\n]*)\]\([^)\n]*\)")


def load_office(raw: bytes, doc_id: str, source: str | None = None, *, suffix: str) -> Loaded:
    """Read a DOCX, PPTX or XLSX file as Markdown; offsets count in that Markdown.

    Pages are slides; a sheet is a section with its name as the heading. Pictures become their description.
    Nothing is fetched: pictures and data that are only linked are left out.

    Parameters
    ----------
    raw, doc_id, source : the file, its name and where it lies
    suffix : `.docx`, `.pptx` or `.xlsx`

    Raises
    ------
    LoadError
        If the file is broken, protected by a password, unpacks to too much, makes far more text than a file of its
        size holds, declares XML entities, or has no text.
    """
    _check_package(raw)
    try:
        markdown = _sheets(raw, Allowance(len(raw))) if suffix == ".xlsx" else _convert(raw, suffix)
    except (LoadError, MemoryError):
        raise
    except Exception as error:  # broken files make the readers below markitdown raise nearly anything
        said = describe_cause(error, 200)
        raise LoadError(f"it cannot be read as {suffix} ({said}); open it and save it anew") from error
    text = _IMAGE.sub(r"\1", markdown).encode("utf-8", errors="replace").decode("utf-8")
    text, starts = _cut_slide_marks(text)
    if not text.strip():
        raise LoadError("it is empty: there is no text to index")
    title = first_heading(text)
    return Loaded(Document(doc_id, text, format="markdown", title=title, page_starts=starts, source=source))


def _convert(raw: bytes, suffix: str) -> str:
    # The text is read, not rendered: `snake_case` must not become `snake\_case`.
    plain = {"escape_asterisks": False, "escape_underscores": False}
    markdown: str = _CONVERTERS[suffix]().convert(io.BytesIO(raw), StreamInfo(extension=suffix), **plain).markdown
    return markdown.replace("\v", "\n")  # a line break within a paragraph of a slide


def _sheets(raw: bytes, allowance: Allowance) -> str:
    # openpyxl itself: by way of data frames, empty cells would read `NaN`, nameless columns `Unnamed: 1`, and bars
    # within a cell would end it.
    book = load_workbook(io.BytesIO(raw), read_only=True, data_only=True, keep_links=False)
    sections = []
    for sheet in book.worksheets:
        sheet.reset_dimensions()  # some programs write wrong ones, which would cut rows off
        rows = _filled_rows(sheet.iter_rows(max_row=MAX_ROWS, values_only=True), Allowance(allowance.size))
        if table := pipe_table(rows, allowance):
            sections.append(f"## {sheet.title}\n\n{table}\n")
    book.close()
    return "\n".join(sections)


def _filled_rows(sheet: Iterable[tuple[object, ...]], allowance: Allowance) -> list[list[Cell]]:
    """Cells of a sheet without the rows and columns that hold nothing."""
    rows: list[dict[int, str]] = []
    for values in sheet:
        row = {}
        for column, value in enumerate(values):
            if value is not None and (text := " ".join(str(value).split())):
                allowance.take(len(text))
                row[column] = text
        if row:
            rows.append(row)
    columns = sorted({column for row in rows for column in row})
    allowance.take(len(rows) * len(columns))  # a cell for each is made before the table counts them
    return [[Cell(row.get(column, "")) for column in columns] for row in rows]


def _check_package(raw: bytes) -> None:
    """Refuse what is not a sound zip file, unpacks to too much, or declares entities (which may expand endlessly)."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as package:
            unpacked = sum(part.file_size for part in package.infolist())
            most = min(max(SMALL_UNPACKED_BYTES, MAX_UNPACKING * len(raw)), MAX_UNPACKED_BYTES)
            if unpacked > most:
                raise LoadError(f"it unpacks to {unpacked:,} bytes, the limit is {most:,} for its size; split it")
            for part in package.infolist():
                if part.filename.lower().endswith(_XML):
                    _check_entities(part.filename, package.read(part))
    except LoadError:
        raise
    except Exception as error:  # broken packages make zipfile, and what unpacks for it, raise nearly anything
        raise LoadError(
            "it is not a sound office file (broken, an old format, or protected by a password); save it anew"
        ) from error


def _check_entities(name: str, xml: bytes) -> None:
    # without NULs, UTF-16 reads as ASCII here
    if b"<!doctype" in (plain := xml.replace(b"\0", b"").lower()) or b"<!entity" in plain:
        raise LoadError(f"its part {name!r} declares XML entities, which office files never need; leave it out")


def _cut_slide_marks(markdown: str) -> tuple[str, tuple[int, ...]]:
    """Take markitdown's slide comments out of the text and say where each stood."""
    starts: list[int] = []
    pieces: list[str] = []
    length = end = 0
    for mark in _SLIDE.finditer(markdown):
        pieces.append(markdown[end : mark.start()])
        length += mark.start() - end
        starts.append(length)
        end = mark.end()
    pieces.append(markdown[end:])
    return "".join(pieces), tuple(starts)
