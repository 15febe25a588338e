"""Break what RetriVex runs on, and check that nothing is lost and nothing half-done is left.

    PYTHONPATH=tests python -m faults.run                 1,000 kills in all, full disks, faulty stores
    PYTHONPATH=tests python -m faults.run --disks         full disks alone, at every size
    PYTHONPATH=tests python -m faults.run --stores        faulty stores alone
    PYTHONPATH=tests python -m faults.run --short         170 kills, fewer disks and stores: as in CI
    PYTHONPATH=tests python -m faults.run --soak --minutes 30
    PYTHONPATH=tests python -m faults.run --index          200 kills of the embedded index, and 200 beside others

Kills go on where the last run ended; the account is `benchmarks/results/faults.json`. Exits with 1 if something broke.
"""

from __future__ import annotations

import os

# threads of numpy's own would have to survive the fork
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from faults.fillings import fill_all
from faults.kills import WRITERS, kill
from faults.planted import PLANTED
from faults.soak import soak
from faults.stores import try_stores
from fuzz.ledger import ROOT, enter_code

RESULTS = ROOT / "benchmarks" / "results" / "faults.json"
KILLS, SHORT_KILLS = 1000, 170
INDEX_KILLS = 200
BATCH = 33
"""Kills of one writer on one file, before it is made anew."""
SHORT_SIZES = 9
"""Of a full disk, for everything that writes."""
CALLS, SHORT_CALLS = 1000, 60
POOL_BATCH = 5
"""The same of a writer that starts processes of its own, which takes seconds."""


def read_results() -> dict[str, Any]:
    made: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    return made


def write_results(**made: Any) -> None:
    """Enter sections beside those that other runs, which may still go on, have entered."""
    results = {**read_results(), **made}
    beside = RESULTS.with_suffix(f".{os.getpid()}.part")
    beside.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    beside.replace(RESULTS)


def section(cases: int, **found: Any) -> dict[str, Any]:
    """Return what one run came to, with the code that it tried."""
    code: list[dict[str, Any]] = []
    enter_code(code, cases)
    return {**found, "code": code}


def run_kills(results: dict[str, Any], total: int, keep: bool) -> list[str]:
    """Kill on, up to so many in all."""
    done = results.setdefault(
        "kills", {"killed": 0, "by writer": dict.fromkeys(WRITERS, 0), "batches": 0, "violations": [], "code": []}
    )
    began = time.perf_counter()
    while done["killed"] < total and not done["violations"]:
        name = list(WRITERS)[done["batches"] % len(WRITERS)]
        with tempfile.TemporaryDirectory(prefix="retrivex-faults-") as folder:
            most = POOL_BATCH if name == "pool" else BATCH
            made = kill(name, min(most, total - done["killed"]), done["batches"], Path(folder))
        done["killed"] += made.killed
        done["by writer"][name] = done["by writer"].get(name, 0) + made.killed
        enter_code(done["code"], made.killed)
        done["batches"] += 1
        done["violations"] += made.violations
        print(f"  {done['killed']:,} kills, {time.perf_counter() - began:.0f} s", flush=True)
        if keep:
            write_results(kills=done)
    return list(done["violations"])


def kill_index() -> list[str]:
    """Kill the embedded index while it ingests, alone and beside another process.

    The account stands with its speed.
    """
    violations: list[str] = []
    path = RESULTS.with_name("index.json")
    for name, key in (("store", "kills"), ("beside", "kills_beside")):
        with tempfile.TemporaryDirectory(prefix="retrivex-faults-") as folder:
            made = kill(name, INDEX_KILLS, 0, Path(folder))
        results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        results[key] = section(made.killed, **asdict(made))
        path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        print(
            f"{made.killed:,} kills of the embedded index ({name}), {made.finished:,} runs that ended before",
            flush=True,
        )
        violations += made.violations
    return violations


def run_disks(short: bool) -> dict[str, Any]:
    """Meet the end of the disk, at some sizes or at all; return the section of it."""
    walks, violations = fill_all(SHORT_SIZES if short else None)
    sizes = sum(walk.sizes for walk in walks.values())
    print(f"{sizes:,} sizes of a disk at which a write failed")
    return section(
        sizes, limits=sizes, walks={name: asdict(walk) for name, walk in walks.items()}, violations=violations
    )


def run_stores(short: bool) -> dict[str, Any]:
    """Compose with faulty stores; return the section of it."""
    calls, violations = try_stores(SHORT_CALLS if short else CALLS, 1)
    print(f"{calls:,} calls of faulty stores")
    return section(calls, calls=calls, violations=violations)


def run_soak(minutes: float) -> dict[str, Any]:
    """Compose for a long time; return the section of it."""
    made = soak(minutes)
    print(
        f"{made.calls:,} compositions in {made.minutes:g} minutes: "
        f"{made.warm_mb:.0f} MB when warm, {made.end_mb:.0f} MB at the end"
    )
    return section(made.calls, **asdict(made), flat=made.flat)


def run_planted() -> tuple[int, list[str]]:
    """Plant bugs that the suites must catch; return how many there are, and those that were not caught."""
    missed = []
    for bug in PLANTED:
        told = bug.catch()
        print(f"  {'caught' if told else 'MISSED'}  {bug.mutant.name}  {''.join(told[:1])[:100]!a}", flush=True)
        missed += [] if told else [f"planted bug not caught: {bug.mutant.name}"]
    return len(PLANTED), missed


def main() -> int:
    """Read the command line, break things, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="as in CI: little of everything, nothing kept")
    parser.add_argument("--soak", action="store_true", help="compose for a long time instead, and watch the memory")
    parser.add_argument("--index", action="store_true", help="kill the embedded index instead, alone and beside others")
    parser.add_argument("--disks", action="store_true", help="full disks alone")
    parser.add_argument("--stores", action="store_true", help="faulty stores alone")
    parser.add_argument("--minutes", type=float, default=30.0)
    said = parser.parse_args()
    if said.index:
        of_index = kill_index()
        for violation in of_index:
            print(f"VIOLATION {violation!a}")
        return 1 if of_index else 0
    every = not (said.soak or said.disks or said.stores)
    violations: list[str] = []
    if not said.soak:
        planted, violations = run_planted()
        print(f"{planted - len(violations)} of {planted} planted bugs caught", flush=True)
    if every:
        results = {} if said.short else read_results()
        violations += run_kills(results, SHORT_KILLS if said.short else KILLS, keep=not said.short)
        print(f"{results['kills']['killed']:,} kills")
    found: dict[str, Any] = {}
    if said.soak:
        found["soak"] = run_soak(said.minutes)
        violations += [] if found["soak"]["flat"] else ["memory grew"]
    if said.disks or every:
        found["full disks"] = run_disks(said.short)
    if said.stores or every:
        found["faulty stores"] = run_stores(said.short)
    violations += [violation for made in found.values() for violation in made.get("violations", ())]
    if not said.short:
        write_results(**found)
    for violation in violations:
        print(f"VIOLATION {violation!a}")
    return 1 if violations else 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # stores that never answer hold threads of the event loop
