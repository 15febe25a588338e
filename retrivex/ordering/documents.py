"""Orders that keep the passages of a document together and in the document's order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeVar

from retrivex.errors import OrderingError, quoted
from retrivex.model.fields import Field, list_items, read_values
from retrivex.model.numbers import number_of
from retrivex.ordering.ranking import check_scores

T = TypeVar("T")


def document(
    items: Iterable[T],
    *,
    ranked: bool = False,
    score: Field = "score",
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
    position : reads where in its document an item stands, a number or a text that holds one; an item without counts
        by its place in `items`

    Raises
    ------
    OrderingError
        If a score is missing, no number, NaN or infinite, or a source cannot be hashed.

    Examples
    --------
    >>> rows = [("a", 2, 0.5), ("b", 0, 0.9), ("a", 1, 0.1), ("b", 5, 0.2)]
    >>> made = document(rows, score=lambda r: r[2], source=lambda r: r[0], position=lambda r: r[1])
    >>> [row[:2] for row in made]
    [('b', 0), ('b', 5), ('a', 1), ('a', 2)]
    """
    items = list_items(items)
    return [items[i] for group in _group_documents(items, ranked, score, source, position) for i in group]


def document_edges(
    items: Iterable[T],
    *,
    ranked: bool = False,
    score: Field = "score",
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
    items = list_items(items)
    groups = _group_documents(items, ranked, score, source, position)
    return [items[i] for group in groups[0::2] + groups[1::2][::-1] for i in group]


def _group_documents(
    items: Sequence[Any], ranked: bool, score: Field, source: Field, position: Field
) -> list[list[int]]:
    """Indexes of items by document, best document first, each in its own order."""
    groups = partition(items, source)
    if not ranked:
        sort_by_best(groups, check_scores(items, score))
    given = read_values(items, position, "position")
    places = [place if value is None else value for place, value in enumerate(map(number_of, given))]
    for group in groups:
        group.sort(key=places.__getitem__)  # stable: equal places keep the order given
    return groups


def partition(items: Sequence[Any], field: Field) -> list[list[int]]:
    """Indexes of items with the same value of `field`, groups in the order in which they begin.

    Items without a value (None or an empty text) are one group.

    Raises
    ------
    OrderingError
        If a value cannot be hashed, as a list or a dictionary.
    """
    groups: defaultdict[Hashable, list[int]] = defaultdict(list)
    value: Hashable = None
    values = read_values(items, field, "field")
    try:
        for i, value in enumerate(values):
            groups[None if type(value) is str and not value else value].append(i)
    except Exception as error:  # a class of the caller's may raise anything where it is hashed or compared
        raise OrderingError(
            f"groups by {quoted(field)}: {quoted(value)} cannot be distinguished from others ({error}); give a "
            "callable that returns a text, a number or a tuple of them"
        ) from error
    return list(groups.values())


def sort_by_best(groups: list[list[int]], scores: list[Any]) -> None:
    """Sort groups of indexes by the best score in them; equally good groups keep their order."""
    groups.sort(key=lambda group: max(map(scores.__getitem__, group)), reverse=True)
