"""The tables of how the words' and the vectors' hits are fused, from their committed results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.report.committed import result
from benchmarks.report.evidence_tables import table

BEFORE = "ranks, k = 60"
CUTS = ("6", "20", "50")


def fusion_hits() -> str:
    """Return the evidence in the best hits of each fusion."""
    made = _read()
    return table(
        ["fusion", *(f"best {cut}, %" for cut in CUTS), "6 against the words", "6 against the vectors", "lost at 6, %"],
        [
            [
                _name(row["fusion"], made),
                *(f"{100 * row[cut]['mean']:.1f}" for cut in CUTS),
                *(_change(row["6"]["against"][one]) for one in ("words", "dense")),
                f"{100 * row['6']['lost']:.1f}",
            ]
            for row in made["hits"]
        ],
    )


def fusion_context() -> str:
    """Return the evidence in the context that is composed from each fusion."""
    made = _read()
    return table(
        ["fusion", "evidence, %", "against the words", "against the vectors", f"against {BEFORE}", "lost, %"],
        [
            [
                _name(row["fusion"], made),
                f"{100 * row['mean']:.1f}",
                *(_change(row["against"][one]) for one in ("words", "dense", BEFORE)),
                f"{100 * row['lost']:.1f}",
            ]
            for row in made["context"]
        ],
    )


def _read() -> dict[str, Any]:
    return result("fusion")


def _name(fusion: str, made: Mapping[str, Any]) -> str:
    name = fusion.replace("dense", "vectors")
    return f"**{name}**" if fusion == made["shipped"] else name


def _change(interval: list[float]) -> str:
    return "{:+.1f} [{:+.1f}, {:+.1f}]".format(*(100 * value for value in interval))


TABLES = {"fusion_hits": fusion_hits, "fusion_context": fusion_context}
