"""Tables of docs/explain/order_value.md, from `results/ordering.json`."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.report.evidence_tables import table

RESULTS = Path(__file__).parents[1] / "results" / "ordering.json"
CURVE = "lost_in_the_middle"
COLUMNS = (("uniform", "equal"), ("skewed", "equal"), ("skewed", "unequal"), ("real", "unequal"))
COUNT = 20


@cache
def result() -> dict[str, Any]:
    """Read the committed result."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def effect() -> str:
    """Return the table of what orders are worth."""
    blocks = {
        (block["scores"], block["lengths"]): {row["name"]: row for row in block["rows"]}
        for block in result()["effect"]
        if block["profile"] == CURVE and block["count"] == COUNT
    }
    rows = [
        [name, *(f"{blocks[column][name]['share']:.3f}" for column in COLUMNS), f"{row['answer']:.1f} %"]
        for name, row in sorted(blocks["real", "unequal"].items(), key=lambda pair: -pair[1]["share"])
    ]
    heads = [f"{scores} scores, {lengths} lengths" for scores, lengths in COLUMNS]
    return table([f"{COUNT} passages", *heads, "answer"], rows)


def speed() -> str:
    """Return the table of what orders cost."""
    made = result()
    sizes = list(made["speed"][0]["us"])
    rows = [
        [row["name"], *(f"{row['us'][size]:,.1f} ({row['ratio'][size]:.2f}×)" for size in sizes)]
        for row in made["speed"]
    ]
    if made["npm"]["us"]:
        rows.append([f"{made['npm']['name']}, in node", *(f"{made['npm']['us'][size]:,.1f}" for size in sizes)])
    return table(["µs a call", *(f"{int(size):,} passages" for size in sizes)], rows)


def profile_speed() -> str:
    """Return the table of what the profile order costs, and how far from the best it can be."""
    rows = [
        [f"{row['count']:,}", row["lengths"], f"{row['us'] / 1e3:.2f}", f"{100 * row['gap']:.4f} %"]
        for row in result()["profile"]
    ]
    return table(["passages", "lengths", "ms", "gap to the bound"], rows)


TABLES: dict[str, Callable[[], str]] = {
    "ordering_effect": effect,
    "ordering_speed": speed,
    "ordering_profile": profile_speed,
}
