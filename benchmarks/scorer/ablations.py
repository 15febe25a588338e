"""What each part of the calibrated scorer and of the selection is worth: one thing changed at a time.

Run: `make ablations`, after `calibrate.py`; writes `results/ablations.json`. View "all", 200-token chunks, 1,000
tokens, 20 dense hits unless a line says otherwise, 40 questions a set; coefficients are always those of the other
sets. For a group of features the model is fitted again without it, on a quarter of the questions.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.behaviour import FIELD, today
from benchmarks.evidence.index import SETS
from benchmarks.evidence.ranges import RangeSystem
from benchmarks.evidence.run import Cell, Plan, run
from benchmarks.evidence.systems import RetriVex, code, code_and_model, coefficients
from benchmarks.scorer.calibrate import SITUATIONS, fit_without, gather
from retrivex import __version__
from retrivex.evaluation.compare.bootstrap import paired_bootstrap
from retrivex.evaluation.run.vector_cache import cache_folder
from retrivex.scoring.features import NAMES
from retrivex.scoring.fitting import Sample

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
}


@cache
def _samples() -> list[tuple[str, Sample]]:
    return [found for situation in SITUATIONS for found in gather(situation)][::PART]


def without(group: str, set_name: str) -> Path:
    """Return the coefficients fitted without a group of features and without a set."""
    path = cache_folder() / "ablations" / f"{code()}-{group.replace(' ', '-')}-{set_name}.json"
    if not path.exists():
        kept = np.array([not GROUPS[group](name) for name in NAMES], dtype=np.float64)
        masked = [(name, Sample(sample.values * kept, sample.evidence)) for name, sample in _samples()]
        model = fit_without(set_name, masked, {})
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(model.to_dict()), encoding="utf-8")
    return path


def variants(set_name: str) -> Iterator[tuple[Cell, RangeSystem]]:
    """Yield systems with one thing changed, and where each is asked."""

    def calibrated(name: str, cell: Cell = CELL, **options: Any) -> tuple[Cell, RangeSystem]:
        made = RetriVex(coefficients=coefficients(set_name), **options)
        return cell, RangeSystem(name, made, code_and_model(set_name))

    yield calibrated(BASE)
    yield CELL, RangeSystem("weighted scorer", RetriVex(scoring="weighted"), code())
    yield calibrated("whole chunks", selection_unit="chunk")
    yield calibrated("no embeddings", embeddings=False)
    for window in (0, 1, 2, 3, 4, 5):
        yield calibrated(f"L = {window}", window=window)
    for gamma in (0.0, 0.1, 0.25, 0.5, 1.0):
        yield calibrated(f"gamma = {gamma}", run_cost=gamma)
    for hedge in (0.0, 0.5, 1.0):
        yield calibrated(f"hedge = {hedge}", hedge=hedge)
    for hits in (3, 6, 50):
        yield calibrated(f"{hits} hits", cell=replace(CELL, hits=hits))
    for group in GROUPS:
        made = RetriVex(coefficients=without(group, set_name))
        yield CELL, RangeSystem(f"without {group}", made, f"{code_and_model(set_name)} refitted")


def main() -> int:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--processes", type=int, default=2)
    processes = parser.parse_args().processes
    plan = Plan({s: {system.name: system for _, system in variants(s)} for s in SETS}, QUESTIONS)
    made = [(system.name, cell) for cell, system in variants(SETS[0])]
    run(plan, [(cell, plan.block(cell, s, name)) for name, cell in made for s in SETS], processes=processes)

    def measured(cell: Cell, name: str) -> dict[str, list[Mapping[str, float]]]:
        return {s: [row.measures for row in plan.rows(cell, s, name)] for s in SETS}

    base = measured(CELL, BASE)
    rows = []
    for name, cell in made:
        found = measured(cell, name)
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
    content = {
        FIELD: today(),
        "version": __version__,
        "cell": "all, 200 tokens, dense, 20 hits, 1,000 tokens",
        "questions": QUESTIONS,
    }
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
