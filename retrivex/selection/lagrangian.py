"""What is best where tokens have a price and no budget limits them: a chain program over few groups.

At a price :math:`\\lambda` a candidate is worth :math:`g_i - \\lambda c_i`. Neighbours that continue each other and are
all worth something are taken together or not at all, and so are neighbours that all cost more than they bring: a run
only ever leads through all of them. So the program runs over groups, of which there are far fewer.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MANY = 100
"""Candidates from which on arrays are faster than loops; of fewer, each is a group of its own."""

_FEW = 16
"""Prices whose groups are kept."""


class Relaxed(NamedTuple):
    """The best set at a price: gains less runs and the price of its tokens; and how many tokens and runs it takes."""

    value: float
    tokens: int
    runs: int


class _Groups(NamedTuple):
    """Candidates in groups, one entry a group.

    Parameters
    ----------
    starts : first candidate
    value : gains less the price of the tokens
    entry : what opening a run at the group costs
    joined : whether it continues the one before
    """

    starts: Integers
    value: list[float]
    entry: list[float]
    joined: list[bool]


class Chain:
    """A row of candidates, ready to be relaxed at any price.

    Parameters
    ----------
    gains, costs, openings, joined : shape (n,), n >= 1, as in `Problem`
    """

    def __init__(self, gains: Floats, costs: Integers, openings: Integers, joined: NDArray[np.bool_]) -> None:
        self.gains = gains
        self.costs = costs
        self.openings = openings
        self.joined = joined.copy()
        self.joined[0] = False
        if len(gains) >= MANY:
            step = np.diff(openings)
            self._edges = np.empty(len(gains), dtype=np.bool_)
            self._edges[0] = True
            self._edges[1:] = ~self.joined[1:] | (step != 0)
            # a run may begin with the last candidate before a dearer opening, so that this one stands alone
            self._edges[:-1] |= self.joined[1:] & (step > 0)
        self._grouped: dict[tuple[float, float], _Groups] = {}

    @cached_property
    def _alone(self) -> Integers:
        """Where groups begin that are one candidate each."""
        return np.arange(len(self.gains))

    @cached_property
    def _lists(self) -> tuple[list[float], list[int], list[int], list[bool]]:
        """Gains, costs, openings and joins, for loops."""
        return self.gains.tolist(), self.costs.tolist(), self.openings.tolist(), self.joined.tolist()

    def _groups(self, price: float, run_cost: float) -> _Groups:
        """Return the groups at a price: those of the last few, as sets are looked for where bounds were."""
        made = self._grouped.get((price, run_cost))
        if made is None:
            if len(self._grouped) >= _FEW:
                self._grouped.clear()
            made = self._grouped[price, run_cost] = self._make_groups(price, run_cost)
        return made

    def _make_groups(self, price: float, run_cost: float) -> _Groups:
        if len(self.gains) < MANY:
            gains, costs, openings, joined = self._lists
            value = [gain - price * cost for gain, cost in zip(gains, costs, strict=True)]
            return _Groups(self._alone, value, [price * opening + run_cost for opening in openings], joined)
        net = self.gains - price * self.costs
        pays = net >= 0
        edges = self._edges.copy()
        edges[1:] |= pays[1:] != pays[:-1]
        starts = edges.nonzero()[0]
        entries = (price * self.openings[starts] + run_cost).tolist()
        return _Groups(starts, np.add.reduceat(net, starts).tolist(), entries, self.joined[starts].tolist())

    def best(self, price: float, run_cost: float) -> Relaxed:
        """Return the best at `price` per token and `run_cost` per run."""
        groups = self._groups(price, run_cost)
        if len(groups.starts) < len(self.costs):
            tokens = np.add.reduceat(self.costs, groups.starts).tolist()
            openings = self.openings[groups.starts].tolist()
        else:
            _, tokens, openings, _ = self._lists
        shut, shut_tokens, shut_runs = 0.0, 0, 0
        live, live_tokens, live_runs = -np.inf, 0, 0
        for value, entry, joined, cost, opening in zip(
            groups.value, groups.entry, groups.joined, tokens, openings, strict=True
        ):
            if live > shut:
                rest, rest_tokens, rest_runs = live, live_tokens, live_runs
            else:
                rest, rest_tokens, rest_runs = shut, shut_tokens, shut_runs
            fresh = (shut if joined else rest) - entry
            if joined and live >= fresh:
                live, live_tokens = live + value, live_tokens + cost
            elif joined:
                live, live_tokens, live_runs = fresh + value, shut_tokens + cost + opening, shut_runs + 1
            else:
                live, live_tokens, live_runs = fresh + value, rest_tokens + cost + opening, rest_runs + 1
            shut, shut_tokens, shut_runs = rest, rest_tokens, rest_runs
        return Relaxed(live, live_tokens, live_runs) if live > shut else Relaxed(shut, shut_tokens, shut_runs)

    def solution(self, price: float, run_cost: float) -> tuple[int, ...]:
        """Return the set behind `best`, traced back."""
        groups = self._groups(price, run_cost)
        shut, live = 0.0, -np.inf
        came: list[tuple[bool, bool]] = []  # (live from live, shut from live)
        for value, entry, joined in zip(groups.value, groups.entry, groups.joined, strict=True):
            rest_live = live > shut
            rest = live if rest_live else shut
            fresh = (shut if joined else rest) - entry
            stays = joined and live >= fresh
            came.append((stays or (not joined and rest_live), rest_live))
            live, shut = (live if stays else fresh) + value, rest
        starts = groups.starts.tolist()
        ends = [*starts[1:], len(self.gains)]
        parts: list[range] = []
        on = live > shut
        for group in range(len(ends) - 1, -1, -1):
            if on:
                parts.append(range(starts[group], ends[group]))
                on = came[group][0]
            else:
                on = came[group][1]
        return tuple([i for part in reversed(parts) for i in part])

    def undecided(self, price: float, run_cost: float, slack: float) -> tuple[list[int], list[bool]]:
        """Drop what no set within `slack` of the best holds; return the rest, and which of it all of them hold.

        The best with a candidate is what is best before its group, through the candidate, and behind it; the best
        without it likewise. Both are exact or too high, never too low.
        """
        groups = self._groups(price, run_cost)
        enters, befores, best = _forward(groups)
        ons, offs = _backward(groups)
        net = self.gains - price * self.costs
        sums = net.cumsum()
        least = best - slack - 1e-12 * float(np.abs(sums).max())
        begins = np.zeros(len(net), dtype=np.int64)
        begins[groups.starts[1:]] = 1
        of = begins.cumsum()  # number of each candidate's group
        table = np.array([groups.entry, groups.value, enters, befores, ons, offs])
        entry, value, enter, before, on, off = table.take(of, axis=1)
        upto = sums - (sums - net)[groups.starts][of]  # of its group, up to the candidate
        pays = net >= 0
        held = np.where(
            pays,
            enter + value + on,
            np.maximum(enter + upto, before - entry + net) + np.maximum(on + value - upto, off),
        )
        without = np.where(
            pays,
            np.maximum(before, enter + upto - net) + np.maximum(off, on + value - upto - entry),
            before + off,
        )
        keep = (held >= least).nonzero()[0]
        return keep.tolist(), (without[keep] < least).tolist()


def _forward(groups: _Groups) -> tuple[list[float], list[float], float]:
    """Best before each group, given that it is entered or passed over, and the best of all."""
    enter: list[float] = []
    before: list[float] = []
    live, shut = -np.inf, 0.0
    for value, entry, joined in zip(groups.value, groups.entry, groups.joined, strict=True):
        rest = live if live > shut else shut
        come = (shut if joined else rest) - entry
        if joined and live > come:
            come = live
        enter.append(come)
        before.append(rest)
        live, shut = come + value, rest
    return enter, before, live if live > shut else shut


def _backward(groups: _Groups) -> tuple[list[float], list[float]]:
    """Best behind each group, given whether its last candidate is taken."""
    count = len(groups.starts)
    behind_on, behind_off = [0.0] * count, [0.0] * count
    on, off = 0.0, 0.0
    for at in range(count - 1, -1, -1):
        behind_on[at], behind_off[at] = on, off
        taken = groups.value[at] + on
        fresh = taken - groups.entry[at]
        onwards = taken if groups.joined[at] else fresh
        on, off = onwards if onwards > off else off, fresh if fresh > off else off
    return behind_on, behind_off
