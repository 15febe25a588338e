"""One colour for each composer and order, the same in every plot.

The colours are those of Okabe and Ito with two more, which people with colour blindness can tell apart ("Color
Universal Design", 2008).
"""

from __future__ import annotations

from collections.abc import Sequence

COMPOSERS = {
    "knn": "#777777",
    "knn±1": "#E69F00",
    "knn±2": "#882255",
    "balanced": "#D55E00",
    "quality": "#0072B2",
    "speed": "#56B4E9",
    "0.2": "#009E73",
    "published": "#CC79A7",
}
ORDERS = {
    "edge_balanced": "#CC79A7",
    "score_desc": "#56B4E9",
    "back_first": "#332288",
    "shuffle": "#000000",
    "document": "#009E73",
    "chronological": "#E69F00",
}
_OTHERS = ("#009E73", "#332288", "#000000", "#0072B2", "#56B4E9", "#CC79A7", "#E69F00", "#882255")
SHARES = "cividis"
"""Colour map of shares from 0 to 1: it grows lighter, and is the same to all eyes."""


def colours_of(names: Sequence[str]) -> dict[str, str]:
    """Return a colour for each name: its own where it has one, else one that no other name here has.

    Examples
    --------
    >>> colours_of(["knn", "mine"])
    {'knn': '#777777', 'mine': '#009E73'}
    """
    known = COMPOSERS | ORDERS
    own = {name: known[name] for name in names if name in known}
    free = [colour for colour in _OTHERS if colour not in own.values()] or list(_OTHERS)
    others = [name for name in names if name not in known]
    return own | {name: free[at % len(free)] for at, name in enumerate(others)}
