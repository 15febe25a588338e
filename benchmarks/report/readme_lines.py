"""The sentences of the README that state numbers, computed from the committed results."""

from __future__ import annotations

from benchmarks.report import numbers
from benchmarks.report.effort_tables import DEFAULT, change, effort_cell, means


def proof() -> str:
    """Return the line of proof below the picture."""
    cell = effort_cell("all", 50)
    ours, theirs = means(cell, DEFAULT), means(cell, "kNN")
    gain = change(cell, DEFAULT, "complete", "kNN")
    return (
        f"All of the evidence for {100 * ours['complete']:.1f} % of the questions in {ours['tokens']:,.0f} tokens, "
        f"instead of {100 * theirs['complete']:.1f} % in {theirs['tokens']:,.0f},\nwith the same hits, on six public "
        f"sets: {gain} points. [How that was measured](EVALUATION_REPORT.md)"
    )


def setting() -> str:
    """Return what was measured for the table of results."""
    return (
        f"200-token chunks, 50 dense hits, 1,000 tokens, {numbers.questions(numbers.main()):,} questions of six public "
        "sets; the scorer was fitted without the set."
    )


def cost() -> str:
    """Return what a context costs."""
    return (
        f"A context takes {numbers.milliseconds()} ms of one core, {numbers.multiples()} times the unavoidable work: "
        "[times](benchmarks/results/speed.md)."
    )


LINES = {"proof": proof, "setting": setting, "cost": cost}
