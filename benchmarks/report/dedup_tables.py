"""Tables of the near-duplicate measurements, from results/dedup.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.report.evidence_tables import table

RESULTS = Path(__file__).parents[1] / "results" / "dedup.json"


def _read() -> dict[str, Any]:
    result: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return result


def _seconds(ms: float | None) -> str:
    return "" if ms is None else f"{ms / 1e3:.1f} s" if ms >= 950 else f"{ms:.0f} ms"


def speed() -> str:
    """Return the table of time and memory, and of rag-chunk-reorder's time on the same passages."""
    rows = [
        [row["input"], f"{row['passages']:,}", f"{row['kept']:,}", _seconds(row["ms"]), f"{row['peak MiB']:.0f} MiB",
         _seconds(row.get("npm ms")), f"{row['ratio']:.0f}×" if "ratio" in row else ""]
        for row in _read()["rows"]
    ]  # fmt: skip
    return table(["input", "passages", "kept", "RetriVex", "peak memory", "rag-chunk-reorder", "ratio"], rows)


def likeness() -> str:
    """Return the table of how alike passages are, by how many of their words are others."""
    rows = [
        [row["other"], f"{row['5 %']:.2f}", f"{row['median']:.2f}", f"{row['95 %']:.2f}"] for row in _read()["likeness"]
    ]
    return table(["other words", "5 % of the passages below", "median", "95 % below"], rows)


TABLES = {"dedup": speed, "dedup_likeness": likeness}
