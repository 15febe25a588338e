"""Passages: as given, as read, as ranked, and as placed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID

from retrivex.model.numbers import finite

T = TypeVar("T")

GROUPABLE = (str, Real, UUID)
"""Types of metadata values that name a source or a group."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A retrieved text with a score, for programs that have no class of their own.

    Dictionaries and objects with the same fields do as well.

    Parameters
    ----------
    id : what names it
    text : what is shown to the model
    score : any finite number, larger is better
    metadata : `source_id`, `section_index`, `timestamp`, `page`, `source_reliability` and anything else
    token_count : its tokens, where counted already

    Examples
    --------
    >>> Passage("1", "Bees sleep.", 0.9, {"source_id": "bees.txt"}).metadata["source_id"]
    'bees.txt'
    """

    id: str | int
    text: str
    score: float
    metadata: Mapping[str, Any] = field(default_factory=dict)
    token_count: float | None = None


class Candidate(NamedTuple, Generic[T]):
    """A passage as read: the caller's object with its validated fields.

    `place` is its index in the input. `timestamp`, `section_index`, `page` and `source_reliability` are None where
    unknown.
    """

    item: T
    place: int
    id: str | int
    text: str
    score: float
    metadata: Mapping[str, Any]
    token_count: float | None
    source_id: str | None
    section_index: float | None
    timestamp: float | None
    page: float | None
    source_reliability: float | None


class Ranked(NamedTuple, Generic[T]):
    """A candidate after filtering, with its priority and rank.

    Parameters
    ----------
    candidate : the passage
    place : its position among those left, in input order
    priority : weighted sum of its normalised score and metadata
    key : what orders go by: the priority, or with diversity on how early it was picked
    rank : 0 for the largest key; equal keys in input order
    """

    candidate: Candidate[T]
    place: int
    priority: float
    key: float
    rank: int


class Placed(NamedTuple, Generic[T]):
    """A passage in its place, with the part of the order and the group that it belongs to."""

    ranked: Ranked[T]
    placement: str
    group: str | None


def name_group(value: Any) -> str | None:
    """Return the name of the group that a metadata value stands for; None for none, empty or not a plain value.

    Numbers and names are compared as text, so that 7, 7.0 and "7" are one document.

    Examples
    --------
    >>> [name_group(value) for value in (7, 7.0, "7", True, "", None, ["a"])]
    ['7', '7', '7', 'true', None, None, None]
    """
    if type(value) is str:
        return value or None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Integral) or (isinstance(value, float) and value.is_integer()):
        return str(int(value))
    return str(value) or None if isinstance(value, GROUPABLE) else None


def split_pair(item: Any) -> tuple[Any, float | None]:
    """Return a passage and its score, where they come as a pair.

    So LangChain's `similarity_search_with_score` returns them.

    Examples
    --------
    >>> split_pair(({"text": "Bees sleep."}, 0.5)), split_pair({"text": "Bees sleep."})
    (({'text': 'Bees sleep.'}, 0.5), ({'text': 'Bees sleep.'}, None))
    """
    if type(item) is tuple and len(item) == 2 and (score := finite(item[1])) is not None:
        return item[0], score
    return item, None
