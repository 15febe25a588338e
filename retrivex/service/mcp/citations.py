"""Citations as a model reads and repeats them: the name of a document, `#`, and where in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote

from retrivex.composer.requests import RequestError
from retrivex.composition.composition import Citation
from retrivex.errors import quoted
from retrivex.service.bodies import ResolveBody, read_body

_CITATION = re.compile(r"(?P<doc_id>.+)#(?:(?P<start>\d{1,15})-(?P<end>\d{1,15})|chunk-(?P<chunk>\d{1,15}))", re.DOTALL)
# a name with these would not stay on its line, or be read without the white space that it begins with
_ESCAPED = re.compile(r"\A\s+|[%\x00-\x1f\x7f-\x9f\u2028\u2029]")


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
        If it is none, or its end lies before its start.

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
    place = {"doc_id": doc_id, "char_start": int(found["start"]), "char_end": int(found["end"])}
    read_body(ResolveBody, place)
    return place


def list_sources(citations: Iterable[Citation]) -> list[Citation]:
    """Return what the numbers in a context stand for, a source a number: its chunks are one."""
    sources: dict[int, Citation] = {}
    for one in citations:
        known = sources.setdefault(one.number, one)
        if known.char_end is not None and one.char_end is not None:
            sources[one.number] = replace(known, char_end=max(known.char_end, one.char_end))
    return list(sources.values())
