"""Orders by groups: of similar relevance, or with the same value of a field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import TypeVar

from retrivex.errors import OrderingError, quoted
from retrivex.model.fields import Field, list_items
from retrivex.ordering.documents import partition, sort_by_best
from retrivex.ordering.edges import edge_balanced
from retrivex.ordering.ranking import check_scores

T = TypeVar("T")


def relevance_groups(
    items: Iterable[T], *, ranked: bool = False, score: Field = "score", high: float = 0.7, medium: float = 0.4
) -> list[T]:
    """Half of the highly relevant first, then the medium, the low, and the other half of the highly relevant last.

    The highly relevant ones are sorted, best first, and of an odd number the larger half comes first. Within the other
    two groups a threshold says that scores do not differ enough to matter: they keep the order given, e.g. by document.

    Parameters
    ----------
    items, score : as in `score_desc`; scores are always read, as the thresholds need them
    ranked : the caller says that the highly relevant ones are sorted already, best first
    high, medium : from this score on an item is highly relevant, or medium; `high >= medium`

    Raises
    ------
    OrderingError
        If a score is missing, no number, NaN or infinite, or `high` is below `medium`, or one is no number.

    Examples
    --------
    >>> relevance_groups([0.9, 0.1, 0.8, 0.45, 0.7, 0.5], score=float)
    [0.9, 0.8, 0.45, 0.5, 0.1, 0.7]
    """
    if not (isinstance(high, Real) and isinstance(medium, Real) and high >= medium):
        raise OrderingError(
            f"high is {quoted(high)} and medium {quoted(medium)}: give two numbers; high must be at least medium"
        )
    items = list_items(items)
    scores = check_scores(items, score)
    top: list[int] = []
    between: list[T] = []
    low: list[T] = []
    for i, value in enumerate(scores):
        if value >= high:
            top.append(i)
        else:
            (between if value >= medium else low).append(items[i])
    if not ranked:
        top.sort(key=scores.__getitem__, reverse=True)
    best = [items[i] for i in top]
    half = (len(best) + 1) // 2
    return best[:half] + between + low + best[half:]


def group_by(
    items: Iterable[T],
    field: Field,
    *,
    ranked: bool = False,
    score: Field = "score",
    inside: Callable[[Sequence[T]], Iterable[T]] | None = None,
) -> list[T]:
    """Items with the same value of `field` together, groups by their best item.

    Parameters
    ----------
    items, ranked, score : as in `score_desc`; with `ranked`, groups come in the order of their first items
    field : name or reader of the field; items without a value are one group
    inside : orders the items of a group, which it gets as they were given; None: `edge_balanced`

    Raises
    ------
    OrderingError
        If a score is missing, no number, NaN or infinite, or a value of the field cannot be hashed.

    Examples
    --------
    >>> group_by("B3 A1 B2 A0".split(), lambda s: s[0], ranked=True, inside=sorted)
    ['B2', 'B3', 'A0', 'A1']
    """
    items = list_items(items)
    groups = partition(items, field)
    scores = None if ranked else check_scores(items, score)
    if scores is not None:
        sort_by_best(groups, scores)
    if inside is None:
        best_first = [
            group if scores is None else sorted(group, key=scores.__getitem__, reverse=True) for group in groups
        ]
        return [items[i] for group in best_first for i in edge_balanced(group, ranked=True)]
    return [item for group in groups for item in inside([items[i] for i in group])]
