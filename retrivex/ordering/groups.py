"""Orders by groups: of similar relevance, or with the same value of a field."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import TypeVar

from retrivex.errors import OrderingError, quoted
from retrivex.model.fields import Field, list_items, read_quickly
from retrivex.ordering.documents import partition, sort_by_best
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
    if not ((type(high) is type(medium) is float or _are_numbers(high, medium)) and high >= medium):
        raise OrderingError(
            f"high is {quoted(high)} and medium {quoted(medium)}: give two numbers; high must be at least medium"
        )
    items = items if type(items) is list else list_items(items)
    scores = check_scores(items, score)
    ascending = sorted(scores)
    if ascending[::-1] == scores:
        count = len(scores) - bisect_left(ascending, high)
        half = (count + 1) // 2
        return [*items[:half], *items[count:], *items[half:count]]
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


def _are_numbers(*values: object) -> bool:
    return all(isinstance(value, Real) for value in values)


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
        If a score is missing, no number, NaN or infinite, a value of the field cannot be hashed, or `inside` fails or
        returns anything but the items of its group.

    Examples
    --------
    >>> group_by("B3 A1 B2 A0".split(), lambda s: s[0], ranked=True, inside=sorted)
    ['B2', 'B3', 'A0', 'A1']
    """
    items = list_items(items)
    groups = partition(items, field, *read_quickly(items, field))
    if not ranked:
        scores = check_scores(items, score)
        if sort_by_best(groups, scores) and inside is None:
            for group in groups:
                group.sort(key=scores.__getitem__, reverse=True)
    if inside is None:
        edges = [group if len(group) < 3 else group[0::2] + group[1::2][::-1] for group in groups]
        return [items[i] for group in edges for i in group]
    return [item for group in groups for item in _order_group([items[i] for i in group], inside)]


def _order_group(group: Sequence[T], inside: Callable[[Sequence[T]], Iterable[T]]) -> list[T]:
    """Return the items of a group in the order of the caller's function, and no others."""
    try:
        made = list(inside(list(group)))
    except Exception as error:  # a callable of the caller's may raise anything
        raise OrderingError(
            f"inside failed for {quoted(group)}: {quoted(error, 200)}; it must return the items of the group in order"
        ) from error
    if sorted(map(id, made)) != sorted(map(id, group)):
        raise OrderingError(
            f"inside returned {quoted(made)} for {quoted(group)}: it must return the items of the group, each as often "
            "as it was given, and no others"
        )
    return made
