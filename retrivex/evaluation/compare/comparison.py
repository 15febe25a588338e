"""Compares two systems: results of the same questions, paired, with confidence intervals of the differences.

A question counts once, whatever else a run varies: its differences over budgets and seeds are averaged first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, TypeAlias

from retrivex.errors import RetrivexError, quoted
from retrivex.evaluation.compare.bootstrap import Difference, mean_of_sets, paired_bootstrap
from retrivex.evaluation.run.results import Row, Way, measures_of

LOWER_IS_BETTER = frozenset({"broken_sentences", "lost", "ms", "tokens"})
# few long spans or many short ones, early or late in the context: what is better, a model decides
NEITHER_IS_BETTER = frozenset({"evidence_position", "spans"})
EVERY_SET = "mean of sets"
FEWEST = 6
"""Fewest questions for a significant result: of 5, all won by one side, 1 in 16 is chance (two-sided sign test)."""
_FIELDS = tuple(Way.__dataclass_fields__)
_AVERAGED = "seed"

QuestionKey: TypeAlias = tuple[str, str]
"""A question: name of its set, and its id there."""

Selection: TypeAlias = Mapping[str, str | int]
"""Fields of `Way` and the value that each must have, as in {"composer": "knn", "budget": 1000}."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One question with the results of both systems.

    Parameters
    ----------
    asked : set and id
    ours, theirs : the measure, averaged over what else varies
    our_row, their_row : a row of each, to be read: those of the setting in which the winner is furthest ahead
    settings : budgets, hits and the like that `ours` and `theirs` are means over
    """

    asked: QuestionKey
    ours: float
    theirs: float
    our_row: Row
    their_row: Row
    settings: int = 1

    @property
    def difference(self) -> float:
        """Ours less theirs."""
        return self.ours - self.theirs


@dataclass(frozen=True, slots=True)
class Comparison:
    """One measure of two systems, over the questions of one set or of all.

    Parameters
    ----------
    measure : its name
    set_name : of the questions; `EVERY_SET` for the mean of several sets, each counting the same
    ours, theirs : means
    difference : ours less theirs, with its interval
    wins, losses, ties : questions in which ours is better, worse and level
    pairs : every question
    """

    measure: str
    set_name: str
    ours: float
    theirs: float
    difference: Difference
    wins: int
    losses: int
    ties: int
    pairs: tuple[Pair, ...]

    @property
    def verdict(self) -> str:
        """What can be said: which is better, that no effect was seen, or that questions are too few to tell."""
        if not self.difference.significant:
            return "no effect seen"
        if len(self.pairs) < FEWEST:
            return "too few questions"
        if self.measure in NEITHER_IS_BETTER:
            return "ours is higher" if self.difference.mean > 0 else "ours is lower"
        return "ours is better" if self._gain(self.difference.mean) > 0 else "theirs is better"

    def _gain(self, difference: float) -> float:
        return -difference if self.measure in LOWER_IS_BETTER else difference

    def best(self, number: int) -> list[Pair]:
        """Return the questions in which ours wins most, the widest first."""
        return [pair for pair in self._rank_pairs() if self._gain(pair.difference) > 0][:number]

    def worst(self, number: int) -> list[Pair]:
        """Return the questions in which ours loses most, the widest first."""
        return [pair for pair in reversed(self._rank_pairs()) if self._gain(pair.difference) < 0][:number]

    def _rank_pairs(self) -> list[Pair]:
        return sorted(self.pairs, key=lambda pair: (-self._gain(pair.difference), pair.asked))


def select(rows: Sequence[Row], selection: Selection) -> list[Row]:
    """Return the rows whose way has the values of a selection.

    Raises
    ------
    RetrivexError
        If there is no such field, or no row has such a value.
    """
    found = list(rows)
    for name, value in selection.items():
        if name not in _FIELDS:
            raise RetrivexError(f"{quoted(name)} is nothing that a run varies: choose from {', '.join(_FIELDS)}")
        there = dict.fromkeys(str(getattr(row.way, name)) for row in found)
        found = [row for row in found if str(getattr(row.way, name)) == str(value)]
        if not found:
            raise RetrivexError(f"no result has {name} {quoted(value)}: there are {', '.join(there) or 'none'}")
    return found


def compare(
    ours: Sequence[Row],
    theirs: Sequence[Row],
    measures: Sequence[str] | None = None,
    *,
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Comparison]:
    """Compare two ways on the questions that both have answered.

    Fields of which both hold one value are what is compared, and may differ. Where both hold several (budgets, orders),
    rows with equal values are compared; seeds are averaged.

    Parameters
    ----------
    ours, theirs : rows of a run or of two
    measures : names; None takes all that both have
    resamples, seed : of the bootstrap

    Returns
    -------
    For each measure a comparison for each set and, where there are several, the mean over the sets

    Raises
    ------
    RetrivexError
        If nothing can be paired: no question, no measure, or a field varies on one side only.
    """
    matched = _match_rows(ours, theirs)
    also = set(measures_of(theirs))
    known = [name for name in measures_of(ours) if name in also]
    unknown = [name for name in measures or () if name not in known]
    if not known:
        raise RetrivexError("the two have no measure in common: compare runs that measured the same")
    if unknown:
        raise RetrivexError(f"{', '.join(unknown)} is not known of both sides: both have {', '.join(known)}")
    found = {name: _of_measure(name, matched, resamples, seed) for name in measures or known}
    unpaired = [name for name in found if not found[name]]
    # measures that were not asked for by name may be those of other questions on each side
    if unpaired and (measures or len(unpaired) == len(found)):
        named = " or ".join(unpaired)
        raise RetrivexError(f"no question has {named} on both sides: compare runs that measured the same")
    return [one for made in found.values() for one in made]


def averaged(ours: Sequence[Row], theirs: Sequence[Row]) -> dict[str, list[str]]:
    """Return what a comparison takes the mean over: fields of which both sides hold several values, with those of both.

    Raises
    ------
    RetrivexError
        If a field varies on one side only.
    """
    common = {
        name: {getattr(row.way, name) for row in ours} & {getattr(row.way, name) for row in theirs}
        for name in _shared_fields(ours, theirs)
    }
    return {name: list(map(str, sorted(values))) for name, values in common.items()}


def _match_rows(ours: Sequence[Row], theirs: Sequence[Row]) -> dict[QuestionKey, list[tuple[list[Row], list[Row]]]]:
    """Return for each question that both sides answered the rows to compare: lists of those that differ in the seed."""
    shared = _shared_fields(ours, theirs)
    first, second = _by_place(ours, shared), _by_place(theirs, shared)
    matched: dict[QuestionKey, list[tuple[list[Row], list[Row]]]] = {}
    for place, rows in first.items():
        if place in second:
            matched.setdefault((rows[0].set_name, rows[0].question_id), []).append((rows, second[place]))
    if not matched:
        raise RetrivexError("the two have no question in common: compare runs over the same sets")
    return matched


def _shared_fields(ours: Sequence[Row], theirs: Sequence[Row]) -> list[str]:
    if not ours or not theirs:
        raise RetrivexError(f"{len(ours)} and {len(theirs)} results: give at least one on each side")
    shared = []
    for name in _FIELDS:
        if name == _AVERAGED:
            continue
        first, second = ({getattr(row.way, name) for row in rows} for rows in (ours, theirs))
        if len(first) == len(second) == 1:
            continue
        if min(len(first), len(second)) == 1:
            raise RetrivexError(
                f"{name} is {_list_values(first)} on one side and {_list_values(second)} on the other: "
                "select one value of each"
            )
        shared.append(name)
    return shared


def _list_values(values: set[Any]) -> str:
    return ", ".join(sorted(map(str, values)))


def _by_place(rows: Sequence[Row], shared: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault((row.set_name, row.question_id, *(getattr(row.way, name) for name in shared)), []).append(row)
    return found


def _of_measure(
    name: str, matched: Mapping[QuestionKey, Sequence[tuple[list[Row], list[Row]]]], resamples: int, seed: int
) -> list[Comparison]:
    sets: dict[str, list[Pair]] = {}
    for asked, places in matched.items():
        both = [
            ([row for row in ours if name in row.measures], [row for row in theirs if name in row.measures])
            for ours, theirs in places
        ]
        both = [(ours, theirs) for ours, theirs in both if ours and theirs]
        if both:
            sets.setdefault(asked[0], []).append(_pair(name, asked, both))
    made = [_comparison(name, set_name, [pairs], resamples, seed) for set_name, pairs in sets.items()]
    return [*made, _comparison(name, EVERY_SET, list(sets.values()), resamples, seed)] if len(sets) > 1 else made


def _pair(name: str, asked: QuestionKey, both: Sequence[tuple[list[Row], list[Row]]]) -> Pair:
    means = [(_mean(ours, name), _mean(theirs, name)) for ours, theirs in both]
    mine, other = (fmean(side) for side in zip(*means, strict=True))
    sign = -1 if mine < other else 1
    furthest = max(range(len(both)), key=lambda at: sign * (means[at][0] - means[at][1]))
    ours, theirs = both[furthest]
    return Pair(asked, mine, other, ours[0], theirs[0], len(both))


def _mean(rows: Sequence[Row], name: str) -> float:
    return fmean(row.measures[name] for row in rows)


def _comparison(name: str, set_name: str, sets: Sequence[Sequence[Pair]], resamples: int, seed: int) -> Comparison:
    ours = [[pair.ours for pair in pairs] for pairs in sets]
    theirs = [[pair.theirs for pair in pairs] for pairs in sets]
    if len(sets) == 1:
        difference = paired_bootstrap(ours[0], theirs[0], resamples=resamples, seed=seed)
    else:
        difference = mean_of_sets(ours, theirs, resamples=resamples, seed=seed)
    pairs = tuple(pair for found in sets for pair in found)
    sign = -1 if name in LOWER_IS_BETTER else 1
    wins = sum(sign * pair.difference > 0 for pair in pairs)
    losses = sum(sign * pair.difference < 0 for pair in pairs)
    return Comparison(
        name,
        set_name,
        fmean(map(fmean, ours)),
        fmean(map(fmean, theirs)),
        difference,
        wins,
        losses,
        len(pairs) - wins - losses,
        pairs,
    )
