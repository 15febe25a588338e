"""From the rows of the evidence benchmark to its committed results: means, and differences with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks.evidence.run import Cell, Job, Plan, Row
from retrivex.evaluation.compare.bootstrap import Difference, mean_of_sets, paired_bootstrap

METRICS = (
    "recall",
    "precision",
    "iou",
    "complete",
    "rescued",
    "lost",
    "spans",
    "duplicate_share",
    "tokens",
)
FIGURES = (*METRICS, "ms")
DIFFERENCE = (
    "system",
    "metric",
    "against",
    "set",
    "other",
    "mean",
    "low",
    "high",
    "share_above",
    "questions",
)
COMPARED = ("recall", "complete")
OURS = (
    "RetriVex weighted",
    "RetriVex calibrated",
    "RetriVex calibrated, no embeddings",
    "RetriVex calibrated, default windows",
)
NO_PEERS = ("kNN", "DOS", "reference f", "reference k", "reference j", *OURS)
RESAMPLES = 10_000
SEED = 0

Rows = Mapping[str, Mapping[str, Sequence[Row]]]  # set -> system -> a row for each question


def rows_of(plan: Plan, cell: Cell, sets: Sequence[str], systems: Sequence[str]) -> Rows:
    """Return the finished rows of a cell; systems that did not run on a set are left out there."""
    found: dict[str, dict[str, list[Row]]] = {}
    for set_name in sets:
        for system in systems:
            job = Job(cell, set_name, system)
            if plan.path(job).exists():
                found.setdefault(set_name, {})[system] = plan.rows(job)
    return found


def summary(cell: Cell, rows: Rows, *, resamples: int = RESAMPLES) -> dict[str, Any]:
    """Return a cell's means for each set and system, and the differences of ours to the others."""
    return {
        **asdict(cell),
        "questions": {name: len(next(iter(systems.values()))) for name, systems in rows.items()},
        "means": {name: {system: means(found) for system, found in systems.items()} for name, systems in rows.items()},
        "differences": [
            line
            for ours in OURS
            if all(ours in systems for systems in rows.values())
            for metric in COMPARED
            for line in differences(rows, ours, metric, resamples)
        ],
    }


def means(rows: Sequence[Row]) -> dict[str, float]:
    """Return the mean of each metric and the median of the milliseconds."""
    found = {metric: round(float(np.mean([row[metric] for row in rows])), 4) for metric in METRICS}
    return {**found, "ms": round(float(np.median([row["ms"] for row in rows])), 3)}


def differences(rows: Rows, ours: str, metric: str, resamples: int) -> list[dict[str, Any]]:
    """Return how far ours lies above kNN, the set's best peer and the reference, set by set and on the mean."""
    lines = []
    for against in ("kNN", "best peer", "reference k"):
        pairs = {}
        for name, systems in rows.items():
            other = best_peer(systems, metric) if against == "best peer" else against
            if other in systems:
                pairs[name] = (figures(systems[ours], metric), figures(systems[other], metric), other)
        for name, (mine, theirs, other) in pairs.items():
            found = paired_bootstrap(mine, theirs, resamples=resamples, seed=SEED)
            lines.append(_line(ours, metric, against, name, other, found))
        if pairs:
            mine_of, theirs_of, _ = zip(*pairs.values(), strict=True)
            found = mean_of_sets(mine_of, theirs_of, resamples=resamples, seed=SEED)
            lines.append(_line(ours, metric, against, "mean of sets", against, found))
    return lines


def _line(ours: str, metric: str, against: str, name: str, other: str, found: Difference) -> dict[str, Any]:
    rounded = {key: round(value, 4) for key, value in asdict(found).items()}
    return {"system": ours, "metric": metric, "against": against, "set": name, "other": other, **rounded}


def best_peer(systems: Mapping[str, Sequence[Row]], metric: str) -> str:
    """Return the peer with the best mean: judged after the fact and per set, which favours the peers."""
    peers = [name for name in systems if name not in NO_PEERS]
    return max(peers, key=lambda name: float(np.mean(figures(systems[name], metric))), default="")


def figures(rows: Sequence[Row], metric: str) -> list[float]:
    """Return a metric of every question."""
    return [float(row[metric]) for row in rows]


def over_sets(found: Mapping[str, Any], system: str, metric: str) -> tuple[float, float] | None:
    """Return the mean over the sets and the worst set; None where the system did not run on all."""
    values = [systems[system][metric] for systems in found["means"].values() if system in systems]
    return (float(np.mean(values)), min(values)) if len(values) == len(found["means"]) else None


def packed(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a cell with lists in the order of the columns instead of dictionaries: a third of the size."""
    return {
        **found,
        "means": {
            name: {system: [figures[column] for column in FIGURES] for system, figures in systems.items()}
            for name, systems in found["means"].items()
        },
        "differences": [[line[column] for column in DIFFERENCE] for line in found["differences"]],
    }
