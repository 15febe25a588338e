"""Draws share of evidence and complete answers against the budget, for each set, from the committed results.

Run: `python benchmarks/plots.py` (needs matplotlib, see `requirements.txt`); writes `docs/figures/*.png`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from evidence_tables import cells

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
FIXED = {"size": 200, "retrieval": "dense", "hits": 50}
METRICS = {"recall": "share of the evidence", "complete": "questions with all of it"}
STYLES = {
    "kNN": ("#777777", "--"),
    "kNN±1": ("#bb8844", ":"),
    "RSE without minimum": ("#8855aa", ":"),
    "sentence window": ("#449955", ":"),
    "reference k": ("#2277bb", "--"),
    "RetriVex weighted": ("#dd9999", "-"),
    "RetriVex calibrated": ("#cc2222", "-"),
}


def against_budget(metric: str, found: list[dict[str, Any]]) -> None:
    """Draw one metric: a panel for each set, a line for each system."""
    sets = list(found[0]["means"])
    figure, panels = plt.subplots(2, (len(sets) + 1) // 2, figsize=(11, 6), sharex=True, squeeze=False)
    for panel, name in zip(panels.flat, sets, strict=False):
        for system, (color, line) in STYLES.items():
            values = [cell["means"][name][system][metric] for cell in found if system in cell["means"][name]]
            if len(values) == len(found):
                budgets = [cell["budget"] for cell in found]
                panel.plot(budgets, values, color=color, linestyle=line, marker="o", markersize=3, label=system)
        panel.set_title(name.replace("_", " "), fontsize=10)
        panel.set_xscale("log", base=2)
        panel.set_xticks([cell["budget"] for cell in found], [f"{cell['budget']:,}" for cell in found])
        panel.set_ylim(bottom=0)
        panel.grid(alpha=0.3)
    for panel in panels.flat[len(sets) :]:
        panel.set_visible(False)
    figure.supxlabel("token budget")
    figure.supylabel(METRICS[metric])
    figure.legend(*panels.flat[0].get_legend_handles_labels(), loc="upper center", ncols=len(STYLES), fontsize=9)
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    FIGURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURES / f"evidence_{metric}.png", dpi=120, metadata={"Software": None})
    plt.close(figure)


def main() -> None:
    """Draw every metric."""
    mpl.use("Agg")
    found = [cell for cell in cells("evidence_grid") if all(cell[key] == value for key, value in FIXED.items())]
    found.sort(key=lambda cell: cell["budget"])
    for metric in METRICS:
        against_budget(metric, found)


if __name__ == "__main__":
    main()
