"""Problem and limits in, the set of candidates worth most out."""

from __future__ import annotations

from typing import Literal, TypeAlias

from retrivex.errors import RetrivexError
from retrivex.selection.exact import solve_exactly
from retrivex.selection.greedy import choose_greedily
from retrivex.selection.problem import Limits, Problem, Selection, fits

Method: TypeAlias = Literal["exact", "greedy"]


def solve(problem: Problem, limits: Limits, method: Method = "exact") -> Selection:
    """Choose the set worth most within the limits.

    Parameters
    ----------
    problem : n candidates
    limits : what every choice has to keep
    method : `exact`, or `greedy` (best rank first while it fits, whatever a span costs)

    Returns
    -------
    Selection
        With `proven` False for `greedy`, and for `exact` where the problem was too large; `bound` then says how far
        off it can be at most.

    Raises
    ------
    RetrivexError
        If a limit breaks its rule, what is to be kept breaks a limit, or a gain is not finite.

    Examples
    --------
    >>> row = Problem([5, 5, 5], [1, 1, 1], [1.0, 0.4, 0.9], [False, True, True], run_cost=0.2)
    >>> solve(row, Limits(12)).chosen, solve(row, Limits(16)).chosen
    ((0, 2), (0, 1, 2))
    >>> row = Problem([5, 5, 5], [1, 1, 1], [1.0, 0.4, 0.9], [False, True, False], documents=[0, 0, 1])
    >>> solve(row, Limits(12)).chosen, solve(row, Limits(12, keep=[1])).chosen
    ((0, 2), (0, 1))
    >>> solve(row, Limits(20, caps=[6, 6])).chosen
    (0, 2)
    """
    _check(problem, limits)
    return choose_greedily(problem, limits) if method == "greedy" else solve_exactly(problem, limits)


def _check(problem: Problem, limits: Limits) -> None:
    if limits.budget < 0:
        raise RetrivexError(f"budget is {limits.budget}: it must not be negative; give 0 for an empty context")
    if limits.max_spans is not None and limits.max_spans < 1:
        raise RetrivexError(f"max_spans is {limits.max_spans}: it must be at least 1; give None for any number")
    kept = tuple(sorted(limits.keep))
    if (kept or limits.caps is not None) and not fits(problem, kept, limits):
        raise RetrivexError(
            f"the candidates {kept} that are to be kept do not fit {limits.budget} tokens, {limits.max_spans} spans "
            "and the documents' caps: keep fewer"
        )
