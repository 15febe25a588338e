"""The tables and sentences of what more budget buys, from a written result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.behaviour import FIELD, kept
from benchmarks.evidence.effort import VARIATIONS
from benchmarks.evidence.effort_summary import BASE, DIFFERENCE, SYSTEMS, packed, summary
from benchmarks.evidence.summary import FIGURES
from benchmarks.report import committed, effort_tables, readme_lines
from retrivex.evaluation.run.results import Row, Way

RECALLS = dict(zip(SYSTEMS, (0.5, 0.75, 0.25, 0.8), strict=True))
SETS = ("bees", "wasps")


def row(set_name: str, number: int, system: str, budget: int) -> Row:
    recall = RECALLS[system] + (budget == 2000) * 0.1 - (set_name == "wasps") * 0.1
    if (set_name, system, budget) == ("wasps", "RetriVex default", 2000):
        recall = 0.0
    measures = {**dict.fromkeys(FIGURES, 0.0), "recall": recall, "complete": float(number % 2), "tokens": budget - 10}
    return Row(set_name, str(number), Way("dense", 50, system, "score_desc", budget), measures)


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    cells = [
        packed(summary(name, VARIATIONS[name].cell(budget),
                       [row(set_name, n, system, budget) for set_name in SETS for system in SYSTEMS for n in range(30)],
                       resamples=300))
        for name in (BASE, "no store", effort_tables.NAMED)
        for budget in (2000, 1000)
    ]  # fmt: skip
    written = json.dumps({FIELD: kept(), "columns": {"means": FIGURES, "differences": DIFFERENCE}, "cells": cells})
    (tmp_path / "effort.json").write_text(written, encoding="utf-8")
    monkeypatch.setattr(committed, "RESULTS", tmp_path)
    effort_tables.measured.cache_clear()
    yield
    effort_tables.measured.cache_clear()


def test_a_row_for_each_budget_says_what_each_level_shows_and_gains() -> None:
    first, second = effort_tables.budgets().splitlines()[2:]
    assert first.startswith(
        "| 1,000 | 45.0 / 50.0 in 990 | 70.0 / 50.0 in 990 | 20.0 / 50.0 in 990 | 75.0 / 50.0 in 990"
    )
    assert first.endswith("| +25.0 [+25.0, +25.0] | -5.0 [-5.0, -5.0] | +30.0 [+30.0, +30.0] |")
    assert second.startswith("| 2,000 |")


def test_sets_are_shown_by_budget() -> None:
    table = effort_tables.by_set()
    assert "| wasps | 40.0 / 50.0 · 65.0 / 50.0 · 70.0 / 50.0 | 50.0 / 50.0 · 0.0 / 50.0 · 80.0 / 50.0 |" in table


def test_what_is_below_knn_is_counted_and_listed() -> None:
    assert effort_tables.lower(BASE) == "1 of 4"
    assert "| no store | wasps | 2,000 | RetriVex | -50.0 [-50.0, -50.0] |" in effort_tables.lost()
    assert "| base | bees |" not in effort_tables.lost()
    assert effort_tables.situations().count("1 of 4") == 6


def test_the_readme_states_the_default_at_both_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readme_lines, "losses", lambda: "It loses.")  # they are of other results
    short = effort_tables.short().splitlines()
    assert short[-1] == "| **RetriVex** | 42.5 % | 50.0 % | 1,990 | 70.0 % | 50.0 % | 990 |"
    assert "in 1,990 tokens, instead of 50.0 % in 1,990" in readme_lines.proof()
    assert "in 990 tokens 50.0 %, instead of 50.0 %: +0.0" in readme_lines.proof()
    assert "60 questions of 2 public sets" in readme_lines.setting()
    assert readme_lines.setting().endswith("of double questions. It loses.")
