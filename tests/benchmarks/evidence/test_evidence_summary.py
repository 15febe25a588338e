"""From rows to committed results and their tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.behaviour import FIELD, kept
from benchmarks.evidence.ranges import RangeSystem
from benchmarks.evidence.run import Cell, Plan
from benchmarks.evidence.summary import DIFFERENCE, FIGURES, best_peer, over_sets, packed, rows_of, summary
from benchmarks.report import committed, evidence_tables
from retrivex.evaluation.run.results import Row, Way

CELL = Cell("all", 200, "dense", 50, 1000)
SETS = ("bees", "wasps")


RECALLS = {
    "kNN": (0.0, 0.5, 1.0, 0.5),
    "kNN±1": (0.5, 0.5, 0.5, 0.5),
    "RSE": (0.0, 1.0, 0.5, 0.9),
    "reference k": (1.0, 1.0, 1.0, 1.0),
    "RetriVex weighted": (0.0, 0.5, 1.0, 0.5),
    "RetriVex default": (1.0, 1.0, 1.0, 0.5),
    "RetriVex full": (1.0, 1.0, 1.0, 1.0),
}


def rows(set_name: str, system: str) -> list[Row]:
    way = Way("dense", 50, system, "score_desc", 1000)
    rest = dict.fromkeys(FIGURES, 0.0)
    return [
        Row(set_name, str(number), way, {**rest, "recall": recall, "complete": recall == 1, "ms": number})
        for number, recall in enumerate(RECALLS[system])
    ]


ROWS = [row for set_name in SETS for system in RECALLS for row in rows(set_name, system)]


def test_means_and_differences_of_a_cell() -> None:
    found = summary(CELL, ROWS, resamples=200)
    assert found["questions"] == {"bees": 4, "wasps": 4}
    assert found["means"]["bees"]["kNN"]["recall"] == 0.5
    assert found["means"]["bees"]["kNN"]["ms"] == 1.5
    assert over_sets(found, "RetriVex default", "recall") == (0.875, 0.875)
    lines = {(line["system"], line["metric"], line["against"], line["set"]): line for line in found["differences"]}
    gain = lines["RetriVex default", "recall", "kNN", "mean of sets"]
    assert gain["mean"] == 0.375
    assert gain["low"] <= 0.375 <= gain["high"]
    assert lines["RetriVex default", "recall", "reference k", "wasps"]["mean"] == -0.125
    assert lines["RetriVex default", "recall", "best peer", "bees"]["other"] == "RSE"


def test_the_best_peer_is_neither_knn_nor_the_reference_nor_retrivex() -> None:
    means = {name: {"recall": sum(recalls)} for name, recalls in RECALLS.items()}
    assert best_peer(means, "recall") == "RSE"
    assert best_peer({"kNN": means["kNN"]}, "recall") == ""


def test_a_system_that_did_not_run_everywhere_has_no_mean_of_sets() -> None:
    part = [row for row in ROWS if (row.set_name, row.way.composer) != ("wasps", "RSE")]
    found = summary(CELL, part, resamples=50)
    assert over_sets(found, "RSE", "recall") is None


def test_tables_are_made_of_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [packed(summary(CELL, ROWS, resamples=50))]
    written = json.dumps({FIELD: kept(), "columns": {"means": FIGURES, "differences": DIFFERENCE}, "cells": cells})
    for name in ("evidence", "evidence_grid"):
        (tmp_path / f"{name}.json").write_text(written)
    monkeypatch.setattr(committed, "RESULTS", tmp_path)
    assert "| kNN | 50.0 / 25.0 | 50.0 / 25.0 | 50.0 / 25.0 | 50.0 / 25.0 |" in evidence_tables.whole("all", 50, 1000)
    assert "| evidence / complete, % | 1,000 tokens |" in evidence_tables.by_budget()
    assert "RSE" in evidence_tables.differences("all", 50, 1000)
    assert "200-token chunks, 50 dense hits" in evidence_tables.grid("kNN")
    assert "+37.5" in evidence_tables.grid("kNN")


def test_rows_are_found_again_until_what_they_depend_on_changes(tmp_path: Path) -> None:
    def plan(version: str, *sets: str) -> Plan:
        system = RangeSystem("kNN", lambda _: [], version)
        return Plan({name: {"kNN": system} for name in sets}, cache=tmp_path)

    plan("1", *SETS).block(CELL, "bees", "kNN").path.write_text('{"question": "q", "recall": 1.0}\n')
    way = Way("dense", 50, "kNN", "score_desc", 1000)
    assert rows_of(plan("1", *SETS), CELL) == [Row("bees", "q", way, {"recall": 1.0})]
    assert rows_of(plan("2", *SETS), CELL) == []
    assert rows_of(plan("1", "bees"), CELL) == []


def test_the_digest_of_finished_rows_stays(tmp_path: Path) -> None:
    """Rows that took hours must be found again: what they depend on is digested as it always was."""
    plan = Plan({name: {"kNN": RangeSystem("kNN", lambda _: [], "1")} for name in SETS}, 250, tmp_path)
    assert plan.block(CELL, "bees", "kNN").path.name == "787cce9b27599a4c84a4be348bd4092b.jsonl"
