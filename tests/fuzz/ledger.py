"""What the fuzzers have done so far, kept in a file: a run goes on where the last one ended."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.code import code_digest
from retrivex.version import __version__

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "fuzz.json"


def enter_code(rows: list[dict[str, Any]], cases: int, **more: str) -> None:
    """Add cases to the row of the code that is tried, which may be new, with what more tells it from others."""
    name = {"version": __version__, "digest": code_digest(), **more}
    row = next((row for row in rows if {**row, **name} == row), None)
    if row is None:
        row = {**name, "cases": 0}
        rows.append(row)
    row["cases"] += cases


@dataclass
class Violation:
    """A case that breaks a rule.

    Parameters
    ----------
    where : seed and number, for `--only`
    what : the rule, and what was found
    case : what a person needs to see of it
    """

    where: str
    what: str
    case: str = ""


@dataclass
class Ledger:
    """The account of one fuzzer.

    Parameters
    ----------
    kind : of the cases
    seed : of all draws
    drawn_by : digest of the generator; what another one drew does not count
    next : number of the case, or world of cases, that is drawn next
    cases, processor_seconds : so far, all runs together
    violations : that still break a rule
    mended : violations of earlier runs that no longer do
    code : cases by the code that was tried, and the digest of the checks where they are a file of their own
    planted, caught : bugs planted on purpose, and those that the fuzzer found
    earlier : `code` of the generators before this one
    """

    kind: str
    seed: int
    drawn_by: str
    next: int = 0
    cases: int = 0
    processor_seconds: float = 0.0
    violations: list[Violation] = field(default_factory=list)
    mended: int = 0
    code: list[dict[str, Any]] = field(default_factory=list)
    planted: int = 0
    caught: int = 0
    earlier: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self, cases: int, seconds: float, violations: Iterable[Violation], following: int, checks: str = ""
    ) -> None:
        """Enter what one part of the work came to."""
        self.cases += cases
        self.processor_seconds = round(self.processor_seconds + seconds, 1)
        self.violations += violations
        self.next = following
        enter_code(self.code, cases, checks=checks)

    def save(self, path: Path = RESULTS) -> None:
        """Write the account beside those of the others."""
        everything = _read_all(path)
        everything[self.kind] = {name: value for name, value in asdict(self).items() if name != "kind"}
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(f".{os.getpid()}.part")
        beside.write_text(json.dumps(everything, indent=1, ensure_ascii=True, sort_keys=True) + "\n", encoding="utf-8")
        beside.replace(path)


def _read_all(path: Path) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return made


def read_ledger(kind: str, seed: int, drawn_by: str, path: Path = RESULTS) -> Ledger:
    """Return the account of a fuzzer; a new one, after it, where another generator or seed made the old one."""
    found = _read_all(path).get(kind)
    if found is None or (found["seed"], found["drawn_by"]) != (seed, drawn_by):
        earlier = [] if found is None else [*found.get("earlier", []), *found["code"]]
        return Ledger(kind, seed, drawn_by, earlier=earlier)
    return Ledger(**{**found, "kind": kind, "violations": [Violation(**row) for row in found["violations"]]})
