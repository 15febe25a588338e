"""Reads Jupyter notebooks as Markdown: text cells as they are, code fenced, with short outputs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from retrivex.errors import LoadError
from retrivex.loading.markdown import fenced, make_loaded
from retrivex.loading.report import Loaded
from retrivex.loading.text import decode

MAX_OUTPUT_LINES = 20
"""Lines that are kept of one output."""

MAX_OUTPUT_CHARACTERS = 2_000
"""Characters that are kept of one output."""

_TERMINAL_CODE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
# what a picture prints of itself tells nothing: <Figure size 640x480 with 1 Axes>
_OBJECT = re.compile(r"(?:<[^<>\n]*>)?")
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
    blocks = [
        block
        for cell in _list(book.get("cells"))
        for block in _blocks(_mapping(cell), _language(book), left_out)
        if block.strip()
    ]
    if not blocks:
        raise LoadError("it is empty: no cell of the notebook has text")
    text = "\n\n".join(blocks) + "\n"
    title = _mapping(book.get("metadata")).get("title")
    notes = [f"{kind}: {count:,}" for kind, count in (+left_out).items()]
    return make_loaded(doc_id, text, source, title=title if isinstance(title, str) else None, notes=notes)


def _parse(raw: bytes) -> Mapping[str, Any]:
    try:
        book = json.loads(decode(raw).text)
    except (ValueError, RecursionError) as error:
        raise LoadError(f"it cannot be read as a notebook ({error}); open it in Jupyter and save it anew") from error
    if not isinstance(book, dict) or "cells" not in book:
        raise LoadError("it is no notebook: its JSON has no `cells`; leave it out, or name it .json")
    return book


def _language(book: Mapping[str, Any]) -> str:
    metadata = _mapping(book.get("metadata"))
    known = (_mapping(metadata.get("language_info")).get("name"), _mapping(metadata.get("kernelspec")).get("language"))
    return next((name for name in known if isinstance(name, str) and re.fullmatch(r"[\w+#.-]+", name)), "python")


def _blocks(cell: Mapping[str, Any], language: str, left_out: Counter[str]) -> Iterator[str]:
    text = _joined(cell.get("source")).strip("\n").rstrip()
    kind = cell.get("cell_type")
    if kind == "code":
        yield fenced(text, language)
        for output in _list(cell.get("outputs")):
            yield fenced(_cut(_output_text(_mapping(output), left_out), left_out), "text")
    elif kind == "raw":
        yield fenced(text, "")
    else:
        text, pictures = _EMBEDDED_PICTURE.subn(r"\1", text)
        left_out["pictures left out"] += pictures
        yield text


def _output_text(output: Mapping[str, Any], left_out: Counter[str]) -> str:
    if output.get("output_type") == "error":
        return f"{output.get('ename', 'Error')}: {output.get('evalue', '')}"
    data = _mapping(output.get("data", output))
    text = _joined(data.get("text/plain", data.get("text")))
    is_shown = any(kind.startswith(("image/", "text/html", "application/")) for kind in data)
    if not is_shown or not _OBJECT.fullmatch(text.strip()):
        return text
    left_out["outputs that are no text (pictures, ...) left out"] += 1
    return ""


def _cut(text: str, left_out: Counter[str]) -> str:
    text = _TERMINAL_CODE.sub("", text).strip("\n").rstrip()
    lines = text.split("\n")
    kept = "\n".join(lines[:MAX_OUTPUT_LINES])[:MAX_OUTPUT_CHARACTERS].rstrip()
    if kept == text:
        return text
    left_out[f"outputs cut after {MAX_OUTPUT_LINES} lines or {MAX_OUTPUT_CHARACTERS:,} characters"] += 1
    return f"{kept}\n..."


def _joined(value: object) -> str:
    """Return a text of a notebook, which may be a list of its lines."""
    lines: Sequence[object] = value if isinstance(value, list) else [value]
    return "".join(line for line in lines if isinstance(line, str))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
