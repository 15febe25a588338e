"""What search conventions share: passages for a question, and filters on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from retrivex.composer.requests import RequestError
from retrivex.model.span import Span
from retrivex.service.access import Access
from retrivex.service.engine import Engine

MAX_CONDITIONS = 100
"""Conditions of one list, and values of one."""

_FIELDS = {"doc_id": "doc_id", "file_id": "doc_id", "filename": "doc_id", "page": "page", "timestamp": "timestamp"}
"""Names of a filter that mean something else than custom metadata."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage that answers a search.

    Parameters
    ----------
    text : with the head of its table or list in front, where it begins inside one
    score : in [0, 1]; of a question that the calibrated scorer reads, the probability of evidence of its best part
    doc_id, title : of its document; without a title the name
    place : where it stands: `char_start`, `char_end`, `page`, `timestamp`, those that are known
    metadata : custom metadata of its document
    """

    text: str
    score: float
    doc_id: str
    title: str
    place: Mapping[str, Any]
    metadata: Mapping[str, Any]


def find_passages(engine: Engine, access: Access, *, least: float, **asked: Any) -> list[Passage]:
    """Return the passages of a composition, best first, ties in their order: no more than hits were asked for.

    Parameters
    ----------
    engine : that answers
    access : who asks
    least : score below which a passage is left out, in [0, 1]
    **asked : by `bodies.QueryBody`, with `k`

    Raises
    ------
    RetrivexError
        If the question breaks a rule, there is no such index, or it fails.
    """
    passages = [_passage_of(span) for span in engine.query(asked, access).spans]
    # the neighbours of one hit may be two passages
    return sorted((one for one in passages if one.score >= least), key=lambda one: -one.score)[: asked["k"]]


def _passage_of(span: Span) -> Passage:
    where = span.chunks[0].metadata
    place = {"char_start": span.char_start, "char_end": span.char_end, "page": where.page, "timestamp": where.timestamp}
    custom = dict(where.custom_metadata or {})
    return Passage(
        text=(span.prefix or "") + span.text,
        score=min(1.0, max(0.0, span.score)),
        doc_id=span.doc_id,
        title=str(custom.get("title") or span.doc_id),
        place={name: value for name, value in place.items() if value is not None},
        metadata=custom,
    )


def field_of(name: str) -> str:
    """Return the field of `Where` that a name of a filter stands for.

    Raises
    ------
    RequestError
        If it is the scope, which the key says.

    Examples
    --------
    >>> field_of("page"), field_of("year")
    ('page', 'metadata.year')
    """
    if name == "scope":
        raise RequestError("a filter on 'scope' is refused: the key says which are searched; leave it out")
    return _FIELDS.get(name, f"metadata.{name}")
