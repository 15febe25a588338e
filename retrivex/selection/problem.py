r"""The selection as numbers: what candidates cost and bring, what limits a choice, and what a choice is worth.

Candidates stand in a row; some are joined to the one before (the next piece of the same run). With gains
:math:`g_i`, costs :math:`c_i`, the extra cost :math:`o_i` of opening a span at *i* and the price :math:`\gamma` of a
span, choose :math:`x_i \in \{0, 1\}`, with :math:`y_i = 1` where a span opens, to

.. math:: \max \sum_i g_i x_i - \gamma y_i \quad \text{subject to} \quad \sum_i c_i x_i + o_i y_i \le B

and to the other limits: a knapsack on a chain.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import RetrivexError

TOLERANCE = 1e-9
"""Values that differ by no more than this count as equal."""

UNAFFORDABLE = np.iinfo(np.int64).max
"""Tokens of candidates without gain: more than any budget."""


class Arrays(NamedTuple):
    """The numbers of a `Problem` as arrays, shape (n,)."""

    costs: NDArray[np.int64]
    openings: NDArray[np.int64]
    gains: NDArray[np.float64]
    joined: NDArray[np.bool_]


@dataclass(frozen=True)
class Problem:
    """Candidates to choose from, in document order; all sequences have the same length n.

    Parameters
    ----------
    costs : tokens of each candidate, >= 0
    openings : extra tokens where a span opens at the candidate (separator, number, header, repeated overlap), >= 0
    gains : what each is worth; negative where it only serves to connect others
    joined : whether the candidate continues the one before it without a gap
    run_cost : gamma, price of a span in the unit of the gains
    ranks : best first by this in greedy choice, in share of the best; defaults to `gains` per token
    documents : number of the document that each lies in, from 0; only needed where documents have a cap. A candidate
        that is joined to the one before lies in the same document

    Raises
    ------
    RetrivexError
        If the sequences differ in length.
    """

    costs: Sequence[int]
    openings: Sequence[int]
    gains: Sequence[float]
    joined: Sequence[bool]
    run_cost: float = 0.0
    ranks: Sequence[float] | None = None
    documents: Sequence[int] | None = None

    def __len__(self) -> int:
        return len(self.costs)

    def __post_init__(self) -> None:
        if not len(self.costs) == len(self.openings) == len(self.gains) == len(self.joined):
            raise RetrivexError(
                f"candidates have {len(self.costs)} costs, {len(self.openings)} openings, {len(self.gains)} gains, "
                f"{len(self.joined)} joins: they must be as many; give one of each per candidate"
            )

    @classmethod
    def of_arrays(
        cls,
        arrays: Arrays,
        *,
        run_cost: float = 0.0,
        ranks: Sequence[float] | None = None,
        documents: Sequence[int] | None = None,
    ) -> Problem:
        """Return a problem whose numbers are there as arrays already."""
        costs, openings, gains, joined = arrays
        made = cls(costs.tolist(), openings.tolist(), gains.tolist(), joined.tolist(), run_cost, ranks, documents)
        made.__dict__["arrays"] = arrays  # what the property would make of the lists
        return made

    @cached_property
    def arrays(self) -> Arrays:
        """The same as arrays."""
        return Arrays(
            np.array(self.costs, dtype=np.int64),
            np.array(self.openings, dtype=np.int64),
            np.array(self.gains, dtype=np.float64),
            np.array(self.joined, dtype=np.bool_),
        )

    @cached_property
    def min_tokens(self) -> NDArray[np.int64]:
        """Fewest tokens that each may add to any set, shape (n,); `UNAFFORDABLE` where its gain is not positive.

        It may continue what is there, and join it with what continues it.
        """
        costs, openings, gains, joined = self.arrays
        made = costs.copy()
        made[:-1] -= openings[1:] * joined[1:]
        made[gains <= 0] = UNAFFORDABLE
        return made

    @cached_property
    def max_opening(self) -> int:
        """Most that opening a span costs, in tokens."""
        return int(self.arrays.openings.max(initial=0))

    def rank(self, i: int) -> float:
        """Return what candidate `i` is sorted by in greedy choice."""
        return self.gains[i] / max(self.costs[i], 1) if self.ranks is None else self.ranks[i]


@dataclass(frozen=True, slots=True)
class Limits:
    """What every choice has to keep.

    Parameters
    ----------
    budget : most tokens, >= 0
    max_spans : most spans, >= 1; None for any number
    caps : most tokens of each document, by its number; None for no limit
    keep : positions that are chosen whatever they are worth; together they keep all limits
    """

    budget: int
    max_spans: int | None = None
    caps: Sequence[int] | None = None
    keep: Collection[int] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """What was chosen.

    Parameters
    ----------
    chosen : positions of the chosen candidates, ascending
    value : the objective, gains less `run_cost` times the spans
    tokens : costs and openings of the chosen
    bound : no set within the limits is worth more than this
    proven : whether `value` is known to be the best possible
    """

    chosen: tuple[int, ...]
    value: float
    tokens: int
    bound: float
    proven: bool


def measure(problem: Problem, chosen: Sequence[int]) -> tuple[float, int]:
    """Return objective and tokens of a set, its positions ascending."""
    costs, openings, gains, joined = problem.costs, problem.openings, problem.gains, problem.joined
    value, tokens, last = 0.0, 0, -2
    for i in chosen:
        value += gains[i]
        tokens += costs[i]
        if last != i - 1 or not joined[i]:
            value -= problem.run_cost
            tokens += openings[i]
        last = i
    return value, tokens


def count_spans(problem: Problem, chosen: Sequence[int]) -> int:
    """Return the number of spans of a set, its positions ascending."""
    joined = problem.joined
    return sum(not (joined[i] and at and chosen[at - 1] == i - 1) for at, i in enumerate(chosen))


def capacity_left(problem: Problem, chosen: Sequence[int], caps: Sequence[int]) -> list[int]:
    """Return the tokens that the cap of each document leaves beside a set, its positions ascending.

    Raises
    ------
    RetrivexError
        If the problem does not say which document each candidate lies in.
    """
    left, last = list(caps), -2
    for i in chosen:
        if problem.documents is None:
            raise RetrivexError("caps without documents: say in Problem(documents=...) which document each lies in")
        opens = not (problem.joined[i] and last == i - 1)
        left[problem.documents[i]] -= problem.costs[i] + (problem.openings[i] if opens else 0)
        last = i
    return left


def fits(problem: Problem, chosen: Sequence[int], limits: Limits) -> bool:
    """Return whether a set, its positions ascending, keeps all limits."""
    if measure(problem, chosen)[1] > limits.budget:
        return False
    if limits.max_spans is not None and count_spans(problem, chosen) > limits.max_spans:
        return False
    return limits.caps is None or min(capacity_left(problem, chosen, limits.caps), default=0) >= 0
