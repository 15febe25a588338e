"""Finds the order with the largest expected attention under a position profile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from retrivex.errors import OrderingError, quoted
from retrivex.model.fields import Field, list_items, read_values
from retrivex.model.numbers import float_of
from retrivex.ordering.builtin_profiles import profile_of
from retrivex.ordering.profile import Floats, PositionProfile
from retrivex.ordering.profile_search import Problem, best_order, upper_bound
from retrivex.ordering.ranking import check_scores

T = TypeVar("T")

MIN_LENGTH_SHARE = 1e-15
"""Lengths that differ by less than this share of the longest count as equal."""


@dataclass(frozen=True, slots=True)
class Placement(Generic[T]):
    """An order, its value, and an upper bound on the value of any order.

    Parameters
    ----------
    items : in their order
    value : sum of score x mean attention over the tokens that the item occupies
    bound : no order is worth more
    gap : how much better an order could be at most, as a share of the bound; 0.0 where this is proven the best
    """

    items: list[T]
    value: float
    bound: float
    gap: float = 0.0


def profile(
    items: Iterable[T],
    *,
    ranked: bool = False,
    score: Field = "score",
    tokens: Field | None = None,
    profile: PositionProfile | str | Path = "lost_in_the_middle",
) -> list[T]:
    """Put items where, by a measured profile, the model makes most of them; `place` says how much that is.

    Examples
    --------
    >>> profile([0.9, 0.8, 0.7, 0.6], score=float, profile="lost_in_the_middle")
    [0.9, 0.7, 0.6, 0.8]
    >>> profile([0.9, 0.8, 0.7, 0.6], score=float, profile="recency")
    [0.6, 0.7, 0.8, 0.9]
    """
    return place(items, ranked=ranked, score=score, tokens=tokens, profile=profile).items


def place(
    items: Iterable[T],
    *,
    ranked: bool = False,
    score: Field = "score",
    tokens: Field | None = None,
    profile: PositionProfile | str | Path = "lost_in_the_middle",
) -> Placement[T]:
    r"""Order items so that :math:`\sum_i s_i \bar a_i` is as large as possible.

    :math:`s_i` is an item's score, :math:`\bar a_i` the mean attention over the tokens that it occupies. Items of equal
    lengths, and up to 8 of any, are ordered exactly; more are ordered by a search that is never worth less than
    `edge_balanced`, and the bound says how far it can be from the best.

    Parameters
    ----------
    items, score : as in `score_desc`; scores are always read, as the sum needs them
    ranked : the caller says that they are sorted already, best first
    tokens : reads an item's length, a positive number; None: all are equally long
    profile : attention over the context, its file, or the name of a built-in one: u_curve, lost_in_the_middle, flat,
        recency

    Raises
    ------
    OrderingError
        If a score is missing, no number, NaN or infinite, a length is not positive and finite, or there is no such
        profile.

    Examples
    --------
    >>> made = place(["a", "bb", "cccc"], score=lambda s: 1 / len(s), tokens=len, profile="u_curve")
    >>> made.items, round(made.value, 3), made.gap
    (['a', 'cccc', 'bb'], 1.043, 0.0)
    """
    items = list_items(items)
    curve = profile_of(profile)
    scores = np.array(check_scores(items, score), dtype=float)
    lengths = _read_lengths(items, tokens)
    if not len(items):
        return Placement([], 0.0, 0.0)
    ranks = np.arange(len(scores)) if ranked else np.argsort(-scores, kind="stable")
    # the largest score, length and attention count as 1 while the search goes on, so that neither sums of
    # huge ones overflow in it nor tiny ones count as rounding
    scale = float(np.abs(scores).max()) or 1.0
    problem = Problem(scores[ranks] / scale, lengths[ranks], curve.scaled)
    order, proven = best_order(problem)
    value = float(problem.values(order))
    bound = value if proven else max(value, upper_bound(problem))
    made = [items[i] for i in ranks[order].tolist()]
    gap = (bound - value) / abs(bound) if bound else 0.0
    return Placement(made, value * scale * curve.peak, bound * scale * curve.peak, gap)


def _read_lengths(items: Sequence[object], tokens: Field | None) -> Floats:
    if tokens is None:
        return np.ones(len(items))
    counts = read_values(items, tokens, "token count")
    for item, count in zip(items, counts, strict=True):
        if not float_of(count) > 0:
            raise OrderingError(
                f"token count of {quoted(item)} is {quoted(count)}: it must be a positive number; "
                "leave tokens out where all items are about equally long"
            )
    made = np.array(counts, dtype=float)
    return np.maximum(made / made.max(initial=0.0), MIN_LENGTH_SHARE) if len(items) else made
