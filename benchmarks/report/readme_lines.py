"""The sentences of the README that state numbers, computed from the committed results."""

from __future__ import annotations

from benchmarks.evidence.effort_summary import difference, points
from benchmarks.evidence.systems import REFERENCE
from benchmarks.report import numbers
from benchmarks.report.effort_tables import DEFAULT, KNN, README_BUDGETS, effort_cell, means


def proof() -> str:
    """Return the line of proof below the picture."""
    first, second = ({name: means(effort_cell(budget), name) for name in (DEFAULT, KNN)} for budget in README_BUDGETS)
    gains = [points(difference(effort_cell(budget), DEFAULT, KNN, "complete")) for budget in README_BUDGETS]
    return (
        f"All of the evidence for {100 * first[DEFAULT]['complete']:.1f} % of the questions in "
        f"{first[DEFAULT]['tokens']:,.0f} tokens, instead of {100 * first[KNN]['complete']:.1f} % in "
        f"{first[KNN]['tokens']:,.0f},\nwith the same hits, on {_count()} public sets: {gains[0]} points; in "
        f"{second[DEFAULT]['tokens']:,.0f} tokens {100 * second[DEFAULT]['complete']:.1f} %, instead of "
        f"{100 * second[KNN]['complete']:.1f} %: {gains[1]}.\n[How that was measured](EVALUATION_REPORT.md)"
    )


def setting() -> str:
    """Return what was measured for the table of results."""
    return (
        f"200-token chunks, 50 dense hits, {numbers.questions(effort_cell(README_BUDGETS[0])):,} questions of "
        f"{_count()} public sets, two of them with evidence in two documents; the scorer was fitted without the set, "
        f"but for the parts of double questions. {losses()}"
    )


def _count() -> str:
    number = len(effort_cell(README_BUDGETS[0])["means"])
    return {8: "eight"}.get(number, str(number))


def cost() -> str:
    """Return what a context costs."""
    return (
        f"A context takes {numbers.milliseconds()} ms of one core, {numbers.multiples()} times the unavoidable work: "
        "[times](benchmarks/results/speed.md)."
    )


def losses() -> str:
    """Return where it loses."""
    needles = numbers.paired(numbers.needles("niah_held_out"), "complete")
    _, below = numbers.surely(REFERENCE)
    found = [
        f"to kNN on single facts that are asked for in other words ({needles.points()} points, {needles.count} needles)"
        if needles.high < 0
        else "",
        f"to a hand-tuned pipeline that reads the whole index in {below} of {len(numbers.grid())} combinations of "
        "sizes, hits and budgets"
        if below
        else "",
    ]
    said = ", and ".join(filter(None, found)) or "in none of the comparisons for sure"
    return f"It loses {said}: [losses](EVALUATION_REPORT.md#9-where-it-loses)."


LINES = {"proof": proof, "setting": setting, "cost": cost}
