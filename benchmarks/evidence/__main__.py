"""How much of the evidence reaches the context: RetriVex against its peers, on the same hits and the same budget.

Run: `make bench-evidence` (three small sets, the main cells; prints) or `make bench-evidence-full` (everything; writes
`results/evidence.json` and `results/evidence_grid.json`). Embeddings and finished cells are kept in RETRIVEX_CACHE
(~/.cache/retrivex), so that a killed run goes on where it was. The data lie in RETRIVEX_DATA (`../shared/data`).

The calibrated scorer is tested on each set with coefficients that were fitted without it
(`results/calibration/<set>.json`, written by `benchmarks/scorer/calibrate.py`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.evidence.embeddings import MODEL
from benchmarks.evidence.index import DOCUMENT_SETS, MOST_QUESTIONS, SETS, SIZE, SMALL_SETS, sets_of
from benchmarks.evidence.peers import peer_systems
from benchmarks.evidence.peers import versions as peer_versions
from benchmarks.evidence.peers_compressors import compressor_systems
from benchmarks.evidence.peers_compressors import versions as compressor_versions
from benchmarks.evidence.peers_graph import graph_systems
from benchmarks.evidence.peers_graph import versions as graph_versions
from benchmarks.evidence.peers_haystack import MARGIN_RANKERS, SLOW, haystack_systems
from benchmarks.evidence.peers_haystack import versions as haystack_versions
from benchmarks.evidence.ranges import RangeSystem
from benchmarks.evidence.retrivexlib import retrivexlib_systems
from benchmarks.evidence.run import Cell, Plan, run
from benchmarks.evidence.sentence_vectors import SentenceSystem
from benchmarks.evidence.summary import (
    DIFFERENCE,
    FIGURES,
    LOSSES,
    OURS,
    losses,
    measured_with,
    over_sets,
    packed,
    rows_of,
    summary,
    write,
)
from benchmarks.evidence.systems import DEFAULT, KNN, REFERENCE, own_systems
from retrivex.evaluation.run.work import Block

RESULTS = Path(__file__).parents[1] / "results"
SUBSET = ("chunking_evaluation", "squad", "contextual_embeddings")
SUBSET_QUESTIONS = 60

BUDGETS = (2000, 1000, 500, 4000, 8000)
"""The default budget first."""

MAIN = (
    *(Cell("all", SIZE, "dense", 50, budget) for budget in BUDGETS),
    *(Cell("alone", SIZE, "dense", 50, budget) for budget in BUDGETS[:2]),
)
SLOW_CELLS = MAIN[1:2]
"""Where Haystack's retrievers, and its rankers by maximum margin relevance, are asked: they take longest."""

GRID_SIZES = (SIZE, 100, 50, 400)
# around the main cells: every size and number of hits with dense hits, and the other kinds of hits at one size
GRID = tuple(
    Cell("all", size, retrieval, hits, budget)
    for size in GRID_SIZES
    for retrieval in ("dense", "bm25", "fused")
    for hits in (6, 20, 50)
    for budget in sorted(BUDGETS)
    if retrieval == "dense" or size == GRID_SIZES[0]
)
GRID_QUESTIONS = 25  # of a set: the grid shows where signs change, the main cells how sure they are
GRID_SYSTEMS = (
    KNN.name,
    "kNN±1",
    "RSE without minimum",
    "PrevNext",
    "auto-merging",
    "whole document if small",
    REFERENCE,
    DEFAULT,
)


def all_systems(set_name: str) -> dict[str, RangeSystem]:
    """Return every system by name, as it is asked of a set."""
    peers = [*peer_systems(), *compressor_systems(), *graph_systems(), *haystack_systems(), *retrivexlib_systems()]
    systems = [*own_systems(set_name), *peers]
    return {system.name: system for system in systems}


def jobs(plan: Plan, cells: Sequence[Cell], names: Collection[str] | None = None) -> Iterator[tuple[Cell, Block]]:
    """Yield the blocks of some cells, of all systems or those named; slow ones where they are asked at all."""
    for cell in cells:
        for set_name, systems in plan.systems.items():
            if set_name not in sets_of(cell.size, cell.encoder, cell.chunks):
                continue
            for system in systems if names is None else names:
                if is_asked(systems[system], set_name, cell):
                    yield cell, plan.block(cell, set_name, system)


def is_asked(system: RangeSystem, set_name: str, cell: Cell) -> bool:
    """Return whether a system is asked of a set in a cell: some take longer than all others together."""
    if system.name in SLOW:
        return set_name == "chunking_evaluation" and cell in SLOW_CELLS
    if isinstance(system, SentenceSystem) or system.name == "sentence window":
        # they embed parts of all hits, which takes hours where these come from all sets
        return cell.view == "alone" and set_name in SMALL_SETS and set_name in DOCUMENT_SETS
    return system.name not in MARGIN_RANKERS or cell in SLOW_CELLS


def setting(sets: Sequence[str], most: int) -> dict[str, Any]:
    """Return what the figures depend on."""
    others = (peer_versions, compressor_versions, graph_versions, haystack_versions)
    peers = {name: number for versions in others for name, number in versions().items()}
    return {
        "model": MODEL,
        **measured_with(sets, most, {**peers, "retrivexlib": "0.1.0"}),
        "columns": {"means": FIGURES, "differences": DIFFERENCE},
    }


def show(found: dict[str, Any], console: Console) -> None:
    """Print a cell: share of evidence / complete for each set, tokens, where the rest is lost, and the differences."""
    sets = list(found["means"])
    title = f"{found['view']}: {found['size']}-token chunks, {found['hits']} {found['retrieval']} hits, "
    table = Table(
        "", *sets, "mean", "worst", "tokens", "spans", "ms", *LOSSES, title=f"{title}{found['budget']:,} tokens"
    )
    for system in next(iter(found["means"].values())):
        cells = [found["means"][name].get(system) for name in sets]
        both = [over_sets(found, system, metric) for metric in ("recall", "complete", "tokens", "spans", "ms")]
        lost = losses(found, system) or {}
        table.add_row(
            system,
            *[f"{cell['recall']:.3f} / {cell['complete']:.3f}" if cell else "-" for cell in cells],
            *[f"{both[0][at]:.3f} / {both[1][at]:.3f}" if both[0] and both[1] else "-" for at in (0, 1)],
            *[f"{pair[0]:,.0f}" if pair else "-" for pair in both[2:3]],
            *[f"{pair[0]:.1f}" if pair else "-" for pair in both[3:]],
            *[f"{lost[kind]:.3f}" if lost else "-" for kind in LOSSES],
        )
    console.print(table)
    for ours in OURS:
        show_differences([line for line in found["differences"] if line["system"] == ours], ours, console)


def show_differences(lines: Sequence[dict[str, Any]], ours: str, console: Console) -> None:
    """Print what a system gains or loses, set by set, with 95 % intervals."""
    columns = list(dict.fromkeys((line["against"], line["metric"]) for line in lines))
    table = Table("", *[f"{metric} - {against}" for against, metric in columns], title=f"{ours}, differences")
    for name in dict.fromkeys(line["set"] for line in lines):
        here = {(line["against"], line["metric"]): line for line in lines if line["set"] == name}
        table.add_row(name, *[_difference(here[column]) if column in here else "-" for column in columns])
    console.print(table)


def _difference(line: dict[str, Any]) -> str:
    other = "" if line["other"] == line["against"] else f"\n{line['other']}"
    return f"{line['mean']:+.3f} \\[{line['low']:+.3f}, {line['high']:+.3f}]{other}"


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--subset", action="store_true", help=f"{', '.join(SUBSET)}; {SUBSET_QUESTIONS} questions each")
    size.add_argument("--full", action="store_true", help="every set, the whole grid")
    parser.add_argument("--sets", nargs="+", choices=SETS, help="other sets than those")
    parser.add_argument(
        "--sizes", nargs="+", type=int, default=list(GRID_SIZES), help="chunk sizes of the grid, in tokens"
    )
    parser.add_argument("--out", type=Path, help="folder to write to; --full writes to results/ by default")
    parser.add_argument("--processes", type=int, default=2)
    return parser.parse_args()


def main() -> int:
    """Run what is not finished, print the main cells, write the results."""
    asked = arguments()
    sets = tuple(asked.sets or (SETS if asked.full else SUBSET))
    most = MOST_QUESTIONS if asked.full else SUBSET_QUESTIONS
    systems = {name: all_systems(name) for name in sets}
    plan = Plan(systems, most)
    run(plan, jobs(plan, MAIN), processes=asked.processes)

    console = Console(width=240)
    cells = [summary(cell, rows_of(plan, cell)) for cell in MAIN]
    for found in cells:
        show(found, console)
    out = asked.out or (RESULTS if asked.full else None)
    if out:
        out.mkdir(parents=True, exist_ok=True)
        write(out / "evidence.json", setting(sets, most), [packed(cell) for cell in cells])
    if out and asked.full:
        plan = Plan(systems, GRID_QUESTIONS)
        grid = [cell for cell in GRID if cell.size in asked.sizes]
        run(plan, jobs(plan, grid, GRID_SYSTEMS), processes=asked.processes)
        lines = [packed(summary(cell, rows_of(plan, cell, GRID_SYSTEMS))) for cell in grid]
        write(out / "evidence_grid.json", setting(sets, GRID_QUESTIONS), lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
