"""Rows of a made-up run, and the pages made of them."""

import json
from collections.abc import Callable
from pathlib import Path

from retrivex.evaluation.run.results import MANIFEST, RESULTS, Row, Way, write_rows

DEPTHS = (0, 25, 50, 75, 100)


def needles(
    figure: Callable[[str, int, int, int], float], *, orders: tuple[str, ...] = ("edge_balanced",)
) -> list[Row]:
    """Make rows of needles at depths and lengths, for two composers and two budgets."""
    return [
        Row(
            f"niah/{tokens}",
            f"needle-{needle}/{depth}",
            Way("bm25", 6, composer, order, budget),
            {
                "evidence_recall": figure(composer, depth, needle, budget),
                "complete": figure(composer, depth, needle, budget),
                "evidence_position": (needle % 7) / 6 if order == "document" else 0.0,
                "tokens": 0.9 * budget,
                "evidence_tokens_per_1000": 20.0,
                "ms": 1.5,
            },
            {"depth": depth, "tokens": tokens, "needle": needle, "task": "needle|<b>"},
            question=f"Where is {needle}?",
        )
        for tokens in (4096, 8192)
        for needle in range(8)
        for depth in DEPTHS
        for composer in ("knn", "balanced")
        for order in orders
        for budget in (500, 1000)
    ]


def write(folder: Path, rows: list[Row]) -> Path:
    """Write a folder of results."""
    folder.mkdir(exist_ok=True)
    write_rows(folder / RESULTS, rows)
    told = {"name": "niah/4096", "asked": 40, "documents": 7, "odd": {"count": 1, "records": ["line 3: <i>"]}}
    (folder / MANIFEST).write_text(json.dumps({"sets": [told], "seeds": [0], "code": "abc"}), encoding="utf-8")
    return folder


def section(page: str, title: str) -> str:
    """Return the text under a heading."""
    return page.split(f"## {title}\n")[1].split("\n## ")[0]
