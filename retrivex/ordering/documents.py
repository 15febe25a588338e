"""Orders that keep the passages of a document together, as the document goes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from numbers import Real
from typing import Any, TypeVar

from retrivex.ordering.edges import edge_balanced
from retrivex.ordering.fields import Field, reader, score_of
from retrivex.ordering.ranking import check_scores

T = TypeVar("T")

_PLAIN = frozenset({str, int})


def document(
    items: Sequence[T],
    *,
    ranked: bool = False,
    score: Field = score_of,
    source: Field = "source_id",
    position: Field = "section_index",
) -> list[T]:
    """Documents by their best item, items of a document by position.

    For texts that are understood only in sequence: narratives, minutes, instructions. Keeping the order of the
    document is what OP-RAG (arXiv 2409.01666) and DOS RAG (arXiv 2506.03989) found to serve long contexts best.

    Parameters
    ----------
    items, ranked, score : as in `score_desc`; with `ranked`, documents come in the order of their first items
    source : reads which document an item is of; items without one are a document of their own
    position : reads where in its document an item stands, a number; one without counts by its place in `items`

    Raises
    ------
    OrderingError
        If a score is missing, no number, NaN or infinite.

    Examples
    --------
    >>> rows = [("a", 2, 0.5), ("b", 0, 0.9), ("a", 1, 0.1), ("b", 5, 0.2)]
    >>> made = document(rows, score=lambda r: r[2], source=lambda r: r[0], position=lambda r: r[1])
    >>> [row[:2] for row in made]
    [('b', 0), ('b', 5), ('a', 1), ('a', 2)]
    """
    groups = _documents(items, ranked, score, source, position)
    return [item for group in groups for item in group]


def document_edges(
    items: Sequence[T],
    *,
    ranked: bool = False,
    score: Field = score_of,
    source: Field = "source_id",
    position: Field = "section_index",
) -> list[T]:
    """Documents edge-balanced by their best item, items of a document by position; otherwise as `document`.

    Examples
    --------
    >>> made = document_edges("A1 B1 C1 A0".split(), ranked=True, source=lambda s: s[0], position=lambda s: int(s[1]))
    >>> made
    ['A0', 'A1', 'C1', 'B1']
    """
    groups = _documents(items, ranked, score, source, position)
    return [item for group in edge_balanced(groups, ranked=True) for item in group]


def _documents(items: Sequence[T], ranked: bool, score: Field, source: Field, position: Field) -> list[list[T]]:
    """Items by document, best document first, each in its own order."""
    groups = partition(items, source)
    if not ranked:
        sort_by_best(groups, check_scores(items, score if callable(score) else reader(score)))
    places = [_number(value, i) for i, value in enumerate(map(reader(position), items))]
    for group in groups:
        group.sort(key=places.__getitem__)  # stable: equal places keep the order given
    return [[items[i] for i in group] for group in groups]


def partition(items: Sequence[Any], field: Field) -> list[list[int]]:
    """Indexes of items with the same value of `field`, groups in the order in which they begin.

    Items without a value (None, an empty text, or one that cannot be compared with others) are one group.
    """
    groups: dict[Hashable, list[int]] = {}
    for i, value in enumerate(map(reader(field), items)):
        # the plain types first: asking for a protocol takes longer than all the rest
        known = type(value) in _PLAIN or isinstance(value, Hashable)
        groups.setdefault(value if known and value != "" else None, []).append(i)
    return list(groups.values())


def sort_by_best(groups: list[list[int]], scores: Sequence[Any]) -> None:
    """Sort groups of indexes by the best score in them; equally good groups keep their order."""
    groups.sort(key=lambda group: max(map(scores.__getitem__, group)), reverse=True)


def _number(value: Any, otherwise: int) -> Any:
    known = type(value) is int or (isinstance(value, Real) and math.isfinite(value))
    return value if known else otherwise
