"""The sentences of the README that state numbers, computed from the committed results."""

from __future__ import annotations

from benchmarks.evidence.effort_summary import difference, points
from benchmarks.report import numbers
from benchmarks.report.effort_tables import DEFAULT, KNN, README_BUDGETS, effort_cell, means


def proof() -> str:
    """Return the line of proof below the picture."""
    less, more = ({name: means(effort_cell(budget), name) for name in (DEFAULT, KNN)} for budget in README_BUDGETS)
    gains = [points(difference(effort_cell(budget), DEFAULT, KNN, "complete")) for budget in README_BUDGETS]
    return (
        f"All of the evidence for {100 * less[DEFAULT]['complete']:.1f} % of the questions in "
        f"{less[DEFAULT]['tokens']:,.0f} tokens, instead of {100 * less[KNN]['complete']:.1f} % in "
        f"{less[KNN]['tokens']:,.0f},\nwith the same hits, on {_count()} public sets: {gains[0]} points; in "
        f"{more[DEFAULT]['tokens']:,.0f} tokens {100 * more[DEFAULT]['complete']:.1f} %, instead of "
        f"{100 * more[KNN]['complete']:.1f} %: {gains[1]}.\n[How that was measured](EVALUATION_REPORT.md)"
    )


def setting() -> str:
    """Return what was measured for the table of results."""
    return (
        f"200-token chunks, 50 dense hits, {numbers.questions(effort_cell(README_BUDGETS[0])):,} questions of "
        f"{_count()} public sets, two of them with evidence in two documents; the scorer was fitted without the set, "
        "but for the parts of double questions."
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


LINES = {"proof": proof, "setting": setting, "cost": cost}
