"""The table of what reranking is worth, from its committed results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.report.evidence_tables import table

RESULTS = Path(__file__).parents[1] / "results"


def rerank() -> str:
    """Return evidence in the context without and with a reranker."""
    rows: list[dict[str, Any]] = json.loads((RESULTS / "rerank.json").read_text(encoding="utf-8"))["rows"]
    return table(
        ["set", "", "evidence, %", "reranked", "points", "complete, %", "reranked"],
        [
            [
                row["set"].replace("_", " "),
                row["system"],
                *(f"{100 * value:.1f}" for value in row["recall"]),
                "{:+.1f} [{:+.1f}, {:+.1f}]".format(*(100 * value for value in row["change"])),
                *(f"{100 * value:.1f}" for value in row["complete"]),
            ]
            for row in rows
        ],
    )


TABLES = {"rerank": rerank}
