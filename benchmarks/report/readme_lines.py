"""The sentences of the README that state numbers, computed from the committed results."""

from __future__ import annotations

from benchmarks.report import numbers
from benchmarks.report.evidence_tables import WIDENING


def proof() -> str:
    """Return the line of proof below the picture."""
    main = numbers.main()
    ours, theirs = (100 * numbers.mean_figure(main, system) for system in (WIDENING, "kNN"))
    return (
        f"All of the evidence for {ours:.1f} % of the questions instead of {theirs:.1f} %, with the same hits and the "
        f"same 1,000 tokens,\non six public sets: {numbers.difference(main, 'kNN').points()} points. "
        "[How that was measured](EVALUATION_REPORT.md)"
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
