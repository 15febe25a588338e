"""Reads the committed results; those of what is shown must have been measured with today's behaviour."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.behaviour import check, load
from retrivex.evaluation.run.results import Row, read_manifest, read_rows

RESULTS = Path(__file__).parents[1] / "results"
OF_TIME_AND_FAULTS = frozenset(
    {
        "adapters",
        "against",
        "batch",
        "checks",
        "compose_lines",
        "dedup",
        "determinism",
        "faults",
        "fuzz",
        "growth",
        "index",
        "latency",
        "ordering",
        "scale",
        "service",
        "service_faults",
        "store",
        "token_estimate",
    }
)
"""Results that no change of what is shown makes wrong: times, memory, and what broke."""


def result(name: str) -> dict[str, Any]:
    """Read a result.

    Raises
    ------
    StaleResultError
        If it says what is shown, and was measured with another behaviour than the one kept.
    """
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if name in OF_TIME_AND_FAULTS else load(path)
    return found


def manifest(name: str) -> dict[str, Any]:
    """Read what a run was made with; see `result`."""
    found = read_manifest(RESULTS / name)
    check(RESULTS / name, found)
    return found


@cache
def rows_of(name: str) -> tuple[Row, ...]:
    """Read the rows of a run, once; see `result`."""
    manifest(name)
    return tuple(read_rows(RESULTS / name))
