"""What the report of version 0.1.0 claimed, beside the same quantities out of the committed results.

Its claims are quoted as they stood: there is no code behind them, and no definition of a measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.report.evidence_tables import table
from benchmarks.report.position_sensitivity import position_sensitivity
from benchmarks.report.suite_depths import p_value
from benchmarks.report.suite_grouping import by_depth, with_hits
from retrivex.evaluation.report.grouping import family_of, grouped, interval_of, per_question, plain
from retrivex.evaluation.report.markdown import with_interval
from retrivex.evaluation.run.results import MANIFEST, Row, measures_of, read_rows

RESAMPLES = 2_000
COUNTING = ("cwe", "fwe")
QUANTILES = (0.025, 0.975)

INTRODUCTION = (
    "The report of version 0.1.0 claimed the figures that are quoted below, for 25 samples each. No code came with it, "
    "so that neither its questions nor what it counted can be looked up. Ours are of the committed results, with the "
    "number of questions and 95 % intervals; what cannot be compared stands beside each. Neither side shows the other "
    "to be wrong. By the interval alone, a share of 0.92 of 25 samples lies anywhere from 0.75 to 0.98 (Wilson)."
)
NEEDLES = (
    "Claimed: recall 0.92 against 0.84, reciprocal rank 0.92 against 0.58, position bias -0.02 against -0.52.",
    "Not comparable: its needles, the length of its haystacks and how much was shown are not known. Ours is the whole "
    "needle within 2,000 tokens out of 4k to 128k, half of the needles asked for in words that they do not share. "
    "*Position bias* was not defined; here it is the mean at the worst depth less that at the best, which is below 0 "
    "by chance, too: that stands beside it, with the p of a permutation test. In its interval the worst and the best "
    "are chosen anew in each resample, which widens it downwards. *The hits themselves* are whole needles in what the "
    "retriever found, before a composer chooses and whatever the budget: how much that depends on depth is the "
    "retriever's doing.",
)
LONGBENCH = (
    "Claimed: recall 1.0 for every method, 0.035 ms against 0.070 ms.",
    "Not comparable: which of the 21 tasks, at what length and for how much of the context is not known, nor what the "
    "milliseconds hold; a recall of 1.0 for every method tells none from another. Ours are the two Chinese files at "
    "hand. Evidence is known in one of them (the passage that is looked for), answers in both; the milliseconds hold "
    "fetching, choosing, ordering and counting tokens, on two shared cores.",
)
RULER = (
    "Claimed: exact match of 12 to 64 %.",
    "Not comparable: exact match is a figure of a model's answers, and no model was asked here. Ours is the share of "
    "questions whose answers all stand in the context, the most that a model could answer from it. `cwe` and `fwe` "
    "ask for counts over the whole haystack, which no selection of passages holds: they are left out.",
)


def claims(results: Path) -> str:
    """Return the section; of benchmarks without results nothing is said.

    Parameters
    ----------
    results : folder of the committed results
    """
    known: tuple[tuple[str, str, tuple[str, str], Callable[[Sequence[Row]], str]], ...] = (
        ("niah", "Needles in haystacks", NEEDLES, needles),
        ("longbench", "LongBench", LONGBENCH, longbench),
        ("ruler", "RULER", RULER, ruler),
    )
    parts = [INTRODUCTION]
    for name, heading, (claimed, differing), make in known:
        if (results / name / MANIFEST).exists():
            parts += [f"### {heading}, as claimed and as measured", claimed, make(read_rows(results / name)), differing]
    return "\n\n".join(parts)


def needles(rows: Sequence[Row]) -> str:
    """Return recall, reciprocal rank and position bias for each kind of needles, of the hits and of each composer."""
    lines = [
        [
            f"{family}, {composer}, {hits} {retriever} hits",
            with_interval(interval_of(found, "complete")),
            with_interval(interval_of(found, "reciprocal_rank")),
            *position_bias(by_depth(found, "complete")),
            asked(found),
        ]
        for (family, retriever, hits, composer), found in grouped(
            with_hits(plain(rows)), lambda row: (family_of(row), row.way.retriever, row.way.hits, row.way.composer)
        ).items()
    ]
    header = ["", "recall: all needles in the context", "reciprocal rank", "worst less best depth", "by chance", "p"]
    return table([*header, "questions"], lines)


def position_bias(figures: Mapping[float, Sequence[float]]) -> list[str]:
    """Return the mean at the worst depth less that at the best with its interval, that of chance, and p."""
    if len(figures) < 2:
        return ["–", "–", "–"]
    seen = position_sensitivity(figures)
    asked = np.array([figures[depth] for depth in figures]).T  # questions x depths
    draws = np.random.default_rng(0).integers(0, len(asked), (RESAMPLES, len(asked)))
    low, high = np.quantile([-np.ptp(asked[drawn].mean(axis=0)) for drawn in draws], QUANTILES)
    return [f"{-seen.spread:+.3f} [{low:+.3f}, {high:+.3f}]", f"{-seen.by_chance:+.3f}", p_value(seen.p)]


def longbench(rows: Sequence[Row]) -> str:
    """Return recall and milliseconds at each budget."""
    lines = [
        [
            f"{composer}, {budget:,} tokens",
            with_interval(interval_of(found, "evidence_recall")),
            asked(row for row in found if "evidence_recall" in row.measures),
            with_interval(interval_of(found, "answer_in_context")),
            asked(row for row in found if "answer_in_context" in row.measures),
            median_ms(found),
        ]
        for (budget, composer), found in sorted(
            grouped(plain(rows), lambda row: (row.way.budget, row.way.composer)).items(), key=lambda item: item[0][0]
        )
    ]
    return table(["", "evidence recall", "questions", "answer in context", "questions", "median ms"], lines)


def ruler(rows: Sequence[Row]) -> str:
    """Return for each task how many questions could be answered from the context, over all lengths."""
    there = [row for row in plain(rows) if "answer_in_context" in row.measures and task_of(row) not in COUNTING]
    composers = list(dict.fromkeys(row.way.composer for row in there))
    lines = []
    for task, found in grouped(there, task_of).items():
        cells = grouped(found, lambda row: row.way.composer)
        shares = [with_interval(interval_of(cells.get(name, []), "answer_in_context")) for name in composers]
        lines.append([task, *shares, asked(found)])
    return table(["answers in the context", *composers, "questions"], lines)


def task_of(row: Row) -> str:
    """Return the task of a row of RULER: "vt" of "ruler/vt/4096/25"."""
    return str(row.factors.get("task", row.set_name.split("/")[1]))


def asked(rows: Iterable[Row]) -> str:
    """Return how many questions the rows are about."""
    return f"{len({(row.set_name, row.question_id) for row in rows}):,}"


def median_ms(rows: Sequence[Row]) -> str:
    """Return the median milliseconds with its bootstrap interval."""
    if "ms" not in measures_of(rows):
        return "–"
    figures: NDArray[np.float64] = np.array(list(per_question(rows, "ms").values()))
    draws = np.random.default_rng(0).integers(0, len(figures), (RESAMPLES, len(figures)))
    low, high = np.quantile(np.median(figures[draws], axis=1), QUANTILES)
    return f"{np.median(figures):.2f} [{low:.2f}, {high:.2f}]"
