"""Reads Jupyter notebooks as Markdown: text cells as they are, code fenced, with short outputs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from retrivex.errors import LoadError
from retrivex.loading.markdown import first_heading
from retrivex.loading.report import Loaded
from retrivex.loading.text import decode
from retrivex.model.document import Document

MAX_OUTPUT_LINES = 20
"""Lines that are kept of one output."""

MAX_OUTPUT_CHARACTERS = 2_000
"""Characters that are kept of one output."""

_TERMINAL_CODE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
# what a picture prints of itself tells nothing: <Figure size 640x480 with 1 Axes>
_OBJECT = re.compile(r"(?:<[^<>\n]*>)?")
_OLD_PICTURES = frozenset({"png", "jpeg", "svg"})
# a picture within the file: its description stays
_EMBEDDED_PICTURE = re.compile(
    r"!\[([^\]\n]*)\]\((?:data:|attachment:)[^)\n]*\)|<img\b[^>]*\bsrc=[\"']data:[^>]*>", re.I
)


def load_notebook(raw: bytes, doc_id: str, source: str | None = None) -> Loaded:
    """Read an `.ipynb` file as Markdown; offsets count in that Markdown.

    Markdown cells stand as they are, code cells as code of the notebook's language, and what they print as code
    behind them. A long output is cut, and pictures are left out, with a note.

    Raises
    ------
    LoadError
        If it is no notebook, or no cell has text.
    """
    book = _parse(raw)
    left_out: Counter[str] = Counter()
    blocks = [block for cell in _cells(book) for block in _blocks(cell, _language(book), left_out) if block.strip()]
    if not blocks:
        raise LoadError("it is empty: no cell of the notebook has text")
    text = "\n\n".join(blocks) + "\n"
    title = _mapping(book.get("metadata")).get("title")
    title = title if isinstance(title, str) and title else first_heading(text)
    notes = [f"{kind}: {count:,}" for kind, count in left_out.items()]
    return Loaded(Document(doc_id, text, format="markdown", title=title, source=source), tuple(notes))


def _parse(raw: bytes) -> Mapping[str, Any]:
    try:
        book = json.loads(decode(raw).text)
    except (ValueError, RecursionError) as error:
        raise LoadError(f"it cannot be read as a notebook ({error}); open it in Jupyter and save it anew") from error
    if not isinstance(book, dict) or not ("cells" in book or "worksheets" in book):
        raise LoadError("it is no notebook: its JSON has no `cells`; leave it out, or name it .json")
    return book


def _cells(book: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    # notebooks of IPython 3 and before have their cells in worksheets
    sheets = [book, *map(_mapping, _list(book.get("worksheets")))]
    return (_mapping(cell) for sheet in sheets for cell in _list(sheet.get("cells")))


def _language(book: Mapping[str, Any]) -> str:
    metadata = _mapping(book.get("metadata"))
    known = (_mapping(metadata.get("language_info")).get("name"), _mapping(metadata.get("kernelspec")).get("language"))
    return next((name for name in known if isinstance(name, str) and re.fullmatch(r"[\w+#.-]+", name)), "python")


def _blocks(cell: Mapping[str, Any], language: str, left_out: Counter[str]) -> Iterator[str]:
    text = _joined(cell.get("source", cell.get("input"))).strip("\n").rstrip()
    kind = cell.get("cell_type")
    if kind == "code":
        yield _fenced(text, language)
        for output in _list(cell.get("outputs")):
            yield _fenced(_cut(_output_text(_mapping(output), left_out), left_out), "text")
    elif kind == "heading":  # of IPython 3 and before
        level = cell.get("level")
        yield f"{'#' * (level if isinstance(level, int) and 1 <= level <= 6 else 1)} {' '.join(text.split())}"
    elif kind == "raw":
        yield _fenced(text, "")
    else:
        text, pictures = _EMBEDDED_PICTURE.subn(r"\1", text)
        _count(left_out, "pictures left out", pictures)
        yield text


def _output_text(output: Mapping[str, Any], left_out: Counter[str]) -> str:
    if output.get("output_type") in ("error", "pyerr"):
        return f"{output.get('ename', 'Error')}: {output.get('evalue', '')}"
    data = _mapping(output.get("data", output))  # IPython 3 and before have no `data` between
    text = _joined(data.get("text/plain", data.get("text")))
    kinds = {kind for kind in data if kind.startswith(("image/", "text/html", "application/")) or kind in _OLD_PICTURES}
    if not kinds or not _OBJECT.fullmatch(text.strip()):
        return text
    left_out["outputs that are no text (pictures, ...) left out"] += 1
    return ""


def _cut(text: str, left_out: Counter[str]) -> str:
    text = _TERMINAL_CODE.sub("", text).strip("\n").rstrip()
    lines = text.split("\n")
    kept = "\n".join(lines[:MAX_OUTPUT_LINES])[:MAX_OUTPUT_CHARACTERS].rstrip()
    if kept == text:
        return text
    _count(left_out, f"outputs cut after {MAX_OUTPUT_LINES} lines or {MAX_OUTPUT_CHARACTERS:,} characters", 1)
    return f"{kept}\n..."


def _count(left_out: Counter[str], kind: str, count: int) -> None:
    if count:
        left_out[kind] += count


def _fenced(code: str, language: str) -> str:
    if not code.strip():
        return ""
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", code)), default=0))
    return f"{fence}{language}\n{code}\n{fence}"


def _joined(value: object) -> str:
    """Return a text of a notebook, which may be a list of its lines."""
    lines: Sequence[object] = value if isinstance(value, list) else [value]
    return "".join(line for line in lines if isinstance(line, str))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
