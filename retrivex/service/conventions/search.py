"""What search conventions share: passages for a question, filters on them, and which scopes a filter names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from retrivex.composer.requests import RequestError
from retrivex.errors import quoted
from retrivex.model.span import Span
from retrivex.service.access import Access
from retrivex.service.bodies import DEFAULT_INDEX
from retrivex.service.engine import Engine
from retrivex.service.errors import LimitError
from retrivex.stores import Where

SCOPE = "scope"
"""Name by which a filter narrows what the key may see."""

MAX_CONDITIONS = 100
"""Conditions of one filter, and values of one list."""

_FIELDS = {"doc_id": "doc_id", "file_id": "doc_id", "filename": "doc_id", "page": "page", "timestamp": "timestamp"}
"""Names of a filter that mean something else than custom metadata."""


@dataclass(frozen=True, slots=True)
class Search:
    """A question in the words of any convention.

    Parameters
    ----------
    question : in the asker's own words
    k : hits to start from, and passages at most
    index : that it goes to
    where : filter on chunks
    scope : narrows what the key may see
    least : score below which a passage is left out, in [0, 1]
    """

    question: str
    k: int
    index: str = DEFAULT_INDEX
    where: Where = field(default_factory=dict)
    scope: str | list[str | None] | None = None
    least: float = 0.0


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


def find_passages(engine: Engine, search: Search, access: Access) -> list[Passage]:
    """Return the passages of a composition, best first, ties in their order: no more than hits were asked for.

    Raises
    ------
    RetrivexError
        If the question breaks a rule, there is no such index, or it fails.
    """
    asked = {"question": search.question, "index": search.index, "k": search.k, "scope": search.scope}
    made = engine.query({**asked, "where": dict(search.where) or None}, access)
    passages = [_passage_of(span) for span in made.spans]
    # the neighbours of one hit may be two passages
    return sorted((one for one in passages if one.score >= search.least), key=lambda one: -one.score)[: search.k]


def _passage_of(span: Span) -> Passage:
    where = span.chunks[0].metadata
    place = {
        "char_start": span.char_start,
        "char_end": span.char_end,
        "page": where.page,
        "timestamp": where.timestamp,
    }
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
        If it is the scope, which only `narrow` reads.

    Examples
    --------
    >>> field_of("page"), field_of("year")
    ('page', 'metadata.year')
    """
    if name == SCOPE:
        raise RequestError(
            f"a filter on {SCOPE!r} narrows the whole search: ask for one that equals a name, beside others"
        )
    return _FIELDS.get(name, f"metadata.{name}")


def split_scope(conditions: Sequence[tuple[str, bool, Any]]) -> str | list[str | None] | None:
    """Return the scope that the conditions on it ask for, all at once; None where there are none.

    Parameters
    ----------
    conditions : for each its operator, whether that asks for equality, and its value, a name or a list of names

    Raises
    ------
    RequestError
        If there are several, or one that does not ask for equality: it might widen what the others narrow.
    """
    if not conditions:
        return None
    if len(conditions) > 1:
        raise RequestError(f"the filter has {len(conditions)} conditions on {SCOPE!r}: give one, with a list of names")
    [(operator, equals, value)] = conditions
    names = value if isinstance(value, list) else [value]
    if not equals or not names or not all(isinstance(name, str) for name in names):
        raise RequestError(
            f"{SCOPE} {operator} {quoted(value)}: ask for one that equals a name, or is in a list of names"
        )
    return [name or None for name in names]


def check_size(conditions: int) -> None:
    """Refuse a filter that is too large.

    Raises
    ------
    LimitError
        If it has more than 100 conditions.
    """
    if conditions > MAX_CONDITIONS:
        raise LimitError(
            f"the filter has {conditions:,} conditions: the limit is {MAX_CONDITIONS}; use lists of values"
        )
