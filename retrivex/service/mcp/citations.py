"""Citations as a model reads and repeats them: the name of a document, `#`, and where in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, unquote

from retrivex.composer.requests import RequestError
from retrivex.composition.composition import Citation
from retrivex.errors import quoted

_CITATION = re.compile(r"(?P<doc_id>.+)#(?:(?P<start>\d{1,15})-(?P<end>\d{1,15})|chunk-(?P<chunk>\d{1,15}))", re.DOTALL)
# a name with these would not stay on its line, or be read without the white space that it begins with
_ESCAPED = re.compile(r"\A\s+|[%\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SCHEME = "retrivex:///"


def write_citation(doc_id: str, char_start: int | None, char_end: int | None, chunk_id: int) -> str:
    """Return a citation as text.

    Examples
    --------
    >>> write_citation("leave.md", 10, 20, 0), write_citation("leave.md", None, None, 3)
    ('leave.md#10-20', 'leave.md#chunk-3')
    """
    where = f"chunk-{chunk_id}" if char_start is None or char_end is None else f"{char_start}-{char_end}"
    return f"{_ESCAPED.sub(lambda found: quote(found[0]), doc_id)}#{where}"


def read_citation(text: str) -> dict[str, Any]:
    """Return the part of a `bodies.ResolveBody` that a citation stands for.

    Raises
    ------
    RequestError
        If it is none.

    Examples
    --------
    >>> read_citation("leave.md#10-20")
    {'doc_id': 'leave.md', 'char_start': 10, 'char_end': 20}
    """
    found = _CITATION.fullmatch(text.strip())
    if found is None:
        raise RequestError(
            f"citation is {quoted(text)}: it must name a document and characters, such as leave.md#10-20; copy one "
            "from an answer of search"
        )
    doc_id = unquote(found["doc_id"])
    if found["chunk"] is not None:
        return {"doc_id": doc_id, "chunk_id": int(found["chunk"])}
    return {"doc_id": doc_id, "char_start": int(found["start"]), "char_end": int(found["end"])}


def list_sources(citations: Iterable[Citation]) -> list[dict[str, Any]]:
    """Return what the numbers in a context stand for, a source a number: its chunks are cited as one."""
    sources: dict[int, dict[str, Any]] = {}
    for citation in citations:
        start, end = citation.char_start, citation.char_end
        known = sources.setdefault(
            citation.number,
            {
                "number": citation.number,
                "doc_id": citation.doc_id,
                "chunk_id": citation.chunk_id,
                "char_start": start,
                "char_end": end,
                "page": citation.page,
                "heading_path": list(citation.heading_path),
            },
        )
        if start is not None and end is not None and known["char_start"] is not None:
            known["char_start"], known["char_end"] = min(start, known["char_start"]), max(end, known["char_end"])
    for source in sources.values():
        place = (source["doc_id"], source["char_start"], source["char_end"], source["chunk_id"])
        source["citation"] = write_citation(*place)
    return list(sources.values())


def write_uri(index: str, doc_id: str) -> str:
    """Return the address of a document as a resource.

    Examples
    --------
    >>> write_uri("default", "a b/c.md")
    'retrivex:///default/a%20b%2Fc.md'
    """
    return f"{_SCHEME}{quote(index, safe='')}/{quote(doc_id, safe='')}"


def read_uri(uri: str) -> tuple[str, str]:
    """Return the index and the document of an address.

    Raises
    ------
    RequestError
        If it is the address of no document.

    Examples
    --------
    >>> read_uri("retrivex:///default/a%20b%2Fc.md")
    ('default', 'a b/c.md')
    """
    index, _, doc_id = uri.removeprefix(_SCHEME).partition("/")
    if not uri.startswith(_SCHEME) or not index or not doc_id:
        raise RequestError(f"uri is {quoted(uri)}: documents have {_SCHEME}INDEX/NAME; take one of resources/list")
    return unquote(index), unquote(doc_id)
