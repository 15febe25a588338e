"""Uploaded files: known types alone, under names that are no paths."""

from __future__ import annotations

import tempfile
import unicodedata
from dataclasses import replace
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from retrivex.errors import LoadError, quoted
from retrivex.loading import SUPPORTED_SUFFIXES, LoadLimits, load_file
from retrivex.model.document import Document
from retrivex.service.errors import AccessError

_LONGEST_NAME = 200


def check_name(name: str) -> str:
    """Return the name of an uploaded file without its folders.

    Raises
    ------
    LoadError
        If it is empty, too long, holds control characters or `:`, or its ending is of no known type.

    Examples
    --------
    >>> check_name("../notes/bees.md")
    'bees.md'
    """
    plain = PurePosixPath(name.replace("\\", "/")).name
    if not plain or plain in (".", ".."):
        raise LoadError(f"the file's name is {quoted(name)}: give one, such as notes.md")
    if len(plain) > _LONGEST_NAME:
        raise LoadError(f"the file's name has {len(plain):,} characters: the limit is {_LONGEST_NAME}; shorten it")
    if ":" in plain or any(unicodedata.category(letter) in ("Cc", "Cs") for letter in plain):
        raise LoadError(f"the file's name is {quoted(plain)}: it must be without ':' and control characters")
    if PurePosixPath(plain).suffix.lower() not in SUPPORTED_SUFFIXES:
        raise LoadError(f"{plain!r} is of no type that is read: {', '.join(SUPPORTED_SUFFIXES)}")
    return plain


def name_in_scope(name: str, scope: str | None) -> str:
    """Return the id of an uploaded document: names of one scope are apart from those of another.

    Examples
    --------
    >>> name_in_scope("bees.md", None), name_in_scope("bees.md", "acme")
    ('bees.md', 'acme:bees.md')
    """
    return name if scope is None else f"{quote(scope, safe='')}:{name}"


def read_upload(raw: bytes, name: str, scope: str | None, limits: LoadLimits) -> list[Document]:
    """Return the documents of an uploaded file: one, or those of the lines of JSONL.

    Formats that can keep a reader busy are read in another process, within limits.

    Parameters
    ----------
    raw : its bytes
    name : as `check_name` returned it
    scope : that they get
    limits : time and memory for reading it

    Raises
    ------
    LoadError
        If it cannot be read as what it claims to be.
    AccessError
        If a line of JSONL names another scope.
    """
    with tempfile.TemporaryDirectory(prefix="retrivex-") as folder:
        path = Path(folder, "upload" + PurePosixPath(name).suffix.lower())  # nothing of the request but a known ending
        path.write_bytes(raw)
        try:
            documents = load_file(path, doc_id=name, max_bytes=max(len(raw), 1), limits=limits)
        except LoadError as error:
            raise LoadError(str(error).replace(str(path), name)) from None
    return [_place(document, scope) for document in documents]


def _place(document: Document, scope: str | None) -> Document:
    if document.scope not in (None, scope):
        raise AccessError(
            f"document {document.doc_id!r} names the scope {document.scope!r}: it gets {scope!r}; leave it out"
        )
    return replace(document, doc_id=name_in_scope(document.doc_id, scope), scope=scope, source=None)
