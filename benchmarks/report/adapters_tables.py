"""Tables of the measurements of vector stores, from results/adapters.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.report.evidence_tables import table

RESULTS = Path(__file__).parents[1] / "results" / "adapters.json"


def _time(ms: float) -> str:
    return f"{ms / 1e3:.1f} s" if ms >= 950 else f"{ms:.0f} ms" if ms >= 9.5 else f"{ms:.1f} ms"


def _other(way: dict[str, Any]) -> list[str]:
    other = way["other"]
    about = "about " if other.get("estimated") else ""
    own = "" if way["against"] == "one request a neighbour" else f" ({way['against']})"
    return [f"{other['requests']}{own}", f"{about}{_time(other['ms'])}", f"{way['ratio']:.1f}×"]


def _rows(row: dict[str, Any], chunks: int) -> list[list[str]]:
    few = "" if row["chunks"] == chunks else f", {row['chunks']:,} chunks"
    if "missing" in row:
        return [[row["store"], "not measured: " + row["missing"].replace("|", " "), *[""] * 7]]
    base = "" if row["base ms"] is None else _time(row["base ms"])
    names = [f"{row['store']} ({row['version']}){few}", *[row["store"]] * (len(row["ways"]) - 1)]
    return [
        [name, way["way"], base, str(way["requests"]), _time(way["ms"]), *_other(way),
         "" if way["own ms"] is None else _time(way["own ms"])]
        for name, way in zip(names, row["ways"], strict=True)
    ]  # fmt: skip


def neighbours() -> str:
    """Return the table of requests and times in every store."""
    result: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    chunks = result["chunks"]
    names = ["20 nearest", "requests", "time", "one by one", "time", "ratio", "own time"]
    rows = [line for row in result["rows"] for line in _rows(row, chunks)]
    return table([f"store of {chunks:,} chunks", "asked by", *names], rows)


TABLES = {"adapters": neighbours}
