"""The fuzzers that draw what random calls seldom meet find the bugs planted for them, and nothing in sound code."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fuzz import counts, ledger, loaders, traps
from fuzz.ledger import enter_code
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


# ---- accounts


def test_an_account_says_how_many_cases_ran_on_which_code(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[dict[str, Any]] = []
    for digest, cases in (("one", 5), ("two", 3), ("two", 4), ("one", 1)):
        monkeypatch.setattr(ledger, "code_digest", lambda digest=digest: digest)
        enter_code(rows, cases)
    assert [(row["digest"], row["cases"]) for row in rows] == [("one", 6), ("two", 7)]


def test_a_run_of_faults_leaves_the_code_of_other_sections_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "1")  # as the module does, and taken back
    from faults import run  # noqa: PLC0415 - changes the environment

    path = tmp_path / "faults.json"
    path.write_text(json.dumps({"soak": {"calls": 9, "code": [{"digest": "old", "cases": 9}]}}))
    monkeypatch.setattr(run, "RESULTS", path)
    monkeypatch.setattr(ledger, "code_digest", lambda: "new")
    run.write_results(kills=run.section(7, violations=[]))
    found = json.loads(path.read_text())
    told = {name: [(row["digest"], row["cases"]) for row in part["code"]] for name, part in found.items()}
    assert told == {"kills": [("new", 7)], "soak": [("old", 9)]}


def test_a_fuzzer_that_draws_otherwise_begins_anew_and_says_what_it_did_before(tmp_path: Path) -> None:
    path = tmp_path / "fuzz.json"
    before = ledger.read_ledger("traps", 1, "old draws", path)
    before.add(7, 1.0, (), 7)
    before.save(path)
    assert ledger.read_ledger("traps", 1, "old draws", path).cases == 7
    now = ledger.read_ledger("traps", 1, "new draws", path)
    assert (now.cases, now.next, [row["cases"] for row in now.earlier]) == (0, 0, [7])
    now.add(2, 1.0, (), 2)
    now.save(path)
    assert [row["cases"] for row in ledger.read_ledger("traps", 1, "newest draws", path).earlier] == [7, 2]
