"""From rows to committed results and their tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.evidence.protocol import System
from benchmarks.evidence.run import Cell, Job, Plan, Row
from benchmarks.evidence.summary import DIFFERENCE, FIGURES, best_peer, over_sets, packed, rows_of, summary
from benchmarks.report import evidence_tables

CELL = Cell("all", 200, "dense", 50, 1000)
SETS = ("bees", "wasps")


def rows(*recalls: float) -> list[Row]:
    rest = dict.fromkeys(FIGURES, 0.0)
    return [{**rest, "recall": recall, "complete": recall == 1, "ms": number} for number, recall in enumerate(recalls)]


SYSTEMS = {
    "kNN": rows(0.0, 0.5, 1.0, 0.5),
    "kNN±1": rows(0.5, 0.5, 0.5, 0.5),
    "RSE": rows(0.0, 1.0, 0.5, 0.9),
    "reference k": rows(1.0, 1.0, 1.0, 1.0),
    "RetriVex weighted": rows(0.0, 0.5, 1.0, 0.5),
    "RetriVex calibrated": rows(1.0, 1.0, 1.0, 0.5),
    "RetriVex calibrated, default windows": rows(1.0, 1.0, 1.0, 1.0),
}


def test_means_and_differences_of_a_cell() -> None:
    found = summary(CELL, dict.fromkeys(SETS, SYSTEMS), resamples=200)
    assert found["questions"] == {"bees": 4, "wasps": 4}
    assert found["means"]["bees"]["kNN"]["recall"] == 0.5
    assert found["means"]["bees"]["kNN"]["ms"] == 1.5
    assert over_sets(found, "RetriVex calibrated", "recall") == (0.875, 0.875)
    lines = {(line["system"], line["metric"], line["against"], line["set"]): line for line in found["differences"]}
    gain = lines["RetriVex calibrated", "recall", "kNN", "mean of sets"]
    assert gain["mean"] == 0.375
    assert gain["low"] <= 0.375 <= gain["high"]
    assert lines["RetriVex calibrated", "recall", "reference k", "wasps"]["mean"] == -0.125
    assert lines["RetriVex calibrated", "recall", "best peer", "bees"]["other"] == "RSE"


def test_the_best_peer_is_neither_knn_nor_the_reference_nor_retrivex() -> None:
    assert best_peer(SYSTEMS, "recall") == "RSE"
    assert best_peer({"kNN": rows(1.0)}, "recall") == ""


def test_a_system_that_did_not_run_everywhere_has_no_mean_of_sets() -> None:
    part = {name: found for name, found in SYSTEMS.items() if name != "RSE"}
    found = summary(CELL, {"bees": SYSTEMS, "wasps": part}, resamples=50)
    assert over_sets(found, "RSE", "recall") is None


def test_tables_are_made_of_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [packed(summary(CELL, dict.fromkeys(SETS, SYSTEMS), resamples=50))]
    written = json.dumps({"columns": {"means": FIGURES, "differences": DIFFERENCE}, "cells": cells})
    for name in ("evidence", "evidence_grid"):
        (tmp_path / f"{name}.json").write_text(written)
    monkeypatch.setattr(evidence_tables, "RESULTS", tmp_path)
    assert "| kNN | 50.0 / 25.0 | 50.0 / 25.0 | 50.0 / 25.0 | 50.0 / 25.0 |" in evidence_tables.whole("all", 50)
    assert "| kNN | 50.0 % | 25.0 % |" in evidence_tables.short("all", 50)
    assert "| **RetriVex**, as it comes | 100.0 % | 100.0 % |" in evidence_tables.short("all", 50)
    assert "RSE" in evidence_tables.differences("all", 50)
    assert "200-token chunks, 50 dense hits" in evidence_tables.grid("kNN")
    assert "+37.5" in evidence_tables.grid("kNN")


def test_rows_are_found_again_until_what_they_depend_on_changes(tmp_path: Path) -> None:
    versions = {"bees": "1"}
    system = System("kNN", lambda _: [], lambda name: versions[name])
    plan, job = Plan(SETS, {"kNN": system}, cache=tmp_path), Job(CELL, "bees", "kNN")
    plan.path(job).write_text('{"recall": 1.0}\n')
    assert rows_of(plan, CELL, ["bees"], ["kNN"]) == {"bees": {"kNN": [{"recall": 1.0}]}}
    versions["bees"] = "2"
    assert rows_of(plan, CELL, ["bees"], ["kNN"]) == {}
    assert not Plan(("bees",), {"kNN": system}, cache=tmp_path).path(job).exists()
