"""Reads PDF files page by page; needs the `pdf` extra."""

from __future__ import annotations

import re
from datetime import datetime
from itertools import groupby
from threading import Lock

from retrivex.errors import LoadError, describe_cause, install_hint
from retrivex.loading.limits import Allowance
from retrivex.loading.report import Loaded
from retrivex.loading.running_lines import join_pages, remove_running_lines
from retrivex.model.document import Document

try:
    from pypdfium2 import PdfDocument, PdfiumError, PdfPage, PdfTextPage
    from pypdfium2 import raw as pdfium
except ImportError as error:
    raise ImportError(f"reading PDF files needs pypdfium2: {install_hint('pdf')}") from error

_GARBLED = re.compile(r"[\ufffd\ue000-\uf8ff\x01-\x08\x0e-\x1f]|\(cid:\d+\)")
_MAX_GARBLED = 0.3  # share of the characters that stand for no letter, above which a text layer is of no use
_LINE_END_HYPHEN = re.compile("\ufffe(?:\r\n)?")  # as PDFium writes it, whatever hyphen the page shows
_DATE = re.compile(r"D:(\d{4}(?:\d\d){0,5})(?:([+-]\d\d)'?(\d\d)?)?")
_LEAST = "00000101000000"  # year, month, ... where a date names none
_EXAMPLE_LENGTH = 40  # characters of a running line that a note quotes

_PDFIUM = Lock()  # PDFium must not be called from two threads at once


def load_pdf(raw: bytes, doc_id: str, source: str | None = None) -> Loaded:
    r"""Read the text layer of a PDF.

    The text is that of the pages, without running heads and feet (see `remove_running_lines`). `page_starts[i]` is
    where page `i + 1` begins; a page without text begins where the next one does. Pages are counted, not read off the
    paper.

    Raises
    ------
    LoadError
        If the file is broken, needs a password, has no text (a scan), far more text than a file of its size holds, or
        a text layer that is not readable.
    """
    with _PDFIUM:
        pdf = _open(raw)
        try:
            pages, deleted = _page_texts(pdf, Allowance(len(raw)))
            about = pdf.get_metadata_dict()
        finally:
            pdf.close()
    kept = remove_running_lines(pages)
    text, starts = join_pages(kept.texts)
    _check_readable(text, len(pages))
    document = Document(
        doc_id,
        text,
        title=" ".join(_clean(about["Title"]).split()) or None,
        page_starts=starts,
        source=source,
        timestamp=_timestamp(about["ModDate"]) or _timestamp(about["CreationDate"]),
    )
    notes = [*_note_empty(pages), *_note_removed(kept.removed)]
    if deleted:
        notes.append(f"left out: {deleted:,} struck-out passage{'s' * (deleted > 1)}")
    return Loaded(document, tuple(notes))


def _open(raw: bytes) -> PdfDocument:
    try:
        pdf = PdfDocument(raw)  # many files are encrypted with an empty password, only to forbid printing
        is_empty = len(pdf) == 0
    except PdfiumError as error:
        if error.err_code == pdfium.FPDF_ERR_PASSWORD:
            raise LoadError("it is encrypted and needs a password; save it without one") from error
        raise LoadError(f"it cannot be read as PDF ({describe_cause(error, 200)}); open it and save it anew") from error
    if is_empty:
        pdf.close()
        raise LoadError("it is a PDF without pages; leave it out")
    return pdf


def _page_texts(pdf: PdfDocument, allowance: Allowance) -> tuple[list[str], int]:
    """Return the text of each page, and how many struck-out passages are not in it."""
    texts, deleted = [], 0
    for number in range(len(pdf)):
        try:
            page = pdf[number]
            boxes = _strike_outs(page)
            texts.append(_clean(_text_outside(page.get_textpage(), boxes)))
            page.close()
        except PdfiumError as error:
            raise LoadError(
                f"page {number + 1} cannot be read ({describe_cause(error, 200)}); open the file and save it anew"
            ) from error
        allowance.take(len(texts[-1]))
        deleted += len(boxes)
    return texts, deleted


def _strike_outs(page: PdfPage) -> list[tuple[float, float, float, float]]:
    """Return the boxes that a reader has struck out: left, bottom, right, top."""
    boxes = []
    for number in range(pdfium.FPDFPage_GetAnnotCount(page)):
        mark = pdfium.FPDFPage_GetAnnot(page, number)
        if pdfium.FPDFAnnot_GetSubtype(mark) == pdfium.FPDF_ANNOT_STRIKEOUT:
            for part in range(pdfium.FPDFAnnot_CountAttachmentPoints(mark)):
                corners = pdfium.FS_QUADPOINTSF()
                if pdfium.FPDFAnnot_GetAttachmentPoints(mark, part, corners):
                    xs = [getattr(corners, f"x{corner}") for corner in range(1, 5)]
                    ys = [getattr(corners, f"y{corner}") for corner in range(1, 5)]
                    boxes.append((min(xs), min(ys), max(xs), max(ys)))
        pdfium.FPDFPage_CloseAnnot(mark)
    return boxes


def _text_outside(text: PdfTextPage, boxes: list[tuple[float, float, float, float]]) -> str:
    if not boxes:
        return str(text.get_text_range(errors="replace"))
    kept = [number for number in range(text.count_chars()) if not _lies_in(text.get_charbox(number), boxes)]
    return "".join(str(text.get_text_range(number, 1, errors="replace")) for number in kept)


def _lies_in(letter: tuple[float, float, float, float], boxes: list[tuple[float, float, float, float]]) -> bool:
    x, y = (letter[0] + letter[2]) / 2, (letter[1] + letter[3]) / 2
    return any(left <= x <= right and bottom <= y <= top for left, bottom, right, top in boxes)


def _clean(text: str) -> str:
    # Half a surrogate pair cannot be stored as UTF-8, and NULs end strings elsewhere.
    text = _LINE_END_HYPHEN.sub("-\n", text).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return text.encode("utf-8", errors="replace").decode("utf-8").strip()


def _check_readable(text: str, pages: int) -> None:
    if not text:
        raise LoadError(f"none of its {pages} pages has text: it is probably a scan; run OCR on it first")
    garbled = sum(len(found[0]) for found in _GARBLED.finditer(text))
    if garbled > _MAX_GARBLED * len(text):
        raise LoadError(
            f"its text layer is garbled: {garbled} of {len(text)} characters stand for no letter (fonts without a "
            "character map); run OCR on it first"
        )


def _note_empty(pages: list[str]) -> tuple[str, ...]:
    empty = [number for number, page in enumerate(pages, start=1) if not page]
    if not empty:
        return ()
    runs = [[number for _, number in run] for _, run in groupby(enumerate(empty), key=lambda pair: pair[1] - pair[0])]
    shown = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return (f"no text on page {shown} of {len(pages)}: pictures or scans",)


def _note_removed(lines: tuple[str, ...]) -> tuple[str, ...]:
    if not lines:
        return ()
    example = " ".join(max(lines, key=len).split())
    shown = example if len(example) <= _EXAMPLE_LENGTH else f"{example[:_EXAMPLE_LENGTH]}..."
    return (f"left out: {len(lines):,} running heads, feet and page numbers, such as {shown!r}",)


def _timestamp(date: str) -> float | None:
    """Return a date as PDF files write it as Unix seconds; None where it is none."""
    found = _DATE.match(date)
    if found is None:
        return None
    zone = f"{found[2]}{found[3] or '00'}" if found[2] else "+0000"
    try:
        return datetime.strptime(f"{found[1]}{_LEAST[len(found[1]) :]}{zone}", "%Y%m%d%H%M%S%z").timestamp()
    except (ValueError, OverflowError):  # a thirteenth month, a zone of 99 hours
        return None
