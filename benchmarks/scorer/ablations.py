"""What each part of the calibrated scorer and of the selection is worth: one thing changed at a time.

Run: `make ablations`, after `calibrate.py`; writes `results/ablations.json`. View "all", 200-token chunks, 1,000
tokens, 20 dense hits unless a line says otherwise, 40 questions a set; coefficients are always those of the other
sets. For a group of features the model is fitted again without it, on a quarter of the questions.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.evidence.index import SETS
from benchmarks.evidence.protocol import System
from benchmarks.evidence.run import Cell, Job, Plan, run
from benchmarks.evidence.systems import RetriVex, code, code_and_model
from benchmarks.scorer.calibrate import SITUATIONS, gather
from retrivex import __version__
from retrivex.evaluation.compare.bootstrap import paired_bootstrap
from retrivex.evaluation.run.vector_cache import cache_folder
from retrivex.scoring.features import NAMES
from retrivex.scoring.fitting import Sample, fit

RESULTS = Path(__file__).parents[1] / "results" / "ablations.json"
QUESTIONS = 40
CELL = Cell("all", 200, "dense", 20, 1000)
BASE = "as shipped"

PART = 4  # every fourth question is enough to fit a model again; "nothing" shows what that alone changes

GROUPS: dict[str, Callable[[str], bool]] = {
    "nothing": lambda _: False,
    "similarity": lambda name: name.startswith("similarity"),
    "hits' scores": lambda name: name.startswith("hit "),
    "words": lambda name: "words" in name,
    "surroundings": lambda name: "within" in name or "side" in name or "around" in name,
    "document": lambda name: "document" in name,
    "ranks": lambda name: "rank" in name,
    "breadth": lambda name: "broad" in name or "spread" in name,
}


class Refitted(RetriVex):
    """RetriVex with coefficients that know nothing of a group of features."""

    def __init__(self, group: str) -> None:
        super().__init__(per_set=True, scoring="calibrated")
        self.group = group

    def _composer(self, set_name: str) -> Any:
        if set_name not in self._composers:
            options = {**self.options, "coefficients": without(self.group, set_name)}
            self._composers[set_name] = RetriVex(**options)._composer(set_name)
        return self._composers[set_name]


@cache
def _samples() -> list[tuple[str, Sample]]:
    return [found for situation in SITUATIONS for found in gather(situation)][::PART]


def without(group: str, set_name: str) -> Path:
    """Return the coefficients fitted without a group of features and without a set."""
    path = cache_folder() / "ablations" / f"{code()}-{group.replace(' ', '-')}-{set_name}.json"
    if not path.exists():
        kept = np.array([not GROUPS[group](name) for name in NAMES], dtype=np.float64)
        samples = [sample for name, sample in _samples() if name != set_name]
        model = fit([Sample(sample.values * kept, sample.evidence) for sample in samples])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(model.to_dict()), encoding="utf-8")
    return path


def variants() -> Iterator[tuple[str, Cell, System]]:
    """Yield what is changed, where, and the system that has it changed."""

    def calibrated(name: str, cell: Cell = CELL, **options: Any) -> tuple[str, Cell, System]:
        made = RetriVex(per_set=True, **{"scoring": "calibrated", **options})
        return name, cell, System(name, made, code_and_model)

    yield calibrated(BASE)
    yield "weighted scorer", CELL, System("weighted scorer", RetriVex(scoring="weighted"), lambda _: code())
    yield calibrated("greedy selection", selection="greedy")
    yield calibrated("whole chunks", selection_unit="chunk")
    yield calibrated("no embeddings", embeddings=False)
    for window in (0, 1, 2, 3, 4, 5):
        yield calibrated(f"L = {window}", window=window)
    for gamma in (0.0, 0.1, 0.25, 0.5, 1.0):
        yield calibrated(f"gamma = {gamma}", run_cost=gamma)
    for hedge in (0.0, 0.5, 1.0):
        yield calibrated(f"hedge = {hedge}", hedge=hedge)
    for floor in (0.2, 0.4):
        yield calibrated(f"continuity floor {floor}", window=2, continuity_floor=floor)
    for hits in (3, 6, 50):
        yield calibrated(f"{hits} hits", cell=replace(CELL, hits=hits))
    for group in GROUPS:
        name = f"without {group}"
        yield name, CELL, System(name, Refitted(group), lambda set_name: f"{code_and_model(set_name)} refitted")


def main() -> int:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--processes", type=int, default=2)
    made = list(variants())
    for group in GROUPS:  # before the processes start, so that each is fitted once
        for name in SETS:
            without(group, name)
    plan = Plan(SETS, {name: system for name, _, system in made}, QUESTIONS)
    run(plan, [Job(cell, s, name) for name, cell, _ in made for s in SETS], processes=parser.parse_args().processes)
    base = {s: plan.rows(Job(CELL, s, BASE)) for s in SETS}
    rows = []
    for name, cell, _ in made:
        found = {s: plan.rows(Job(cell, s, name)) for s in SETS}
        row: dict[str, Any] = {"name": name, "sets": {}}
        for metric in ("recall", "complete", "spans", "ms"):
            row[metric] = float(np.mean([np.mean([r[metric] for r in found[s]]) for s in SETS]))
        row["sets"] = {
            s: [round(float(np.mean([r[m] for r in found[s]])), 4) for m in ("recall", "complete")] for s in SETS
        }
        change = [
            paired_bootstrap(
                np.concatenate([[r[m] for r in found[s]] for s in SETS]).astype(float),
                np.concatenate([[r[m] for r in base[s]] for s in SETS]).astype(float),
            )
            for m in ("recall", "complete")
        ]
        row["change"] = {
            m: [round(c.mean, 4), round(c.low, 4), round(c.high, 4)]
            for m, c in zip(("recall", "complete"), change, strict=True)
        }
        rows.append(row)
    show(rows)
    content = {"version": __version__, "cell": "all, 200 tokens, dense, 20 hits, 1,000 tokens", "questions": QUESTIONS}
    RESULTS.write_text(json.dumps({**content, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    return 0


def show(rows: list[dict[str, Any]]) -> None:
    """Print the table."""
    table = Table("", "evidence", "change", "complete", "change", "spans", "ms")
    for row in rows:
        changes = [
            f"{c[0]:+.3f} \\[{c[1]:+.3f}, {c[2]:+.3f}]" for c in (row["change"]["recall"], row["change"]["complete"])
        ]
        table.add_row(
            row["name"], f"{row['recall']:.3f}", changes[0], f"{row['complete']:.3f}", changes[1],
            f"{row['spans']:.1f}", f"{row['ms']:.1f}",
        )  # fmt: skip
    Console(width=140).print(table)


if __name__ == "__main__":
    sys.exit(main())
