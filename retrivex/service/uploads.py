"""Uploaded files: known types alone, under names that are no paths."""

from __future__ import annotations

import tempfile
import unicodedata
from dataclasses import replace
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from retrivex.errors import LoadError, quoted
from retrivex.loading import SUPPORTED_SUFFIXES
from retrivex.loading.files import load_parts, names_documents
from retrivex.model.document import Document
from retrivex.service.bounds import Bounds
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


def name_in_scope(name: str, scope: str | None, *, apart: bool = True) -> str:
    """Return the id of an uploaded document: names of one scope are apart from those of another.

    Parameters
    ----------
    name : of the document
    scope : that it gets
    apart : whether a name without a scope must be none of a scope's; where nobody needs a key, all is one tenant's

    Examples
    --------
    >>> name_in_scope("bees.md", None), name_in_scope("bees.md", "acme")
    ('bees.md', 'acme:bees.md')
    >>> name_in_scope("acme:bees.md", None), name_in_scope("urn:bees", None, apart=False)
    (':acme:bees.md', 'urn:bees')
    """
    if scope is None:
        return f":{name}" if apart and ":" in name else name
    return f"{quote(scope, safe='')}:{name}"


def read_upload(raw: bytes, name: str, scope: str | None, bounds: Bounds, *, apart: bool = True) -> list[Document]:
    """Return the documents of an uploaded file: one, or those of the lines of JSONL.

    Formats that can keep a reader busy are read in another process, within limits.

    Parameters
    ----------
    raw : its bytes
    name : as `check_name` returned it
    scope : that they get
    bounds : time and memory for reading it, and the documents that it may hold
    apart : see `name_in_scope`

    Raises
    ------
    LoadError
        If it cannot be read as what it claims to be.
    LimitError
        If it holds too many documents.
    AccessError
        If a line of JSONL names another scope.
    """
    documents: list[Document] = []
    with tempfile.TemporaryDirectory(prefix="retrivex-") as folder:
        path = Path(folder, "upload" + PurePosixPath(name).suffix.lower())  # nothing of the request but a known ending
        path.write_bytes(raw)
        # a line of JSON is read right here, and may take 20 times its size while it is
        most = bounds.line_bytes if names_documents(path) else max(len(raw), 1)
        for loaded in load_parts(path, name, max_bytes=most, limits=bounds.load):
            if isinstance(loaded, LoadError):
                raise LoadError(f"{name}: {loaded}".replace(str(path), name))
            bounds.check_count("documents in a file", len(documents) + 1, bounds.documents)
            documents.append(_place(loaded.document, scope, apart))
    return documents


def _place(document: Document, scope: str | None, apart: bool) -> Document:
    if document.scope not in (None, scope):
        raise AccessError(
            f"document {document.doc_id!r} names the scope {document.scope!r}: it gets {scope!r}; leave it out"
        )
    return replace(document, doc_id=name_in_scope(document.doc_id, scope, apart=apart), scope=scope, source=None)
