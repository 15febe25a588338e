"""Plant the bugs of `bugs.toml` in a copy of the checkout, one after the other: each has a test that must fail.

    PYTHONPATH=tests python -m mutants.run                      all of them
    PYTHONPATH=tests python -m mutants.run --sample 5 --seed 7  some of them
    PYTHONPATH=tests python -m mutants.run --only rollback      those whose name holds a word
    PYTHONPATH=tests python -m mutants.run --findings           those that bring back a finding of `promises.md`

Exits with 1 if a bug survives, or if a test fails without one. The fuzzer has bugs of its own, see `fuzz/mutants.py`.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.checkout import copy_checkout

BUGS = Path(__file__).with_name("bugs.toml")
READ = ("adapters", "benchmarks", "docs", "examples", "retrivex", "tests", "pyproject.toml")
OUTCOMES = {0: "SURVIVED", 1: "caught"}
"""What an exit code of pytest means for a planted bug; any other one, as of a test that is not there, is an error."""


@dataclass(frozen=True, slots=True)
class Bug:
    """A bug that a change could bring.

    Parameters
    ----------
    name : what is wrong
    file : where it is planted, from the top of the checkout
    old : a text that stands there once
    new : what takes its place
    test : the test that must fail, as pytest names it
    finding : of the hostile test that it brings back; none for most
    """

    name: str
    file: str
    old: str
    new: str
    test: str
    finding: str = ""


def read_bugs(path: Path = BUGS) -> list[Bug]:
    """Read the list."""
    return [Bug(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8"))["bug"]]


@contextmanager
def planted(bug: Bug, folder: Path) -> Iterator[None]:
    """Plant a bug in a copy of the checkout for a while."""
    path = folder / bug.file
    right = path.read_text(encoding="utf-8")
    if right.count(bug.old) != 1:
        raise ValueError(f"{bug.name}: its text stands {right.count(bug.old)} times in {bug.file}: it must be once")
    path.write_text(right.replace(bug.old, bug.new), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(right, encoding="utf-8")


def run_tests(folder: Path, tests: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run tests of a copy of the checkout on the code of that copy."""
    # -B: Python takes a compiled file of the same second and size for that of a changed text
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["-m", "", *tests]  # also those that are marked for other environments, as they are named
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def try_bugs(bugs: Sequence[Bug], folder: Path) -> list[Bug]:
    """Plant each bug in a copy of the checkout and run its test; return those that were not caught."""
    clean = run_tests(folder, list(dict.fromkeys(bug.test for bug in bugs)))
    if clean.returncode:
        print(f"no bug was planted, as the tests fail without one:\n{clean.stdout[-3000:]}{clean.stderr[-1000:]}")
        return list(bugs)
    missed = []
    for bug in bugs:
        with planted(bug, folder):
            done = run_tests(folder, [bug.test])
        outcome = OUTCOMES.get(done.returncode, f"ERROR {done.returncode}")
        print(f"  {outcome:<8}  {bug.finding:<3}  {bug.name}  ({bug.test})", flush=True)
        if outcome != "caught":
            print(done.stdout[-1500:] + done.stderr[-1500:])
            missed.append(bug)
    return missed


def main() -> int:
    """Read the command line, plant, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, help="plant so many, drawn at random")
    parser.add_argument("--seed", default="0", help="of the draw: any text")
    parser.add_argument("--findings", action="store_true", help="plant those that bring back a finding")
    parser.add_argument("--only", default="", metavar="WORD", help="plant those whose name holds this")
    said = parser.parse_args()
    bugs = [bug for bug in read_bugs() if said.only in bug.name and (bug.finding or not said.findings)]
    if said.sample is not None and said.sample < len(bugs):
        print(f"{said.sample} of {len(bugs)} bugs, drawn with --sample {said.sample} --seed {said.seed}:")
        bugs = random.Random(said.seed).sample(bugs, said.sample)
    with tempfile.TemporaryDirectory() as folder:
        missed = try_bugs(bugs, copy_checkout(Path(folder) / "copy", READ))
    print(f"{len(bugs)} bugs planted, {len(bugs) - len(missed)} caught")
    return 1 if missed or not bugs else 0


if __name__ == "__main__":
    sys.exit(main())
