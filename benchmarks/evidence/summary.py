"""From the rows of the evidence benchmark to its committed results: means, and differences with their intervals."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import Any

from benchmarks.behaviour import FIELD, today
from benchmarks.evidence.run import Cell, Plan
from benchmarks.evidence.systems import DEFAULT, FULL, KNN, LEAN, REFERENCE, WEIGHTED
from retrivex import __version__
from retrivex.evaluation.compare.bootstrap import Difference
from retrivex.evaluation.compare.comparison import compare
from retrivex.evaluation.run.results import Row
from retrivex.evaluation.run.summary import summarise

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
    "reached",
    "affordable",
)
FIGURES = (*METRICS, "ms")
DIFFERENCE = ("system", "metric", "against", "set", "other", "mean", "low", "high", "share_above", "questions")
COMPARED = ("recall", "complete")
OURS = (DEFAULT, FULL)
NO_PEERS = (KNN.name, "DOS", REFERENCE, DEFAULT, LEAN, FULL, WEIGHTED)
LOSSES = ("retriever", "budget", "choice")
RESAMPLES = 10_000
SEED = 0

Means = Mapping[str, Mapping[str, Mapping[str, float]]]  # set -> system -> measure


def rows_of(plan: Plan, cell: Cell, names: Collection[str] | None = None) -> list[Row]:
    """Return the finished rows of a cell, set by set; systems that did not run on a set are left out there."""
    return [
        row
        for set_name, systems in plan.systems.items()
        for system in (systems if names is None else names)
        for row in plan.rows(cell, set_name, system)
    ]


def summary(cell: Cell, rows: Sequence[Row], *, resamples: int = RESAMPLES) -> dict[str, Any]:
    """Return a cell's means for each set and system, and the differences of ours to the others."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    questions: dict[str, int] = {}
    for line in summarise(rows):
        found.setdefault(line["set_name"], {})[line["composer"]] = line["measures"]
        questions.setdefault(line["set_name"], line["questions"])
    return {
        **asdict(cell),
        "questions": questions,
        "means": {
            name: {system: rounded(measures) for system, measures in systems.items()} for name, systems in found.items()
        },
        "differences": [
            line
            for ours in OURS
            if all(ours in systems for systems in found.values())
            for metric in COMPARED
            for line in differences(rows, found, ours, metric, resamples)
        ],
    }


def rounded(measures: Mapping[str, float]) -> dict[str, float]:
    """Return the mean of each metric and the median of the milliseconds, as they are committed."""
    return {name: round(measures[name], 3 if name == "ms" else 4) for name in FIGURES}


def differences(rows: Sequence[Row], means: Means, ours: str, metric: str, resamples: int) -> Iterator[dict[str, Any]]:
    """Yield how far ours lies above kNN, the set's best peer and the reference, by set and on the mean."""
    mine = [row for row in rows if row.way.composer == ours]
    for against in (KNN.name, "best peer", REFERENCE):
        others = {
            name: best_peer(systems, metric) if against == "best peer" else against for name, systems in means.items()
        }
        theirs = [
            replace(row, way=replace(row.way, composer=against))
            for row in rows
            if row.way.composer == others[row.set_name]
        ]
        for found in compare(mine, theirs, [metric], resamples=resamples, seed=SEED) if theirs else ():
            figures = interval_of(found.difference)
            names = {"metric": metric, "against": against, "set": found.set_name}
            yield {"system": ours, **names, "other": others.get(found.set_name, against), **figures}


def interval_of(difference: Difference) -> dict[str, float]:
    """Return a difference with its interval, as it is committed."""
    return {key: round(value, 4) for key, value in asdict(difference).items()}


def best_peer(systems: Mapping[str, Mapping[str, float]], metric: str) -> str:
    """Return the peer with the best mean: judged after the fact and per set, which favours the peers."""
    peers = [name for name in systems if name not in NO_PEERS]
    return max(peers, key=lambda name: systems[name][metric], default="")


def over_sets(found: Mapping[str, Any], system: str, metric: str) -> tuple[float, float] | None:
    """Return the mean over the sets and the worst set; None where the system did not run on all."""
    values = [systems[system][metric] for systems in found["means"].values() if system in systems]
    return (fmean(values), min(values)) if len(values) == len(found["means"]) else None


def losses(found: Mapping[str, Any], system: str) -> dict[str, float] | None:
    """Return where a system's evidence is lost, mean over the sets: the shares of `LOSSES` and its recall sum to 1.

    The retriever did not bring it, the budget has no room for it, or the system chose other text.
    """
    means = [systems[system] for systems in found["means"].values() if system in systems]
    if len(means) < len(found["means"]):
        return None
    reached, affordable, recall = (fmean(row[name] for row in means) for name in ("reached", "affordable", "recall"))
    return dict(zip(LOSSES, (1 - reached, reached - affordable, affordable - recall), strict=True))


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


def measured_with(sets: Sequence[str], most: int, peers: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    """Return what the figures of a run depend on: sets, samples, versions of packages, machine."""
    packages = ("numpy", "tiktoken", "sentence-transformers", "torch")
    return {
        "sets": list(sets),
        "most_questions": most,
        "question_sample_seed": 0,
        "bootstrap": {"resamples": RESAMPLES, "seed": SEED, "level": 0.95},
        "versions": {
            "python": platform.python_version(),
            "retrivex": __version__,
            **{name: version(name) for name in packages},
            **peers,
        },
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        FIELD: today(),
    }


def write(path: Path, content: dict[str, Any], cells: Sequence[dict[str, Any]]) -> None:
    """Write results, a line for each cell."""
    head = json.dumps(content, indent=1, ensure_ascii=False).removesuffix("\n}")
    lines = ",\n".join(json.dumps(cell, ensure_ascii=False, separators=(",", ":")) for cell in cells)
    path.write_text(f'{head},\n "cells": [\n{lines}\n]}}\n', encoding="utf-8")
