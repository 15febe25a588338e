"""The selection as numbers: what candidates cost and are worth, and what limits a choice.

Candidates stand in a row; some are joined to the one before (the next piece of the same run). A span opens at each
chosen candidate that does not continue a chosen one, and costs its opening beside its own tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import RetrivexError, quoted


@dataclass(frozen=True)
class Problem:
    """Candidates to choose from, in document order; all arrays have the same length n.

    Parameters
    ----------
    costs : tokens of each candidate, >= 0
    openings : extra tokens where a span opens at the candidate (separator, number, header, repeated overlap), >= 0
    values : worth of each per token, as a share of the best; what is worth nothing is never chosen
    joined : whether the candidate continues the one before it without a gap
    documents : number of the document that each lies in, from 0
    span_price : what opening a span is charged beside its tokens, in tokens of the best candidate

    Raises
    ------
    RetrivexError
        If the arrays differ in length, or a value is not finite.
    """

    costs: NDArray[np.int64]
    openings: NDArray[np.int64]
    values: NDArray[np.float64]
    joined: NDArray[np.bool_]
    documents: NDArray[np.int64]
    span_price: float = 0.0

    def __post_init__(self) -> None:
        sizes = {len(row) for row in (self.costs, self.openings, self.values, self.joined, self.documents)}
        if len(sizes) > 1:
            raise RetrivexError(
                f"candidates have {len(self.costs)} costs, {len(self.openings)} openings, {len(self.values)} values, "
                f"{len(self.joined)} joins and {len(self.documents)} documents: give one of each per candidate"
            )
        if not np.isfinite(self.values).all():
            raise RetrivexError(f"values are {quoted(self.values.tolist())}: each must be a finite number")

    def __len__(self) -> int:
        return len(self.costs)

    @cached_property
    def continues(self) -> list[bool]:
        """`joined` as a list with an end, which loops read several times as fast."""
        return [*self.joined.tolist(), False]


@dataclass(frozen=True, slots=True)
class Limits:
    """What every choice has to keep.

    Parameters
    ----------
    budget : most tokens, >= 0
    max_spans : most spans, >= 1; None for any number
    per_document : most tokens of each document; None for no limit
    """

    budget: int
    max_spans: int | None = None
    per_document: int | None = None


def opens(problem: Problem, chosen: Sequence[int]) -> list[bool]:
    """Return whether a span opens at each of a set, its positions ascending."""
    continues = problem.continues
    return [not (continues[i] and at and chosen[at - 1] == i - 1) for at, i in enumerate(chosen)]


def tokens_of(problem: Problem, chosen: Sequence[int]) -> int:
    """Return the tokens that a set is priced at, its positions ascending."""
    numbers = np.array(chosen, dtype=np.int64)
    opened = np.array(opens(problem, chosen), dtype=np.bool_)
    return int(problem.costs[numbers].sum() + problem.openings[numbers[opened]].sum())


def fits(problem: Problem, chosen: Sequence[int], limits: Limits) -> bool:
    """Return whether a set, its positions ascending, keeps all limits."""
    opened = opens(problem, chosen)
    if tokens_of(problem, chosen) > limits.budget:
        return False
    if limits.max_spans is not None and sum(opened) > limits.max_spans:
        return False
    if limits.per_document is None:
        return True
    numbers = np.array(chosen, dtype=np.int64)
    tokens = problem.costs[numbers] + problem.openings[numbers] * np.array(opened, dtype=np.int64)
    of_document = np.bincount(problem.documents[numbers], weights=tokens) if len(numbers) else np.zeros(1)
    return bool(of_document.max() <= limits.per_document)
