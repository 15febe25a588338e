"""Reads PDF files page by page; needs the `pdf` extra."""

from __future__ import annotations

import io
import logging
import re
from itertools import groupby

from retrivex.errors import LoadError, describe_cause, install_hint
from retrivex.loading.limits import Allowance
from retrivex.loading.report import Loaded
from retrivex.model.document import Document

try:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError
except ImportError as error:
    raise ImportError(f"reading PDF files needs pypdf: {install_hint('pdf')}") from error

PAGE_SEPARATOR = "\n\n"
"""Stands between the texts of two pages; it belongs to the page before it."""

_GARBLED = re.compile(r"[\ufffd\ue000-\uf8ff\x01-\x08\x0e-\x1f]|\(cid:\d+\)")
_MAX_GARBLED = 0.3  # share of the characters that stand for no letter, above which a text layer is of no use

# pypdf logs what it repairs; without a handler, Python would write that to the user's terminal.
logging.getLogger("pypdf").addHandler(logging.NullHandler())


def load_pdf(raw: bytes, doc_id: str, source: str | None = None) -> Loaded:
    r"""Read the text layer of a PDF.

    The text is that of the pages, joined by `PAGE_SEPARATOR`; `page_starts[i]` is where page `i + 1` begins. A page
    without text begins where the next one does. Pages are counted, not read off the paper.

    Raises
    ------
    LoadError
        If the file is broken, needs a password, has no text (a scan), far more text than a file of its size holds, or
        a text layer that is not readable.
    """
    reader = _open(raw)
    pages = _page_texts(reader, Allowance(len(raw)))
    text, starts = _join(pages)
    _check_readable(text, len(pages))
    document = Document(
        doc_id,
        text,
        title=_title(reader),
        page_starts=starts,
        source=source,
        timestamp=_timestamp(reader),
    )
    return Loaded(document, _notes(pages))


def _open(raw: bytes) -> PdfReader:
    try:
        reader = PdfReader(io.BytesIO(raw))
        # Many files are encrypted with an empty password, only to forbid printing.
        locked = reader.is_encrypted and not reader.decrypt("")
        if not locked and len(reader.pages) == 0:
            raise LoadError("it is a PDF without pages; leave it out")
    except (LoadError, MemoryError):
        raise
    except DependencyError as error:
        raise LoadError("it is encrypted with AES: pip install cryptography, or save it without encryption") from error
    except Exception as error:  # broken files make pypdf raise nearly anything
        raise LoadError(f"it cannot be read as PDF ({describe_cause(error, 200)}); open it and save it anew") from error
    if locked:
        raise LoadError("it is encrypted and needs a password; save it without one")
    return reader


def _page_texts(reader: PdfReader, allowance: Allowance) -> list[str]:
    texts = []
    for number in range(len(reader.pages)):
        try:
            texts.append(_clean(reader.pages[number].extract_text()))
            allowance.take(len(texts[-1]))
        except (LoadError, MemoryError):
            raise
        except Exception as error:
            raise LoadError(
                f"page {number + 1} cannot be read ({describe_cause(error, 200)}); open the file and save it anew"
            ) from error
    return texts


def _clean(text: str) -> str:
    # Half a surrogate pair cannot be stored as UTF-8, and NULs end strings elsewhere.
    return text.replace("\0", "").encode("utf-8", errors="replace").decode("utf-8").strip()


def _join(pages: list[str]) -> tuple[str, tuple[int, ...]]:
    last = max((number for number, page in enumerate(pages) if page), default=-1)
    starts, pieces, length = [], [], 0
    for number, page in enumerate(pages):
        starts.append(length)
        piece = page + PAGE_SEPARATOR if page and number < last else page
        pieces.append(piece)
        length += len(piece)
    return "".join(pieces), tuple(starts)


def _check_readable(text: str, pages: int) -> None:
    if not text:
        raise LoadError(f"none of its {pages} pages has text: it is probably a scan; run OCR on it first")
    garbled = sum(len(found[0]) for found in _GARBLED.finditer(text))
    if garbled > _MAX_GARBLED * len(text):
        raise LoadError(
            f"its text layer is garbled: {garbled} of {len(text)} characters stand for no letter (fonts without a "
            "character map); run OCR on it first"
        )


def _notes(pages: list[str]) -> tuple[str, ...]:
    empty = [number for number, page in enumerate(pages, start=1) if not page]
    if not empty:
        return ()
    runs = [[number for _, number in run] for _, run in groupby(enumerate(empty), key=lambda pair: pair[1] - pair[0])]
    shown = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return (f"no text on page {shown} of {len(pages)}: pictures or scans",)


def _title(reader: PdfReader) -> str | None:
    try:
        title = reader.metadata.title if reader.metadata is not None else None
    except Exception:  # noqa: BLE001  a broken title is no reason to lose the text
        return None
    return " ".join(_clean(title).split()) or None if isinstance(title, str) else None


def _timestamp(reader: PdfReader) -> float | None:
    """When it was last changed, else created; None where the file gives no date that can be read."""
    try:
        metadata = reader.metadata
        moment = (metadata.modification_date or metadata.creation_date) if metadata is not None else None
    except Exception:  # noqa: BLE001  nor is a broken date
        return None
    return moment.timestamp() if moment is not None else None
