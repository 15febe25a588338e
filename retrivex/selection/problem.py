r"""The set of runs that is worth most under a token budget.

Candidates stand in a row; some are joined to the one before (the next piece of the same run). With gains
:math:`g_i`, costs :math:`c_i`, the extra cost :math:`o_i` of opening a run at *i* and the price :math:`\gamma` of a
run, choose :math:`x_i \in \{0, 1\}`, with :math:`y_i = 1` where a run opens, to

.. math:: \max \sum_i g_i x_i - \gamma y_i \quad \text{subject to} \quad \sum_i c_i x_i + o_i y_i \le B

A knapsack on a chain. The Lagrangian relaxation of the budget is a two-state chain programme, linear in the number
of candidates; its dual is found by intersecting lines (Kelley's cutting planes, 1960, in one dimension). Its bound
fixes every candidate that cannot be in (or out of) an optimal set (variable fixing by reduced cost; Kellerer,
Pferschy, Pisinger, Knapsack Problems, 2004, chapter 3), and an exact programme over what is left decides the rest.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import RetrivexError, quoted
from retrivex.selection.dynamic_programme import Row, best_rows
from retrivex.selection.lagrangian import Chain

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MAX_CELLS = 40_000_000
"""Largest exact programme, in candidates x tokens x runs: some 0.2 s and 80 MB on one core."""

TOLERANCE = 1e-9
"""Values that differ by no more than this count as equal."""

_FEW = 40
"""Candidates up to which a loop over them is faster than arrays."""

_OTHERS = -1
"""Stands in a heap before all that is not in it yet."""

_NEVER = np.iinfo(np.int64).max
"""Tokens of what is not worth any."""

_STEP = 1.6
"""The best price is first looked for between a guess and this many times more or less: it seldom is further off."""


class _Arrays(NamedTuple):
    """The numbers of `Candidates` as arrays, shape (n,)."""

    costs: NDArray[np.int64]
    openings: NDArray[np.int64]
    gains: NDArray[np.float64]
    joined: NDArray[np.bool_]


@dataclass(frozen=True)
class Candidates:
    """What can be chosen, in document order; all sequences have the same length n.

    Parameters
    ----------
    costs : tokens of each candidate, >= 0
    openings : extra tokens where a run begins at the candidate (separator, number, header, repeated overlap), >= 0
    gains : what each is worth; negative where it only serves to connect others
    joined : whether the candidate continues the one before it without a gap
    ranks : best first by this in greedy choice and in filling, in share of the best; defaults to `gains` per token
    documents : number of the document that each lies in, from 0; only needed where documents have a cap
    """

    costs: Sequence[int]
    openings: Sequence[int]
    gains: Sequence[float]
    joined: Sequence[bool]
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
        costs: NDArray[np.int64],
        openings: NDArray[np.int64],
        gains: NDArray[np.float64],
        joined: NDArray[np.bool_],
        *,
        ranks: Sequence[float] | None = None,
        documents: Sequence[int] | None = None,
    ) -> Candidates:
        """Return candidates whose numbers are there as arrays already."""
        made = cls(costs.tolist(), openings.tolist(), gains.tolist(), joined.tolist(), ranks, documents)
        made.__dict__["arrays"] = _Arrays(costs, openings, gains, joined)  # what the property would make of the lists
        return made

    @cached_property
    def arrays(self) -> _Arrays:
        """The same as arrays."""
        return _Arrays(
            np.array(self.costs, dtype=np.int64),
            np.array(self.openings, dtype=np.int64),
            np.array(self.gains, dtype=np.float64),
            np.array(self.joined, dtype=np.bool_),
        )

    @cached_property
    def least(self) -> NDArray[np.int64]:
        """Fewest tokens that each may add to any set, shape (n,); more than any budget where its gain is not positive.

        It may continue what is there, and melt with what continues it.
        """
        costs, openings, gains, joined = self.arrays
        made = costs.copy()
        made[:-1] -= openings[1:] * joined[1:]
        made[gains <= 0] = _NEVER
        return made

    @cached_property
    def dearest_opening(self) -> int:
        """Most that opening a run costs."""
        return int(self.arrays.openings.max(initial=0))

    def rank(self, i: int) -> float:
        """Return what candidate `i` is sorted by in greedy choice."""
        return self.gains[i] / max(self.costs[i], 1) if self.ranks is None else self.ranks[i]


@dataclass(frozen=True, slots=True)
class Selection:
    """What was chosen.

    Parameters
    ----------
    chosen : positions of the chosen candidates, ascending
    value : the objective, gains less `run_cost` times the runs
    tokens : costs and openings of the chosen
    bound : no set within the budget is worth more than this
    proven : whether `value` is known to be the best possible
    """

    chosen: tuple[int, ...]
    value: float
    tokens: int
    bound: float
    proven: bool


def select(
    candidates: Candidates,
    budget: int,
    *,
    run_cost: float = 0.0,
    max_runs: int | None = None,
    method: Literal["exact", "greedy"] = "exact",
) -> Selection:
    """Choose the set worth most within `budget` tokens.

    Parameters
    ----------
    candidates : n of them
    budget : in tokens, >= 0
    run_cost : gamma, in the unit of the gains
    max_runs : most runs; None for any number
    method : `exact`, or `greedy` (best rank first while it fits, whatever a run costs)

    Returns
    -------
    Selection
        With `proven` False for `greedy`, and for `exact` where the undecided rest would have been larger than
        `MAX_CELLS`; `bound` then says how far off it can be at most.

    Raises
    ------
    RetrivexError
        If the budget is negative, `max_runs` is below 1, or a gain is not finite.

    Examples
    --------
    >>> row = Candidates(costs=[5, 5, 5], openings=[1, 1, 1], gains=[1.0, 0.4, 0.9], joined=[False, True, True])
    >>> select(row, budget=12, run_cost=0.2).chosen
    (0, 2)
    >>> select(row, budget=16, run_cost=0.2).chosen
    (0, 1, 2)
    """
    if budget < 0:
        raise RetrivexError(f"budget is {budget}: it must not be negative; give 0 for an empty context")
    if max_runs is not None and max_runs < 1:
        raise RetrivexError(f"max_runs is {max_runs}: it must be at least 1; give None for any number")
    if method == "greedy":
        chosen = fill(candidates, (), budget, run_cost=0.0, max_runs=max_runs, by_rank=True)
        value, tokens = measure(candidates, chosen, run_cost)
        return Selection(chosen, value, tokens, bound=float("inf"), proven=False)
    if not len(candidates):
        return Selection((), 0.0, 0, 0.0, proven=True)
    if not np.isfinite(candidates.arrays.gains).all():
        raise RetrivexError(f"gains are {quoted(candidates.gains)}: each must be a finite number")
    return _Exact(candidates, budget, run_cost, max_runs).solve()


def fill(
    candidates: Candidates,
    chosen: Sequence[int],
    budget: int,
    *,
    run_cost: float = 0.0,
    max_runs: int | None = None,
    by_rank: bool = False,
    caps: Sequence[int] | None = None,
    spent: int | None = None,
) -> tuple[int, ...]:
    """Add the best remaining candidates that still fit: what a budget has left is never wasted.

    Best is what a token brings net of opening a run, (gain - `run_cost` if it opens one) / tokens, or the rank
    itself with `by_rank`. Only candidates with a positive gain are added, and to no document more tokens than its cap
    in `caps`. `spent` are the tokens of `chosen`, where they are known.

    Returns
    -------
    tuple of int
        `chosen` and what was added, ascending.
    """
    n = len(candidates)
    costs, gains, openings, joined = candidates.costs, candidates.gains, candidates.openings, candidates.joined
    taken = bytearray(n)
    for i in chosen:
        taken[i] = True
    runs = 0 if max_runs is None else count_runs(candidates, chosen)
    left = budget - (measure(candidates, chosen, 0.0)[1] if spent is None else spent)
    given_back = candidates.dearest_opening
    document_of = candidates.documents if caps is not None else None
    room = [] if caps is None else room_left(candidates, chosen, caps)

    def change(i: int) -> tuple[int, int]:
        """Tokens and runs that taking `i` adds; joining two runs gives one opening back."""
        tokens, opened = costs[i], 0
        if not (joined[i] and i > 0 and taken[i - 1]):
            tokens, opened = tokens + openings[i], 1
        if i + 1 < n and taken[i + 1] and joined[i + 1]:
            tokens, opened = tokens - openings[i + 1], opened - 1
        return tokens, opened

    def entry(i: int, tokens: int, opened: int) -> tuple[float, int]:
        worth = candidates.rank(i) if by_rank else (gains[i] - run_cost * opened) / max(tokens, 1)
        return (-worth, i)

    def affordable() -> tuple[list[tuple[float, int]], int]:
        """Heap of all that fits by now, and the fewest tokens that any of it takes."""
        on = np.frombuffer(taken, dtype=np.bool_)
        may_fit = ((candidates.least <= left) & ~on).nonzero()[0]
        if len(may_fit) < _FEW:
            changes = [(i, *change(i)) for i in may_fit.tolist()]
            few = [entry(i, tokens, opened) for i, tokens, opened in changes if tokens <= left]
            heapq.heapify(few)
            return few, min([tokens for _, tokens, _ in changes if tokens <= left], default=0)
        # `change` and `entry` for all candidates at once
        arrays = candidates.arrays
        opened = np.ones(n, dtype=np.int64)
        opened[1:] -= arrays.joined[1:] & on[:-1]
        tokens = arrays.costs + arrays.openings * opened
        melts = arrays.joined[1:] & on[1:]
        opened[:-1] -= melts
        tokens[:-1] -= arrays.openings[1:] * melts
        fitting = ((tokens <= left) & (arrays.gains > 0) & ~on).nonzero()[0]
        if by_rank:
            keys = np.array([-candidates.rank(i) for i in fitting.tolist()])
        else:
            keys = -((arrays.gains - run_cost * opened)[fitting] / np.maximum(tokens[fitting], 1))
        return _some_first(keys, fitting, others), int(tokens[fitting].min()) if len(fitting) else 0

    others: list[tuple[Floats, Integers]] = []
    (heap, shortest), more_room = affordable(), False
    added: list[int] = []
    while heap or more_room:
        if not heap or left < shortest:
            others.clear()
            heap, shortest = affordable() if more_room else ([], 0)
            more_room = False
            continue
        worth, i = heapq.heappop(heap)
        if i == _OTHERS:
            heap += _entries(*others.pop())
            heapq.heapify(heap)
            continue
        # the first test spares the others: what is longer than this cannot fit, whatever stands beside it
        if costs[i] > left + given_back or taken[i]:
            continue
        tokens, opened = change(i)
        if tokens > left or (worth, i) != entry(i, tokens, opened):
            continue
        if max_runs is not None and opened > 0 and runs + opened > max_runs:
            continue
        if document_of is not None:
            if tokens > room[document_of[i]]:
                continue
            room[document_of[i]] -= tokens
        taken[i] = True
        added.append(i)
        left -= tokens
        runs += opened
        more_room = more_room or tokens < 0 or opened < 0
        for j in (i - 1, i + 1):
            # its opening became free, so it may fit and rank higher now
            if 0 <= j < n and not taken[j] and gains[j] > 0:
                tokens, opened = change(j)
                heapq.heappush(heap, entry(j, tokens, opened))
                shortest = min(shortest, tokens)
    return tuple(sorted([*chosen, *added]))


def _some_first(keys: Floats, numbers: Integers, others: list[tuple[Floats, Integers]]) -> list[tuple[float, int]]:
    """Return a heap of the least keys with their numbers, and at its end a sign for the others, which are put aside.

    Few are ever taken from it, so that most need not be sorted.
    """
    if len(keys) > 2 * _FEW:
        later = keys > np.partition(keys, _FEW)[_FEW]
        if later.any():
            others.append((keys[later], numbers[later]))
            return [*sorted(_entries(keys[~later], numbers[~later])), (float(keys[later].min()), _OTHERS)]
    return sorted(_entries(keys, numbers))


def _entries(keys: Floats, numbers: Integers) -> list[tuple[float, int]]:
    return list(zip(keys.tolist(), numbers.tolist(), strict=True))


def measure(candidates: Candidates, chosen: Sequence[int], run_cost: float) -> tuple[float, int]:
    """Return objective and tokens of a set, its positions ascending."""
    costs, openings, gains, joined = candidates.costs, candidates.openings, candidates.gains, candidates.joined
    value, tokens, last = 0.0, 0, -2
    for i in chosen:
        value += gains[i]
        tokens += costs[i]
        if last != i - 1 or not joined[i]:
            value -= run_cost
            tokens += openings[i]
        last = i
    return value, tokens


def count_runs(candidates: Candidates, chosen: Sequence[int]) -> int:
    """Return the number of runs of a set, its positions ascending."""
    joined = candidates.joined
    return sum(not (joined[i] and at and chosen[at - 1] == i - 1) for at, i in enumerate(chosen))


def room_left(candidates: Candidates, chosen: Sequence[int], caps: Sequence[int]) -> list[int]:
    """Return the tokens that the cap of each document leaves beside a set, its positions ascending."""
    left, last = list(caps), -2
    for i in chosen:
        opens = not (candidates.joined[i] and last == i - 1)
        left[_document(candidates, i)] -= candidates.costs[i] + (candidates.openings[i] if opens else 0)
        last = i
    return left


def _document(candidates: Candidates, i: int) -> int:
    if candidates.documents is None:
        raise RetrivexError("caps without documents: say in Candidates(documents=...) which document each lies in")
    return candidates.documents[i]


class _Priced(NamedTuple):
    """A set that is the best at some price per token: gains less runs, tokens, and the price; None for no set."""

    value: float
    tokens: int
    price: float | None


class _Exact:
    """One exact choice: dual bound, fixing, programme over the rest."""

    def __init__(self, candidates: Candidates, budget: int, run_cost: float, max_runs: int | None) -> None:
        self.candidates = candidates
        arrays = candidates.arrays
        self.chain = Chain(arrays.gains, arrays.costs, arrays.openings, arrays.joined)
        self.budget = budget
        self.run_cost = run_cost
        self.max_runs = max_runs
        self.best: tuple[int, ...] = ()
        self.best_value, self.best_tokens = 0.0, 0

    def solve(self) -> Selection:
        toll, price, bound = 0.0, *self._dual(self.run_cost)
        if self.max_runs is not None and self.chain.best(price, self.run_cost).runs > self.max_runs:
            toll, price, bound = self._toll(price, bound)
        self._improve(self._filled(self.best, self.best_tokens))
        proven = bound <= self.best_value + TOLERANCE or self._decide(*self._undecided(price, toll, bound))
        if not proven:
            # without a proof, at least no worse than the simple way
            self._improve(self._filled((), 0, by_rank=True))
        value = self.best_value
        return Selection(self.best, value, self.best_tokens, value if proven else bound, proven)

    def _filled(self, chosen: tuple[int, ...], spent: int, *, by_rank: bool = False) -> tuple[int, ...]:
        return fill(
            self.candidates,
            chosen,
            self.budget,
            run_cost=0.0 if by_rank else self.run_cost,
            max_runs=self.max_runs,
            by_rank=by_rank,
            spent=spent,
        )

    def _improve(self, chosen: tuple[int, ...]) -> None:
        if chosen == self.best:
            return
        value, tokens = measure(self.candidates, chosen, self.run_cost)
        fits = self.max_runs is None or count_runs(self.candidates, chosen) <= self.max_runs
        if value > self.best_value + TOLERANCE and tokens <= self.budget and fits:
            self.best, self.best_value, self.best_tokens = chosen, value, tokens

    def _dual(self, run_cost: float) -> tuple[float, float]:
        """Return the price per token with the lowest bound, and that bound; keeps the best set seen."""
        over, within = self._bracket(run_cost)
        if over is None:
            self._improve(self.chain.solution(0.0, run_cost))
            return 0.0, within.value
        while True:
            # where the two known sets are worth the same, less or more tokens can only be worth more
            price = (over.value - within.value) / (over.tokens - within.tokens)
            line = over.value + price * (self.budget - over.tokens)
            made = self._priced(price, run_cost)
            bound = made.value + price * (self.budget - made.tokens)
            if made.tokens > self.budget:
                over = made
            else:
                within = made
            if bound <= line + TOLERANCE:
                break
        if within.price is not None:
            self._improve(self.chain.solution(within.price, run_cost))
        return price, bound

    def _bracket(self, run_cost: float) -> tuple[_Priced | None, _Priced]:
        """Return a set that takes more than the budget, None where the best of all does not, and one that keeps it."""
        guess = self._guess()
        within = _Priced(0.0, 0, None)
        for price in dict.fromkeys((guess, guess / _STEP, 0.0)):
            made = self._priced(price, run_cost)
            if made.tokens > self.budget:
                break
            within = made
        else:
            return None, within
        if within.price is None:
            dearer = self._priced(guess * _STEP, run_cost)
            return (dearer, within) if dearer.tokens > self.budget else (made, dearer)
        return made, within

    def _priced(self, price: float, run_cost: float) -> _Priced:
        """Return what is best at `price` per token where no budget limits it."""
        worth, tokens, _ = self.chain.best(price, run_cost)
        return _Priced(worth + price * tokens, tokens, price)

    def _guess(self) -> float:
        """Gain per token at which the budget would be used up if opening a run cost nothing."""
        costs, _, gains, _ = self.candidates.arrays
        density = gains / np.maximum(costs, 1)
        order = (-density).argsort()
        at = int(costs[order].cumsum().searchsorted(self.budget))
        return max(0.0, float(density[order[min(at, len(order) - 1)]]))

    def _toll(self, price: float, bound: float) -> tuple[float, float, float]:
        """Return toll per run, price per token and bound where only `max_runs` runs may open.

        `price` and `bound` are those without a toll.
        """
        assert self.max_runs is not None
        low, high = 0.0, max(self.candidates.gains) * len(self.candidates) / self.max_runs + 1.0
        best = (0.0, price, bound)
        for _ in range(16):
            toll = (low + high) / 2
            price, bound = self._dual(self.run_cost + toll)
            bound += toll * self.max_runs
            if bound < best[2]:
                best = (toll, price, bound)
            runs = self.chain.best(price, self.run_cost + toll).runs
            if high - low < 1e-3:
                break
            low, high = (toll, high) if runs > self.max_runs else (low, toll)
        return best

    def _undecided(self, price: float, toll: float, bound: float) -> tuple[list[int], list[bool]]:
        """Return what sets better than the best one known may hold, and which of it all of them hold."""
        return self.chain.undecided(price, self.run_cost + toll, bound - self.best_value + TOLERANCE)

    def _decide(self, keep: list[int], forced: list[bool]) -> bool:
        """Exact programme over `keep`; True if it was run, False where it would be larger than `MAX_CELLS`."""
        candidates = self.candidates
        costs, openings, gains = candidates.costs, candidates.openings, candidates.gains
        room = self.budget - sum([costs[i] for i, must in zip(keep, forced, strict=True) if must])
        if room < 0:
            return True  # every better set would hold more than fits: there is none
        layers = 1 if self.max_runs is None else self.max_runs + 1
        if len(keep) * (room + 1) * layers > MAX_CELLS:
            return False
        members: list[list[int]] = []
        worth: list[float] = []
        edges: list[tuple[bool, bool]] = []
        last, together = -2, False
        for i, must in zip(keep, forced, strict=True):
            joined = candidates.joined[i] and last == i - 1
            if joined and must and together:  # what is taken together anyway is one row
                members[-1].append(i)
                worth[-1] += gains[i]
            else:
                members.append([i])
                worth.append(gains[i])
                edges.append((joined, must))
            last, together = i, must
        rows = [
            Row(gain, 0 if must else costs[part[0]], openings[part[0]], joined, must)
            for gain, part, (joined, must) in zip(worth, members, edges, strict=True)
        ]
        best = best_rows(rows, room, self.run_cost, layers)
        self._improve(tuple([i for at in best for i in members[at]]))
        return True
