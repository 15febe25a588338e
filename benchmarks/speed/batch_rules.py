"""By what runs of batches are judged: how many rows are compared, and when memory is flat; needs no package."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

COMPARED = 500
"""Requests of a run that are compared with `compose` in a loop."""

MOST_GROWTH = 0.05
"""A run is flat where its second half takes at most so much more memory than the end of its first half."""


def thin(looks: Sequence[tuple[int, float]], tenths: int = 10) -> list[dict[str, float]]:
    """Return the median memory of each tenth of a run."""
    most = max((rows for rows, _ in looks), default=0)
    made = []
    for tenth in range(tenths):
        inside = [mb for rows, mb in looks if most * tenth / tenths <= rows < most * (tenth + 1) / tenths]
        if inside:
            made.append({"rows": round(most * (tenth + 1) / tenths), "mb": round(statistics.median(inside), 1)})
    return made


def growth(memory: Sequence[Mapping[str, float]]) -> float | None:
    """Return how much more memory the second half of a run takes at most than the end of its first half.

    Parameters
    ----------
    memory : by tenths, as of `thin`; a run of which a half was not looked at has no growth that is known

    Examples
    --------
    >>> looks = [(10, 100.0), (20, 200.0), (30, 220.0), (40, 210.0)]
    >>> growth([{"rows": rows, "mb": mb} for rows, mb in looks])
    0.1
    """
    first, second = halves(memory)
    return round(max(second) / first[-1] - 1, 4) if first and second else None


def halves(memory: Sequence[Mapping[str, float]]) -> tuple[list[float], list[float]]:
    """Return the memory of the tenths of each half."""
    most = memory[-1]["rows"] + 1 if memory else 0  # 1: rows are rounded
    first = [tenth["mb"] for tenth in memory if 2 * tenth["rows"] <= most]
    return first, [tenth["mb"] for tenth in memory[len(first) :]]


def not_flat(memory: Sequence[Mapping[str, float]]) -> str | None:
    """Return what is wrong with the memory of a run; None where it is flat."""
    grown = growth(memory)
    if grown is None:
        return "memory is known of one half of the run alone: measure it again, in one go"
    if grown > MOST_GROWTH:
        return (
            f"memory is not flat: it grows by {grown:.1%} in the second half, {MOST_GROWTH:.0%} is the most "
            "(a run that was stopped begins with empty caches: measure it in one go)"
        )
    return None


def check_results(results: Mapping[str, Any]) -> None:
    """End the benchmark with exit code 1: memory grows, engines do not give what a loop gives, or kills leave damage.

    Parameters
    ----------
    results : of all that was measured, as `batch.json` has it
    """
    wrong = [
        *(f"{engine}: {run['failed']} requests failed" for engine, run in results["long"].items() if run["failed"]),
        *(f"{engine}: {wrong}" for engine, run in results["long"].items() if (wrong := not_flat(run["memory"]))),
        *(f"{engine}: not as a loop" for engine, run in results["long"].items() if not run["as_loop"]),
        *(
            f"{engine}: not the bytes of local"
            for engine, run in results["long"].items()
            if not run.get("same_bytes", 1)
        ),
        *(f"{engine}: no worker was killed" for engine, run in results["killed"].items() if not run["killed"]),
        *(f"{engine}: other bytes after kills" for engine, run in results["killed"].items() if not run["same_bytes"]),
        *(f"killed jobs: {violation}" for violation in results["job_kills"]["violations"]),
        *(f"killed engines: {violation}" for violation in results["pool_kills"]["violations"]),
    ]
    if wrong:
        raise SystemExit("; ".join(wrong))
