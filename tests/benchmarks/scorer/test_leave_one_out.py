"""Each public set is measured with coefficients that were fitted without it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.evidence import systems
from benchmarks.evidence.index import SETS
from benchmarks.evidence.systems import CALIBRATION, coefficients, retrivex_systems
from benchmarks.scorer import calibrate
from benchmarks.scorer.calibrate import fit_without
from retrivex import Chunk, ChunkMetadata, SeedHit, SpanComposer
from retrivex.evaluation.run import Case, Index
from retrivex.scoring.calibrated import load_coefficients
from retrivex.scoring.features import NAMES
from retrivex.scoring.fitting import Sample, fit


def samples(name: str, seed: int, count: int = 12) -> list[tuple[str, Sample]]:
    """Draw questions of a set: what tells its evidence is another feature than in other sets."""
    draws = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        values, evidence = draws.normal(size=(6, len(NAMES))), np.eye(6)[0]
        values[0, seed] += 3.0
        made.append((name, Sample(values, evidence)))
    return made


DRAWN = [*samples(SETS[0], 0), *samples(SETS[1], 1), *samples(SETS[2], 2)]


def test_a_model_fitted_without_a_set_knows_nothing_of_it() -> None:
    made = fit_without(SETS[0], DRAWN, {"date": "today"})
    others = fit([sample for name, sample in DRAWN if name != SETS[0]])
    assert (made.weights == others.weights).all()
    assert made.fitted == {"date": "today", "sets": list(SETS[1:3]), "questions": dict.fromkeys(SETS[1:3], 12)}
    assert fit_without(None, DRAWN, {}).fitted["sets"] == list(SETS[:3])


def test_every_set_gets_the_file_of_a_model_fitted_without_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(calibrate, "SETS", SETS[:3])
    monkeypatch.setattr(calibrate, "FITTED", SETS[:3])
    monkeypatch.setattr(calibrate, "SITUATIONS", calibrate.SITUATIONS[:1])
    monkeypatch.setattr(calibrate, "RESULTS", tmp_path)
    monkeypatch.setattr(calibrate, "SHIPPED", tmp_path / "shipped.json")
    monkeypatch.setattr(calibrate, "ProcessPoolExecutor", Here)
    monkeypatch.setattr(calibrate, "gather", lambda situation: DRAWN)
    monkeypatch.setattr(calibrate, "of_new_process", lambda: "today")
    monkeypatch.setattr(sys, "argv", ["calibrate"])
    calibrate.main()
    for name in SETS[:3]:
        expected = fit([sample for of, sample in DRAWN if of != name])
        assert (load_coefficients(tmp_path / "calibration" / f"{name}.json").weights == expected.weights).all()
    assert load_coefficients(tmp_path / "shipped.json").fitted["sets"] == list(SETS[:3])


class Here:
    """Does in this process what a pool would do in others."""

    def __init__(self, processes: int) -> None:
        self.map = map

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("name", SETS)
def test_every_set_is_measured_with_the_model_fitted_without_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[Path] = []

    def composer(config: Any) -> SpanComposer:
        used.append(config.coefficients)
        return SpanComposer(config)

    monkeypatch.setattr(systems, "SpanComposer", composer)
    chunk = Chunk("Bees sleep.", ChunkMetadata("d", 0, 0, 11), np.array([1.0]))
    vectors = np.array([[1.0]], dtype=np.float32)
    index = Index(
        {"d": chunk.text}, size=4, tokenizer=lambda text: len(text.split()), terms=str.split, chunks=[chunk],
        vectors=vectors,
    )  # fmt: skip
    case = Case("Do bees sleep?", [SeedHit(chunk, 1.0)], index, 50, "dense", vectors[0])
    fitted = [system for system in retrivex_systems(name) if "weighted" not in system.name]
    for system in fitted:
        system.ranges(case)
    assert len(fitted) == 3
    assert used == [CALIBRATION / f"{name}.json"] * 3
    assert name not in json.loads(used[0].read_text())["fitted"]["sets"]


def test_a_model_that_was_fitted_on_a_set_does_not_measure_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(systems, "CALIBRATION", tmp_path)
    made = fit_without(None, DRAWN, {})
    (tmp_path / "qmsum.json").write_text(json.dumps({**made.to_dict(), "fitted": {"sets": ["squad", "qmsum"]}}))
    with pytest.raises(ValueError, match=r"fitted on squad, qmsum: qmsum is measured by a model fitted without it"):
        coefficients("qmsum")
