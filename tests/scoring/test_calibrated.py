"""The model and its file."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex import RetrivexError
from retrivex.scoring.calibrated import (
    Coefficients,
    as_confidence,
    load_coefficients,
    probabilities,
    shipped_coefficients,
)
from retrivex.scoring.confidence import HitKind
from retrivex.scoring.document_match import DOCUMENT_FEATURES
from retrivex.scoring.features import NAMES

SIZE = len(NAMES)


def model(seed: int = 0) -> Coefficients:
    rng = np.random.default_rng(seed)
    return Coefficients(
        rng.normal(size=SIZE), -1.5, rng.normal(size=SIZE), as_confidence((1.2, 0.4)), {"on": "nothing"}
    )


def written(path: Path, **changes: Any) -> Path:
    path.write_text(json.dumps({**model().to_dict(), **changes}), encoding="utf-8")
    return path


def test_the_shipped_model_is_of_this_version() -> None:
    shipped = shipped_coefficients()
    assert shipped.weights.shape == shipped.means.shape == (SIZE,)
    assert shipped.fitted, "the file says on what it was fitted"
    assert load_coefficients(None) is shipped


QUIET = np.zeros(4)


def test_a_confidence_of_a_slope_and_an_intercept_reads_the_best_log_odds_alone() -> None:
    made = Coefficients(np.zeros(SIZE), 0.0, np.zeros(SIZE), as_confidence((2.0, -1.0)))
    kinds: tuple[HitKind, ...] = ("embeddings", "words", "other")
    for kind in kinds:
        assert made.confidence_of(0.5, QUIET, kind) == 0.5
        assert made.confidence_of(1.0, QUIET + 9, kind) == pytest.approx(1 / (1 + math.exp(-1.0)))


def test_each_kind_of_hits_has_a_confidence_of_its_own_or_none() -> None:
    known = as_confidence({"words": [0] * 6, "embeddings": [0, 3.0, 0, 0, 0, -3.0]})
    made = Coefficients(np.zeros(SIZE), 0.0, np.zeros(SIZE), known)
    assert made.confidence_of(5.0, QUIET + 1, "words") == 0.5
    assert made.confidence_of(5.0, QUIET + 1, "embeddings") == 0.5
    unlikely = made.confidence_of(5.0, QUIET, "embeddings")
    assert unlikely is not None
    assert unlikely < 0.05
    assert made.confidence_of(5.0, QUIET, "other") is None


def test_a_file_from_before_the_features_of_documents_reads_none(tmp_path: Path) -> None:
    older = load_coefficients("0.2")
    assert not older.reads_documents
    assert older.weights.shape == (SIZE,)
    assert not older.weights[-len(DOCUMENT_FEATURES) :].any()
    path = tmp_path / "older.json"
    path.write_text(json.dumps(older.to_dict()), encoding="utf-8")
    assert not set(DOCUMENT_FEATURES) & set(older.to_dict()["features"])
    assert not load_coefficients(path).reads_documents
    assert shipped_coefficients().reads_documents


def test_a_model_survives_its_file(tmp_path: Path) -> None:
    read = load_coefficients(written(tmp_path / "model.json"))
    np.testing.assert_allclose(read.weights, model().weights)
    np.testing.assert_allclose(read.means, model().means)
    assert (read.intercept, dict(read.fitted)) == (-1.5, {"on": "nothing"})
    assert read.confidence == as_confidence((1.2, 0.4))
    assert read.to_dict() == model().to_dict()


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = written(tmp_path / "model.json")
    assert load_coefficients(path).intercept == -1.5
    written(path, intercept=2.0)
    os.utime(path, ns=(1, 1))
    assert load_coefficients(str(path)).intercept == 2.0


def _without(name: str) -> dict[str, Any]:
    return {key: value for key, value in model().to_dict()["features"].items() if key != name}


def _broken(name: str, feature: Any) -> dict[str, Any]:
    return {**model().to_dict()["features"], name: feature}


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"format": 99}, "have format 99: this version reads format 1"),
        ({"format": None}, "have format None"),
        ({"format": "x" * 9999}, "have format 'xxx"),
        ({"intercept": "x" * 9999}, "are broken"),
        ({"features": _broken("x" * 9999, {})}, "other features than this version has"),
        ({"features": _without("words")}, r"fitted for other features than this version has \(words\): leave"),
        (
            {"features": _broken("phase of the moon", {"weight": 1, "mean": 0})},
            r"other features than this version has \(phase of the moon\)",
        ),
        ({"features": _broken("words", {"weight": 1})}, "are broken"),
        ({"features": _broken("words", {"weight": "much", "mean": 0})}, "are broken"),
        ({"features": _broken("words", {"weight": math.inf, "mean": 0})}, "not finite"),
        ({"intercept": "high"}, "are broken"),
        ({"intercept": math.nan}, "not finite"),
        ({"confidence": [1.0]}, "are broken"),
        ({"confidence": {"words": [0.0] * 5}}, "are broken"),
        ({"confidence": {"smells": [0.0] * 6}}, "are broken"),
        ({"confidence": {"words": [math.nan] * 6}}, "not finite"),
        ({"sharpness": "high"}, "are broken"),
        ({"sharpness": math.inf}, "not finite"),
        ({"fewest_hits": math.inf}, "are broken"),
        ({"fewest_hits": 2.5}, "are broken"),
        ({"fewest_hits": -1}, "fewest_hits -1"),
        ({"fewest_hits": 10**4000}, "fewest_hits 1000"),
        ({"intercept": 10**400}, "are broken"),
        ({"confidence": [10**400, 0]}, "are broken"),
        ({"features": _broken("words", {"weight": 0, "mean": 10**400})}, "are broken"),
        ({"features": _broken("words", {"weight": 1e300, "mean": 0})}, r"hold the number 1e\+300: none may be beyond"),
        ({"sharpness": 0}, "have sharpness 0"),
        ({"sharpness": -1}, "have sharpness -1"),
        ({"sharpness": 1e-300}, "have sharpness 1e-300"),
    ],
)
def test_a_bad_file_is_refused_by_name(tmp_path: Path, changes: dict[str, Any], match: str) -> None:
    path = written(tmp_path / "bad.json", **changes)
    with pytest.raises(RetrivexError, match=match) as error:
        load_coefficients(path)
    assert "bad.json" in str(error.value)
    assert len(str(error.value)) < 500


def test_no_file_and_no_json_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RetrivexError, match=r"none\.json cannot be read"):
        load_coefficients(tmp_path / "none.json")
    (tmp_path / "words.json").write_text("words", encoding="utf-8")
    with pytest.raises(RetrivexError, match=r"words\.json cannot be read"):
        load_coefficients(tmp_path / "words.json")
    (tmp_path / "list.json").write_text("[]", encoding="utf-8")
    with pytest.raises(RetrivexError, match="have format 'list'"):
        load_coefficients(tmp_path / "list.json")


@given(st.integers(0, 99))
def test_all_reasons_add_up_to_the_log_odds(seed: int) -> None:
    row = np.random.default_rng(seed).normal(size=SIZE)
    made = model(seed)
    moved = sum(value for _, value in made.reasons(row, SIZE))
    usual = float(made.log_odds(made.means[None, :])[0])
    assert usual + moved == pytest.approx(float(made.log_odds(row[None, :])[0]))


def test_the_strongest_reasons_come_first() -> None:
    reasons = model().reasons(np.ones(SIZE), 5)
    sizes = [abs(value) for _, value in reasons]
    assert len(reasons) == 5
    assert sizes == sorted(sizes, reverse=True)
    assert {name for name, _ in reasons} <= set(NAMES)
    assert model().reasons(model().means, 3)[0][1] == 0.0


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=9))
def test_probabilities_lie_between_0_and_1_and_rise(odds: list[float]) -> None:
    ordered = np.sort(np.array(odds))
    made = probabilities(ordered)
    assert ((made >= 0) & (made <= 1)).all()
    assert (np.diff(made) >= 0).all()
    np.testing.assert_allclose(made + probabilities(-ordered), 1.0)


@given(st.floats(-1e6, 1e6), st.floats(0, 100))
def test_confidence_is_a_probability_and_rises(odds: float, more: float) -> None:
    made = model()
    first, second = (made.confidence_of(said, QUIET, "words") for said in (odds, odds + more))
    assert first is not None
    assert second is not None
    assert 0.0 <= first <= second <= 1.0


def test_log_odds_of_no_rows() -> None:
    assert model().log_odds(np.zeros((0, SIZE))).shape == (0,)
