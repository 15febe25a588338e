"""How much slower or faster composing is than at an earlier commit of this checkout, by processor time.

Run: `make bench-against BASE=v0.3.0` (or `python -m benchmarks.speed.against BASE`); writes `results/against.json`.

Each version runs in a process of its own, with the packages of this environment, over the same hits. They take turns,
and which goes first alternates, so that what else the machine does falls on both alike. A round is the processor time
of composing a few questions with 50 hits, or as many as are said, warm (one composer that has seen the chunks) or cold
(a composer for each question). The figure is the median ratio of the two in a round, and its interval that of the
median over resampled rounds (bootstrap; 95 %).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.speed.latency import machine

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "against.json"
CASES = (
    "warm, chunks in memory",
    "warm, SQLite",
    "cold, chunks in memory",
    "cold, SQLite",
    *(f"{kind}, chunks in memory, {hits} hits" for hits in (6, 20) for kind in ("warm", "cold")),
)
ROUNDS, WARM_UP = 60, 3
ONE_CORE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Version:
    """A process that composes with the code of one folder.

    Parameters
    ----------
    code : folder that holds `retrivex`
    folder : for its database
    """

    def __init__(self, code: Path, folder: Path) -> None:
        folder.mkdir()
        self.start([str(Path(__file__).with_name("against_worker.py")), str(code), str(folder)])

    def start(self, said: Sequence[str]) -> None:
        """Start Python with these arguments."""
        self.process = subprocess.Popen(
            [sys.executable, *said],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, **ONE_CORE},
        )

    def ask(self, what: str) -> Any:
        """Return what the process answers."""
        if self.process.stdin is None or self.process.stdout is None:
            raise RuntimeError("the process has no pipes")
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a version ended before it had answered {what!r}: does it have the same names?")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()


def unpack(commit: str, folder: Path) -> str:
    """Write the package as it was at a commit into a folder; return the commit's full name."""
    name = subprocess.run(
        ["git", "rev-parse", "--verify", f"{commit}^{{commit}}"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()
    packed = subprocess.run(["git", "archive", name, "retrivex"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return name


def interval(ratios: Any, rng: np.random.Generator) -> list[float]:
    """Return the 95 % interval of the median, by the bootstrap."""
    drawn = rng.choice(ratios, (4000, len(ratios)))
    low, high = np.quantile(np.median(drawn, axis=1), [0.025, 0.975])
    return [round(float(low), 4), round(float(high), 4)]


def measure(before: Version, now: Version, case: str, rounds: int) -> dict[str, Any]:
    """Return what one case takes in both versions."""
    times: list[tuple[float, float]] = []
    for number in range(-WARM_UP, rounds):
        pair = (before, now) if number % 2 else (now, before)
        taken = {id(version): float(version.ask(case)) for version in pair}
        if number >= 0:
            times.append((taken[id(before)], taken[id(now)]))
    taken_before, taken_now = np.array(times).T
    ratios = taken_now / taken_before
    return {
        "case": case,
        "rounds": rounds,
        "before_ms": round(float(np.median(taken_before)), 3),
        "now_ms": round(float(np.median(taken_now)), 3),
        "ratio": round(float(np.median(ratios)), 4),
        "interval": interval(ratios, np.random.default_rng(1)),
    }


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print what was measured."""
    width = max(len(row["case"]) for row in rows)
    for row in rows:
        low, high = row["interval"]
        took = f"{row['before_ms']:8.2f} -> {row['now_ms']:8.2f} ms"
        print(f"{row['case']:{width}} {took}  x {row['ratio']:.3f} [{low}, {high}]")


def main() -> None:
    """Measure all cases, print and keep them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", help="commit or tag of the earlier version")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--keep", action=argparse.BooleanOptionalAction, default=True, help="write the result")
    said = parser.parse_args()
    with TemporaryDirectory() as made:
        folder = Path(made)
        commit = unpack(said.base, folder / "code")
        before, now = Version(folder / "code", folder / "before"), Version(ROOT, folder / "now")
        try:
            rows = [measure(before, now, case, said.rounds) for case in CASES]
            same = before.ask("same") == now.ask("same")
        finally:
            before.close()
            now.close()
    show(rows)
    print("the contexts are the same" if same else "the contexts differ")
    if said.keep:
        result = {"base": commit, "rows": rows, "same_contexts": same, "machine": machine()}
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
