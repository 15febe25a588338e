"""The fuzzers that draw what random calls seldom meet find the bugs planted for them, and nothing in sound code."""

from __future__ import annotations

import random
from types import ModuleType

import pytest
from fuzz import counts, loaders, traps
from fuzz.cases import make_case
from fuzz.compositions import Bench, run_case
from fuzz.mutants import MUTANTS, Mutant
from fuzz.run import SEED
from fuzz.tally import ViolationError
from fuzz.worlds import make_world

CASES = range(300)
KINDS = (counts, traps)
PLANTED = [
    *((kind, bug) for kind in KINDS for bug in kind.PLANTED),
    *((loaders, bug) for bug in loaders.PLANTED if bug.name.startswith("a line names")),
]


@pytest.mark.parametrize(("kind", "bug"), PLANTED, ids=[f"{kind.KIND}: {bug.name}" for kind, bug in PLANTED])
def test_every_planted_bug_is_caught(kind: ModuleType, bug: Mutant) -> None:
    with bug.planted():
        assert kind.fuzz(SEED, CASES, stop_after=1).violations


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.KIND))
def test_sound_code_has_none(kind: ModuleType) -> None:
    tally = kind.fuzz(SEED, CASES)
    assert tally.violations == []
    assert set(tally.covered) == set(kind.KINDS)


def compose_with_gap_markers_reserved(worlds: range) -> None:
    bench = Bench()
    for number in worlds:
        rng = random.Random(number)
        case = make_case(rng, make_world(rng))
        case.options = {name: value for name, value in case.options.items() if name not in ("pinned", "exclude")}
        case.options["reserve_gap_markers"] = True
        run_case(case, bench, rng)


def test_budget_left_unused_is_seen_where_gap_markers_are_reserved() -> None:
    worlds = range(600)
    compose_with_gap_markers_reserved(worlds)
    (bug,) = (bug for bug in MUTANTS if bug.name == "rest of the budget left unused")
    with bug.planted(), pytest.raises(ViolationError, match="budget left unused"):
        compose_with_gap_markers_reserved(worlds)
