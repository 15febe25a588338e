"""What more budget buys: evidence in the context of kNN and of RetriVex at its levels of effort, at five budgets.

Run: `make bench-effort` (everything; writes `results/effort.json`), or `make bench-effort EFFORT=--quick` (60 questions
a set, the base at five budgets and every other variation at two; prints). Other hits are asked at all budgets in the
grid of `benchmarks.evidence`. A variation changes one thing of the base:
200-token chunks of whole sentences, 50 dense hits of all-MiniLM-L6-v2, all sets in one index, vectors and a store
at hand. RetriVex is asked with coefficients that were fitted without the set. Finished cells are kept in
RETRIVEX_CACHE, so that a stopped run goes on, and a second one measures only what the code has changed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.evidence.effort_summary import (
    BASE,
    DIFFERENCE,
    LEVEL,
    PAIRS,
    SYSTEMS,
    below,
    difference,
    misses,
    of,
    packed,
    points,
    summary,
)
from benchmarks.evidence.embeddings import ENCODERS
from benchmarks.evidence.index import ASKED_BY_NAME, MOST_QUESTIONS, SETS, SMALL_SETS
from benchmarks.evidence.ranges import RangeSystem
from benchmarks.evidence.run import Cell, Plan, run
from benchmarks.evidence.summary import COMPARED, FIGURES, RESAMPLES, measured_with, write
from benchmarks.evidence.systems import DEFAULT, FULL, GIVEN, KNN, levels_of_effort
from retrivex.evaluation.run.results import Row
from retrivex.evaluation.run.work import Block

RESULTS = Path(__file__).parents[1] / "results"
BUDGETS = (500, 1000, 2000, 4000, 8000)
BASE_CELL = Cell("all", 200, "dense", 50, BUDGETS[0])
QUICK_BUDGETS = (1000, 2000)
QUICK_QUESTIONS = 60
VARIED_QUESTIONS = 60  # of a set, in other variations than the base
QUICK_RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Variation:
    """What differs from the base.

    Parameters
    ----------
    changed : fields of the cell
    given : what RetriVex lacks, of `GIVEN`
    sets : those that are asked
    budgets : at which they are asked
    """

    changed: Mapping[str, Any] = field(default_factory=dict)
    given: str = ""
    sets: Sequence[str] = SETS
    budgets: Sequence[int] = BUDGETS

    def cell(self, budget: int) -> Cell:
        """Return the cell of a budget."""
        return replace(BASE_CELL, budget=budget, **self.changed)

    def asked(self, system: str) -> str:
        """Return the name under which a system of `SYSTEMS` runs."""
        return system if system == KNN.name else system + self.given


VARIATIONS: Mapping[str, Variation] = {
    BASE: Variation(),
    "second encoder": Variation({"encoder": "e5"}, sets=SMALL_SETS),
    "BM25 hits": Variation({"retrieval": "bm25"}, budgets=QUICK_BUDGETS),
    "fused hits": Variation({"retrieval": "fused"}, budgets=QUICK_BUDGETS),
    "no vectors": Variation(given=", no vectors"),
    "second encoder, no vectors": Variation({"encoder": "e5"}, ", no vectors", SMALL_SETS),
    "chunks cut between words": Variation({"chunks": "characters"}, sets=SMALL_SETS, budgets=QUICK_BUDGETS),
    "no store": Variation(given=", no store", budgets=QUICK_BUDGETS),
    "documents named": Variation({"view": "named"}, sets=ASKED_BY_NAME, budgets=QUICK_BUDGETS),
}


def systems_of(set_name: str) -> dict[str, RangeSystem]:
    """Return every system by name, as it is asked of a set."""
    ours = [system for given in GIVEN for system in levels_of_effort(set_name, given)]
    return {system.name: system for system in (KNN, *ours)}


def jobs(plan: Plan, cells: Sequence[tuple[str, int]]) -> Iterator[tuple[Cell, Block]]:
    """Yield the blocks of some variations, each at a budget."""
    for name, budget in cells:
        variation = VARIATIONS[name]
        cell = variation.cell(budget)
        for set_name in plan.systems:
            if set_name in variation.sets:
                yield from ((cell, plan.block(cell, set_name, variation.asked(system))) for system in SYSTEMS)


def plans(sets: Sequence[str], *, quick: bool) -> Mapping[str, Plan]:
    """Return the plan of each variation: the base has more questions, those that the peers are asked as well."""
    systems = {name: systems_of(name) for name in sets}
    base = Plan(systems, QUICK_QUESTIONS if quick else MOST_QUESTIONS)
    varied = Plan(systems, VARIED_QUESTIONS)
    return {name: base if name == BASE else varied for name in VARIATIONS}


def rows_of(plan: Plan, name: str, budget: int) -> list[Row]:
    """Return the finished rows of a variation at a budget, under the names of `SYSTEMS`."""
    variation = VARIATIONS[name]
    return [
        replace(row, way=replace(row.way, composer=system))
        for set_name in plan.systems
        for system in SYSTEMS
        for row in plan.rows(variation.cell(budget), set_name, variation.asked(system))
    ]


def show(cells: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Print each variation, the sets of the base, and what falls short."""
    for name in dict.fromkeys(cell["variation"] for cell in cells):
        show_variation(name, of(cells, name), console)
    for metric in COMPARED:
        show_sets(of(cells, BASE), metric, console)
    console.print("falls short:", *(list(misses(cells)) or ["nothing"]), sep="\n  ", markup=False)


def show_variation(name: str, cells: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Print a row for each budget: evidence / complete in tokens of each system, and the differences in evidence."""
    lowers = {system: below(cells, system, "recall") for system in (DEFAULT, FULL)}
    said = ", ".join(f"{system} {len(found)} of {tested}" for system, (found, tested) in lowers.items())
    table = Table("budget", *SYSTEMS, *[f"{_short(a)} - {_short(b)}" for a, b in PAIRS], "complete: default - kNN",
                  title=f"{name}: evidence / complete in tokens; significantly below kNN (Holm): {said}")  # fmt: skip
    for cell in cells:
        table.add_row(
            f"{cell['budget']:,}",
            *[_figures(cell, system) for system in SYSTEMS],
            *[points(difference(cell, *pair, "recall")).replace("[", "\\[") for pair in PAIRS],
            points(difference(cell, DEFAULT, KNN.name, "complete")).replace("[", "\\["),
        )
    console.print(table)


def show_sets(cells: Sequence[Mapping[str, Any]], metric: str, console: Console) -> None:
    """Print one figure of the base, set by set: kNN, the default, full effort, at each budget."""
    if not cells:
        return
    table = Table("", *[f"{cell['budget']:,}" for cell in cells], title=f"{metric}: kNN / default / full effort")
    for name in cells[0]["means"]:
        shown = [[cell["means"][name][system][metric] for system in (KNN.name, DEFAULT, FULL)] for cell in cells]
        table.add_row(name, *[" / ".join(f"{100 * value:.1f}" for value in row) for row in shown])
    console.print(table)


def _short(system: str) -> str:
    return system.removeprefix("RetriVex ")


def _figures(cell: Mapping[str, Any], system: str) -> str:
    recall, complete, tokens = (
        fmean(systems[system][metric] for systems in cell["means"].values())
        for metric in ("recall", "complete", "tokens")
    )
    return f"{100 * recall:.1f} / {100 * complete:.1f} in {tokens:,.0f}"


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_QUESTIONS} questions a set; prints only")
    parser.add_argument("--variations", nargs="+", choices=VARIATIONS, default=list(VARIATIONS))
    parser.add_argument("--budgets", nargs="+", type=int, help="others than those")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--out", type=Path, help="folder to write to; the full form writes to results/ by default")
    parser.add_argument("--processes", type=int, default=2)
    return parser.parse_args()


def main() -> int:
    """Run what is not finished, print, write."""
    asked = arguments()
    planned = plans(asked.sets, quick=asked.quick)
    cells = [
        (name, budget)
        for name in asked.variations
        if set(VARIATIONS[name].sets) & set(asked.sets)
        for budget in asked.budgets or (QUICK_BUDGETS if asked.quick and name != BASE else VARIATIONS[name].budgets)
    ]
    for some in ([cell for cell in cells if (cell[0] == BASE) is is_base] for is_base in (True, False)):
        if some:
            plan = planned[some[0][0]]
            run(plan, jobs(plan, some), processes=asked.processes)
    resamples = QUICK_RESAMPLES if asked.quick else RESAMPLES
    found = [
        summary(name, VARIATIONS[name].cell(budget), rows_of(planned[name], name, budget), resamples)
        for name, budget in cells
    ]
    show(found, Console(width=240))
    out = asked.out or (None if asked.quick else RESULTS)
    if out:
        out.mkdir(parents=True, exist_ok=True)
        head = {
            "models": ENCODERS,
            **measured_with(asked.sets, planned[BASE].most),
            "most_questions_varied": VARIED_QUESTIONS,
            "level": LEVEL,
        }
        columns = {"columns": {"means": FIGURES, "differences": DIFFERENCE}}
        write(out / "effort.json", {**head, **columns}, [packed(cell) for cell in found])
    return 0


if __name__ == "__main__":
    sys.exit(main())
