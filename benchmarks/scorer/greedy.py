"""Whether a greedy choice could take the place of the exact one: both over the whole grid of the evidence benchmark.

Run: `make bench-greedy` (writes `results/greedy.json`). Greedy takes the candidate that brings most per token, the
price of a span included, while one fits. It would do if the 95 % interval of the mean over sets lay above -1 point and
no set were significantly lower (Holm, 1979, over the sets). Of each question the mean over all cells counts.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.evidence.__main__ import GRID, GRID_QUESTIONS
from benchmarks.evidence.index import SETS
from benchmarks.evidence.run import Plan, run
from benchmarks.evidence.systems import RetriVex, code_and_model, coefficients
from retrivex import __version__
from retrivex.composer import select
from retrivex.evaluation.compare.bootstrap import mean_of_sets, resampled_means
from retrivex.evaluation.metrics import Range
from retrivex.evaluation.run import Case, RangeSystem
from retrivex.selection.greedy import fill
from retrivex.selection.problem import Limits, Problem, Selection, measure

RESULTS = Path(__file__).parents[1] / "results" / "greedy.json"
EXACT, GREEDY = "exact selection", "greedy selection with run_cost"
MARGIN = -0.01
LEVEL = 0.05
RESAMPLES = 10_000


def choose_by_rate(problem: Problem, limits: Limits, _method: str = "exact") -> Selection:
    """Choose what brings most per token, net of opening a span, while it fits."""
    chosen = fill(problem, tuple(sorted(limits.keep)), limits)
    return Selection(chosen, *measure(problem, chosen), bound=float("inf"), proven=False)


class GreedyRetriVex(RetriVex):
    """RetriVex with that choice in place of the exact one."""

    def __call__(self, case: Case) -> list[Range]:
        """Return the spans of the composition, best first."""
        with patch.object(select, "solve", choose_by_rate):
            return super().__call__(case)


def systems_of(set_name: str) -> dict[str, RangeSystem]:
    """Return both, with the coefficients fitted without the set."""
    fitted: dict[str, Any] = {"scoring": "calibrated", "coefficients": coefficients(set_name)}
    version = code_and_model(set_name)
    return {
        EXACT: RangeSystem(EXACT, RetriVex("default", **fitted), version),
        GREEDY: RangeSystem(GREEDY, GreedyRetriVex("default", **fitted), f"{version} by rate"),
    }


def means_of(plan: Plan, set_name: str, system: str, metric: str) -> NDArray[np.float64]:
    """Return the mean of each question over all cells of the grid, shape (questions,)."""
    rows = [[float(row.measures[metric]) for row in plan.rows(cell, set_name, system)] for cell in GRID]
    return np.asarray(np.mean(rows, axis=0), dtype=np.float64)


def lower_sets(differences: Sequence[NDArray[np.float64]]) -> list[bool]:
    """Return for each set whether greedy is significantly lower, by Holm's procedure over two-sided bootstrap tests."""
    shares = []
    for values in differences:
        drawn = resampled_means(values, resamples=RESAMPLES, seed=0)
        tail = min(int(np.sum(drawn >= 0)), int(np.sum(drawn <= 0)))
        shares.append(min(1.0, 2 * (tail + 1) / (RESAMPLES + 1)))
    lower = [False] * len(differences)
    for rank, at in enumerate(np.argsort(shares, kind="stable").tolist()):
        if shares[at] > LEVEL / (len(shares) - rank):
            break
        lower[at] = bool(differences[at].mean() < 0)
    return lower


def summarise(plan: Plan, metric: str) -> dict[str, Any]:
    """Return the differences greedy - exact of each set and of their mean, and whether greedy would do."""
    pairs = [(means_of(plan, name, GREEDY, metric), means_of(plan, name, EXACT, metric)) for name in SETS]
    differences = [greedy - exact for greedy, exact in pairs]
    whole = mean_of_sets([greedy for greedy, _ in pairs], [exact for _, exact in pairs], resamples=RESAMPLES)
    lower = lower_sets(differences)
    return {
        "mean of sets": [round(whole.mean, 4), round(whole.low, 4), round(whole.high, 4)],
        "sets": {name: round(float(values.mean()), 4) for name, values in zip(SETS, differences, strict=True)},
        "significantly lower": [name for name, low in zip(SETS, lower, strict=True) if low],
        "would do": whole.low > MARGIN and not any(lower),
    }


def main() -> int:
    """Run what is not finished, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--processes", type=int, default=2)
    plan = Plan({name: systems_of(name) for name in SETS}, GRID_QUESTIONS)
    jobs = [(cell, plan.block(cell, name, system)) for cell in GRID for name in SETS for system in (EXACT, GREEDY)]
    run(plan, jobs, processes=parser.parse_args().processes)
    found = {
        "version": __version__,
        "cells": len(GRID),
        "questions of a set": GRID_QUESTIONS,
        **{metric: summarise(plan, metric) for metric in ("recall", "complete")},
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
