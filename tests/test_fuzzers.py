"""The fuzzers that draw what random calls seldom meet find the bugs planted for them, and nothing in sound code."""

from __future__ import annotations

from types import ModuleType

import pytest
from fuzz import counts, loaders, traps
from fuzz.mutants import Mutant
from fuzz.run import SEED

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
