"""Reads one file within its limits and hands it to the loader of its format."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from retrivex.errors import LoadError
from retrivex.loading.asciidoc import load_asciidoc
from retrivex.loading.data import load_json, load_yaml
from retrivex.loading.delimited import load_delimited
from retrivex.loading.epub import load_epub
from retrivex.loading.html import load_html
from retrivex.loading.jsonl import document_from_dict, parse_lines, parse_open
from retrivex.loading.limits import Allowance, LoadLimits
from retrivex.loading.mail import load_mail
from retrivex.loading.markdown import load_markdown
from retrivex.loading.notebook import load_notebook
from retrivex.loading.report import Loaded
from retrivex.loading.sandbox import is_available, read_in_worker
from retrivex.loading.subtitles import load_subtitles
from retrivex.loading.text import load_text
from retrivex.model.document import Document
from retrivex.text.files import read_small_file

MAX_BYTES = 64 * 1024 * 1024
"""Default limit for one file (for JSONL: for one line), in bytes."""

LIMITS = LoadLimits()
"""Default limits of reading a file of a complex format."""

_Loader = Callable[[bytes, str, str | None], Loaded]


def _import_later(module: str, function: str, **fixed: str) -> _Loader:
    """Return a loader whose module is imported at its first use: it needs an extra."""

    def load(raw: bytes, doc_id: str, source: str | None = None) -> Loaded:
        try:
            loader = getattr(import_module(f"retrivex.loading.{module}"), function)
        except ImportError as error:
            raise LoadError(str(error)) from error
        loaded: Loaded = loader(raw, doc_id, source, **fixed)
        return loaded

    return load


# Their readers are large programs, and a hostile file may keep them busy: they run in a process that can be ended.
_COMPLEX: Mapping[str, _Loader] = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), load_html),
    ".pdf": _import_later("pdf", "load_pdf"),
    **dict.fromkeys((".csv", ".tsv"), load_delimited),
    ".json": load_json,
    **dict.fromkeys((".yaml", ".yml"), load_yaml),
    **dict.fromkeys((".adoc", ".asciidoc"), load_asciidoc),
    ".eml": load_mail,
    ".epub": load_epub,
    ".ipynb": load_notebook,
    ".rst": _import_later("rst", "load_rst"),
    **dict.fromkeys((".srt", ".vtt"), load_subtitles),
    **{suffix: _import_later("office", "load_office", suffix=suffix) for suffix in (".docx", ".pptx", ".xlsx")},
}
_LOADERS: Mapping[str, _Loader] = {
    **dict.fromkeys((".txt", ".text", ".org", ".tex", ".log", ""), load_text),
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd"), load_markdown),
    **_COMPLEX,
}
_JSONL = (".jsonl", ".ndjson")
_OLD_OFFICE = {".doc": ".docx", ".ppt": ".pptx", ".xls": ".xlsx"}

SUPPORTED_SUFFIXES = tuple(sorted((*filter(None, _LOADERS), *_JSONL)))
"""File name endings that are read without being asked for by name; files without one are read as text."""


def is_supported(path: Path) -> bool:
    """Whether the ending is one that RetriVex knows: one of `SUPPORTED_SUFFIXES`, none, or an old office format."""
    suffix = path.suffix.lower()
    return suffix in _LOADERS or suffix in _JSONL or suffix in _OLD_OFFICE


def names_documents(path: Path) -> bool:
    """Whether a file names its documents itself, as JSON Lines does, in place of being one."""
    return path.suffix.lower() in _JSONL


def load_file(
    path: str | os.PathLike[str], *, doc_id: str | None = None, max_bytes: int = MAX_BYTES, limits: LoadLimits = LIMITS
) -> list[Document]:
    """Read one file: one document, or all those of a JSONL file.

    A file with an ending nobody knows (`.py`, `.conf`) is read as text, as it was asked for by name.

    Parameters
    ----------
    path : the file
    doc_id : name of the document; the file's name unless given (lines of JSONL have their own)
    max_bytes : a larger file is refused
    limits : time and memory for reading all but plain text and Markdown, which happens in a process of its own

    Raises
    ------
    LoadError
        If it is missing, too large, empty, broken, of a format that cannot be read, beyond its limits, or if far more
        text would come of it than a file of its size holds.
    """
    path = Path(path)
    documents = []
    for loaded in load_parts(path, doc_id or path.name, max_bytes=max_bytes, limits=limits):
        if isinstance(loaded, LoadError):
            raise LoadError(f"{path}: {loaded}") from loaded
        documents.append(loaded.document)
    return documents


def load_parts(path: Path, doc_id: str, *, max_bytes: int, limits: LoadLimits = LIMITS) -> Iterator[Loaded | LoadError]:
    """Read what one file holds, as text where its ending is unknown; what cannot be read comes as an error.

    Parameters
    ----------
    path, doc_id : the file and its name
    max_bytes : limit for the file; for JSONL, for each line
    limits : see `load_file`
    """
    try:
        if names_documents(path):
            yield from parse_lines(path, partial(_jsonl_document, source=str(path)), max_line_bytes=max_bytes)
        else:
            suffix = _checked_suffix(path)
            raw = read_bytes(path, max_bytes)
            if not raw.strip():
                raise LoadError("it is empty: there is no text to index")
            if suffix in _COMPLEX and is_available():
                yield read_in_worker(raw, suffix, doc_id, str(path), limits)
            else:
                yield load_bytes(raw, suffix, doc_id, str(path))
    except LoadError as error:
        yield error


def _jsonl_document(record: Mapping[str, Any], source: str | None) -> Loaded:
    if "chunk_id" in record:
        raise LoadError("it is a chunk, not a document: read such a file with read_chunks")
    return Loaded(document_from_dict(record, source))


def load_bytes(raw: bytes, suffix: str, doc_id: str, source: str | None) -> Loaded:
    """Read the bytes of a file right here; text where nobody knows its ending.

    Raises
    ------
    LoadError
        If they cannot be read, or far more text would come of them than a file of that size holds.
    """
    loaded = _LOADERS.get(suffix, load_text)(raw, doc_id, source)
    Allowance(len(raw)).take(len(loaded.document.text))
    return loaded


def load_bytes_parts(
    raw: bytes, suffix: str, doc_id: str, source: str | None, *, max_line_bytes: int
) -> Iterator[Loaded | LoadError]:
    """Read the bytes of a file of any kind right here; what cannot be read comes as an error.

    Parameters
    ----------
    raw, suffix : the file, and the ending of its name
    doc_id, source : of its document; lines of JSONL have their own names
    max_line_bytes : limit for each line of JSONL
    """
    try:
        if suffix in _JSONL:
            make = partial(_jsonl_document, source=source)
            yield from parse_open(io.BytesIO(raw), make, max_line_bytes=max_line_bytes)
        else:
            yield load_bytes(raw, suffix, doc_id, source)
    except LoadError as error:
        yield error


def is_complex(suffix: str) -> bool:
    """Whether files with this ending have readers that a hostile file may keep busy, whatever its size."""
    return suffix in _COMPLEX


def _checked_suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix in _OLD_OFFICE:
        raise LoadError(f"{suffix} is an old format that is not read; save it as {_OLD_OFFICE[suffix]}")
    return suffix


def read_bytes(path: Path, max_bytes: int) -> bytes:
    """Read a whole file.

    Raises
    ------
    LoadError
        If it cannot be opened, is not a regular file, or holds more than `max_bytes`.
    """
    try:
        return read_small_file(path, max_bytes)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise LoadError(f"it cannot be read: {said}; check its name, size and permissions") from error
