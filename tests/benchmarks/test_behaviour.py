"""The fingerprint of behaviour: what changes it, and that every committed result of what is shown carries it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import __main__ as parts
from benchmarks import behaviour
from benchmarks.behaviour import FIELD, StaleResultError
from benchmarks.report import committed
from retrivex.evaluation.questions.evidence import Evidence, EvidenceSet, Question

BEES = "Bees dance to tell where flowers are. The queen lays eggs in cells of wax. Drones leave in summer. " * 9


def use_documents(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    questions = [Question(str(n), "Where does the queen lay eggs?", (Evidence("bees", 0, 20),)) for n in range(4)]
    toy = EvidenceSet("toy", {"bees": text}, tuple(questions), ())
    monkeypatch.setattr(behaviour, "load_set", lambda name, data: toy)
    monkeypatch.setattr(behaviour, "SETS", ("toy",))


def test_the_fingerprint_is_of_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    use_documents(monkeypatch, BEES)
    first = behaviour.measured()
    assert behaviour.measured() == first
    monkeypatch.setattr(behaviour, "EFFORTS", ("standard", "lean"))
    assert behaviour.measured() != first
    monkeypatch.setattr(behaviour, "EFFORTS", ("standard", "full"))
    use_documents(monkeypatch, BEES.replace("eggs", "her eggs"))
    assert behaviour.measured() != first


def test_vectors_and_words_are_both_composed(monkeypatch: pytest.MonkeyPatch) -> None:
    use_documents(monkeypatch, BEES)
    made = list(behaviour.compositions())
    assert len(made) == 4 * len(behaviour.EFFORTS)
    assert len({one.token_budget for one in made}) == 4


def test_a_result_of_another_behaviour_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(behaviour, "KEPT", tmp_path / "behaviour.json")
    behaviour.KEPT.write_text(json.dumps({FIELD: "today"}), encoding="utf-8")
    path = tmp_path / "evidence.json"
    for found in ({FIELD: "yesterday"}, {}):
        path.write_text(json.dumps(found), encoding="utf-8")
        with pytest.raises(StaleResultError, match=r"evidence\.json was measured with the behaviour"):
            behaviour.load(path)
    path.write_text(json.dumps({FIELD: "today", "cells": []}), encoding="utf-8")
    assert behaviour.load(path)["cells"] == []


def test_every_committed_result_of_what_is_shown_carries_the_fingerprint() -> None:
    names = {path.stem for path in committed.RESULTS.glob("*.json")} - {"behaviour"}
    of_behaviour = names - committed.OF_TIME_AND_FAULTS
    assert {"evidence", "evidence_grid", "effort", "ablations", "fusion", "calibration", "reliability"} <= of_behaviour
    for name in of_behaviour:
        committed.result(name)
    for path in committed.RESULTS.glob("*/manifest.json"):
        committed.manifest(path.parent.name)


def test_the_parts_of_the_whole_run_write_every_result_of_what_is_shown() -> None:
    written = {name for names in parts.PARTS.values() for name in names}
    there = {path.name for path in committed.RESULTS.glob("*.json")} - {"behaviour.json"}
    runs = {f"{path.parent.name}/manifest.json" for path in committed.RESULTS.glob("*/manifest.json")}
    of_behaviour = {name for name in there if Path(name).stem not in committed.OF_TIME_AND_FAULTS}
    assert of_behaviour | runs == written
