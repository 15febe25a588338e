"""Splits questions into parts that share no document: one to fit on, one to measure on."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

import networkx as nx

FEWEST_DOCUMENTS = 4
"""From so many documents on, questions about the same one stay in the same part."""


def grouped(documents: Sequence[Collection[str]]) -> list[list[int]]:
    """Return groups of questions that must stay together.

    Questions that share a document do, if there are `FEWEST_DOCUMENTS` and no group has more than half of all
    questions; otherwise every question is a group of its own.

    Parameters
    ----------
    documents : per question, those that its evidence lies in

    Examples
    --------
    >>> grouped([{"a"}, {"b"}, {"c"}, {"d", "a"}, {"e"}, {"b"}])
    [[0, 3], [1, 5], [2], [4]]
    >>> grouped([{"a"}, {"a"}, {"b"}])
    [[0], [1], [2]]
    """
    alone = [[at] for at in range(len(documents))]
    if len({name for names in documents for name in names}) < FEWEST_DOCUMENTS:
        return alone
    graph = nx.Graph((at, ("document", name)) for at, names in enumerate(documents) for name in names)
    graph.add_nodes_from(range(len(documents)))
    groups = [sorted(node for node in part if isinstance(node, int)) for part in nx.connected_components(graph)]
    if max(map(len, groups)) > len(documents) / 2:
        return alone
    return sorted(groups)


def hold_back(groups: Sequence[Sequence[int]], share: float, seed: int) -> tuple[list[int], list[int]]:
    """Return the questions to fit on and those held back, about `share` of all, each ascending.

    Examples
    --------
    >>> hold_back([[0], [1], [2, 3], [4]], 0.4, seed=1)
    ([1, 2, 3], [0, 4])
    """
    order = list(groups)
    random.Random(seed).shuffle(order)
    wanted = max(1, round(share * sum(map(len, order))))
    held: list[int] = []
    for group in order:
        if len(held) + len(group) <= wanted:
            held += group
    if not held:
        smallest = min(order, key=len)
        held = list(smallest)
    taken = set(held)
    return sorted(at for group in order for at in group if at not in taken), sorted(held)


def folds(groups: Sequence[Sequence[int]], count: int, seed: int) -> list[list[int]]:
    """Return at most `count` parts of about the same size, no group in two of them.

    Examples
    --------
    >>> sorted(map(len, folds([[0], [1], [2, 3], [4]], 2, seed=0)))
    [2, 3]
    """
    order = list(groups)
    random.Random(seed).shuffle(order)
    parts: list[list[int]] = [[] for _ in range(min(count, len(order)))]
    for group in sorted(order, key=len, reverse=True):
        min(parts, key=len).extend(group)
    return [sorted(part) for part in parts]
