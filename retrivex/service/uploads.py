"""Uploaded files: known types alone, under names that are no paths."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from pathlib import PurePosixPath
from urllib.parse import quote

from retrivex.errors import LoadError, quoted
from retrivex.loading import SUPPORTED_SUFFIXES
from retrivex.service.cutting import Cut
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


def place(cut: Cut, scope: str | None, *, apart: bool = True) -> Cut:
    """Return an uploaded document under the name and in the scope that it gets.

    Parameters
    ----------
    cut : as it was read
    scope : that it gets
    apart : see `name_in_scope`

    Raises
    ------
    AccessError
        If it names another scope, as a line of JSONL can.
    """
    document = cut.document
    if document.scope not in (None, scope):
        raise AccessError(
            f"document {document.doc_id!r} names the scope {document.scope!r}: it gets {scope!r}; leave it out"
        )
    named = name_in_scope(document.doc_id, scope, apart=apart)
    return replace(cut, document=replace(document, doc_id=named, scope=scope, source=None))
