"""Converts Word, PowerPoint and Excel files to Markdown; needs the `office` extra."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias
from urllib.parse import quote

from retrivex.errors import LoadError, describe_cause, install_hint
from retrivex.loading.html import html_with_pictures
from retrivex.loading.limits import Allowance
from retrivex.loading.markdown import first_heading
from retrivex.loading.package import check_entities, open_package
from retrivex.loading.report import Loaded
from retrivex.loading.sheets import read_rows
from retrivex.loading.tables import pipe_table
from retrivex.model.document import Document
from retrivex.model.media import Media, media_metadata

try:
    import mammoth
    from markitdown import StreamInfo
    from markitdown.converter_utils.docx.pre_process import pre_process_docx
    from markitdown.converters import PptxConverter
    from openpyxl import load_workbook
    from pptx import Presentation
except ImportError as error:
    raise ImportError(f"reading office files needs markitdown: {install_hint('office')}") from error

_XML = (".xml", ".rels", ".vml")
_SLIDE = re.compile(r"^<!-- Slide number: \d+ -->\n?", re.MULTILINE)
_IMAGE = re.compile(r"!\[([^\]\n]*)\]\(([^)\n]*)\)")
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SLIDES = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_EMBEDDED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}embed"
_STRUCK = ("sngStrike", "dblStrike")
_DELETION = re.compile(rb"<w:del[ >]")
_HIDDEN = re.compile(rb'<w:(?:vanish|specVanish)(?:\s+w:val="(?:1|true|on)")?\s*/>')
_TEXT_PART = re.compile(r"word/(?:document|footnotes|endnotes)\d*\.xml")
_HIDDEN_MARK = "retrivex-hidden"
_COMMENT = re.compile(rb"<w:comment[ >]")
_OPENS_PARTS_ALONE = hasattr(mammoth.docx.files, "ExternalFileAccessIsDisabledError")  # earlier ones fetch addresses

_Read: TypeAlias = tuple[str, tuple[int, ...], list[Media]]
"""Markdown, where its slides begin, and its pictures."""


def load_office(raw: bytes, doc_id: str, source: str | None = None, *, suffix: str) -> Loaded:
    """Read a DOCX, PPTX or XLSX file as Markdown; offsets count in that Markdown.

    Pages are slides; a sheet is a section with its name as the heading. Pictures of texts and slides become their
    description, and `media` of the metadata, with the name of their part behind that of the file. Hidden slides,
    sheets, rows and columns, and text that is struck out or deleted, are left out, with a note. Nothing is fetched:
    pictures and data that are only linked are left out.

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
    left_out: Counter[str] = Counter()
    try:
        text, starts, pictures = _READERS[suffix](raw, left_out)
    except (LoadError, MemoryError):
        raise
    except Exception as error:  # broken files make the readers below markitdown raise nearly anything
        said = describe_cause(error, 200)
        raise LoadError(f"it cannot be read as {suffix} ({said}); open it and save it anew") from error
    text = text.encode("utf-8", errors="replace").decode("utf-8")
    if not text.strip():
        raise LoadError("it is empty: there is no text to index")
    title = first_heading(text)
    notes = tuple(f"left out: {count:,} {kind}{'' if count == 1 else 's'}" for kind, count in (+left_out).items())
    name = posixpath.basename(doc_id)
    media = media_metadata(replace(one, uri=quote(f"{name}/{one.uri.lstrip('/')}")) for one in pictures)
    document = Document(
        doc_id, text, format="markdown", title=title, page_starts=starts, source=source, metadata=media
    )  # fmt: skip
    return Loaded(document, notes)


def _read_word(raw: bytes, left_out: Counter[str]) -> _Read:
    with open_package(raw, "office file") as package:
        body = package.read("word/document.xml")
        comments = package.read("word/comments.xml") if "word/comments.xml" in package.namelist() else b""
    left_out["tracked deletion"] += len(_DELETION.findall(body))
    left_out["comment"] += len(_COMMENT.findall(comments))

    def drop_unseen(run: Any) -> Any:
        is_hidden = run.highlight == _HIDDEN_MARK
        if not (is_hidden or run.is_strikethrough) or not run.children:
            return run
        left_out["hidden part" if is_hidden else "struck-out part"] += 1
        return run.copy(children=[])

    # mammoth itself: markitdown's way from its HTML to Markdown forgets which rows a cell covers
    html = mammoth.convert_to_html(
        pre_process_docx(io.BytesIO(_with_hidden_marked(raw))),
        convert_image=mammoth.images.img_element(lambda picture: {"src": _part_of(picture)}),
        transform_document=mammoth.transforms.run(drop_unseen),
    ).value
    text, pictures = html_with_pictures(html)
    return text, (), pictures


def _part_of(picture: Any) -> str:
    """Return the name of a picture's part; empty for one that is only linked."""
    if not _OPENS_PARTS_ALONE:
        return ""
    try:
        with picture.open() as part:
            return str(part.name)
    except (KeyError, ValueError):  # the part is missing; it is no part
        return ""


def _with_hidden_marked(raw: bytes) -> bytes:
    """Write hidden text of a Word file as highlighted: mammoth does not say what is hidden, but what is highlighted."""
    with open_package(raw, "office file") as package:
        parts = {part: package.read(part) for part in package.infolist()}
    if not any(_HIDDEN.search(content) for part, content in parts.items() if _TEXT_PART.fullmatch(part.filename)):
        return raw
    marked = io.BytesIO()
    with zipfile.ZipFile(marked, "w") as package:
        for part, content in parts.items():
            mark = f'<w:highlight w:val="{_HIDDEN_MARK}"/>'.encode()
            package.writestr(part, _HIDDEN.sub(mark, content) if _TEXT_PART.fullmatch(part.filename) else content)
    return marked.getvalue()


def _read_slides(raw: bytes, left_out: Counter[str]) -> _Read:
    # markitdown's front end is not called: it would also guess formats and fetch addresses
    made = Presentation(io.BytesIO(raw))
    parts: dict[str, str] = {}
    for slide in made.slides:
        if slide.element.get("show") in ("0", "false"):
            left_out["hidden slide"] += 1
            _empty(slide)
        for run in slide.element.findall(f".//{_DRAWING}r"):
            properties = run.find(f"{_DRAWING}rPr")
            if properties is not None and properties.get("strike") in _STRUCK:
                left_out["struck-out part"] += 1
                run.getparent().remove(run)
        for shape in list(slide.shapes):
            if shape.element.xpath("./*/p:cNvPr[@hidden='1' or @hidden='true']"):
                left_out["hidden object"] += 1
                shape.element.getparent().remove(shape.element)
            elif getattr(shape, "has_table", False):
                _fill_merged(shape.table)
        for picture in slide.element.iter(f"{_SLIDES}pic"):
            part = slide.part.rels.get(next((b.get(_EMBEDDED) for b in picture.iter(f"{_DRAWING}blip")), None))
            # markitdown names a picture after its shape, and takes the name where there is no description
            known = picture.nvPicPr.cNvPr
            known.set("descr", known.get("descr", "").strip() or known.get("name", ""))
            known.set("name", f"picture{len(parts)}")
            parts[f"picture{len(parts)}.jpg"] = "" if part is None or part.is_external else part.target_part.partname
    changed = io.BytesIO()
    made.save(changed)
    # The text is read, not rendered: `snake_case` must not become `snake\\_case`.
    plain = {"escape_asterisks": False, "escape_underscores": False}
    markdown = PptxConverter().convert(changed, StreamInfo(extension=".pptx"), **plain).markdown
    return _cut_marks(markdown.replace("\v", "\n"), parts)  # a line break within a paragraph of a slide


def _empty(slide: Any) -> None:
    """Take everything off a slide; it keeps its number."""
    for shape in list(slide.shapes):
        shape.element.getparent().remove(shape.element)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        slide.notes_slide.notes_text_frame.text = ""


def _fill_merged(table: Any) -> None:
    """Write the text of a cell over several rows into each of them."""
    for row in range(len(table.rows)):
        for column in range(len(table.columns)):
            cell = table.cell(row, column)
            if cell.is_merge_origin:
                for below in range(row + 1, row + cell.span_height):
                    table.cell(below, column).text = cell.text


def _read_sheets(raw: bytes, left_out: Counter[str]) -> _Read:
    # openpyxl itself: by way of data frames, empty cells would read `NaN`, nameless columns `Unnamed: 1`, and bars
    # within a cell would end it.
    book = load_workbook(io.BytesIO(raw), read_only=True, data_only=True, keep_links=False)
    allowance = Allowance(len(raw))
    sections = []
    for sheet in book.worksheets:
        if sheet.sheet_state != "visible":
            left_out["hidden sheet"] += 1
        elif table := pipe_table(read_rows(sheet, Allowance(len(raw)), left_out), allowance):
            sections.append(f"## {sheet.title}\n\n{table}\n")
    book.close()
    return "\n".join(sections), (), []


_READERS: Mapping[str, Callable[[bytes, Counter[str]], _Read]] = {
    ".docx": _read_word,
    ".pptx": _read_slides,
    ".xlsx": _read_sheets,
}


def _check_package(raw: bytes) -> None:
    """Refuse what is not a sound zip file, unpacks to too much, or declares entities (which may expand endlessly)."""
    with open_package(raw, "office file") as package:
        for part in package.infolist():
            if part.filename.lower().endswith(_XML):
                check_entities(part.filename, package.read(part))


def _cut_marks(markdown: str, parts: Mapping[str, str]) -> _Read:
    """Take markitdown's slide comments and pictures out of the text, and say where each stood."""
    text, starts, media = "", list[int](), list[Media]()
    for slide in _SLIDE.split(markdown):
        first, *rest = _IMAGE.split(slide)
        text += first
        for alt, target, after in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
            if parts.get(target):
                # one without a description stands at the end of what is before it
                at = len(text) if alt else max(0, len(text.rstrip()) - 1)
                media.append(Media(parts[target], None, alt, at, len(starts) or None))
            text += alt + after
        starts.append(len(text))
    return text, tuple(starts[:-1]), media
