"""Fitting on made-up questions whose evidence is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from retrivex import RetrivexError
from retrivex.scoring.calibrated import Coefficients
from retrivex.scoring.features import NAMES
from retrivex.scoring.fitting import Sample, fit

SIZE = len(NAMES)


def sample(rng: np.random.Generator, size: int = 30, column: int = 3, strength: float = 3.0) -> Sample:
    """One question whose evidence stands out in one feature."""
    values = rng.normal(size=(size, SIZE))
    evidence = np.zeros(size)
    evidence[rng.integers(size)] = 1.0
    values[evidence > 0, column] += strength
    return Sample(values, evidence, kind="words")


def samples(count: int, seed: int = 0, **said: float) -> list[Sample]:
    rng = np.random.default_rng(seed)
    return [sample(rng, **said) for _ in range(count)]  # type: ignore[arg-type]


def test_a_planted_direction_is_found() -> None:
    made = fit(samples(200))
    assert int(np.argmax(np.abs(made.weights))) == 3
    assert made.weights[3] > 5 * np.abs(np.delete(made.weights, 3)).max()
    held_back = samples(50, seed=1)
    first = [int(np.argmax(made.log_odds(s.values))) == int(np.argmax(s.evidence)) for s in held_back]
    assert np.mean(first) > 0.5


def test_what_is_planted_the_other_way_has_a_negative_weight() -> None:
    assert fit(samples(100, strength=-3.0)).weights[3] < 0


def same(left: Coefficients, right: Coefficients) -> None:
    np.testing.assert_allclose(left.weights, right.weights, atol=1e-6)
    assert left.intercept == pytest.approx(right.intercept, abs=1e-6)


def test_a_question_weighs_the_same_however_many_candidates_it_has() -> None:
    few = samples(40)
    more = [Sample(np.repeat(s.values, 3, axis=0), np.repeat(s.evidence, 3)) for s in few[:20]] + few[20:]
    same(fit(few), fit(more))


def test_evidence_is_a_share_whatever_it_sums_to() -> None:
    some = samples(40)
    same(fit(some), fit([Sample(s.values, s.evidence * 7) for s in some]))


def test_the_order_of_questions_does_not_matter() -> None:
    some = samples(30)
    same(fit(some), fit(some[::-1]))


def test_a_constant_feature_has_no_weight() -> None:
    some = samples(30)
    for one in some:
        one.values[:, 5] = 4.0
    made = fit(some)
    assert made.weights[5] == 0.0
    assert np.isfinite(made.weights).all()


def test_a_stronger_ridge_makes_smaller_weights() -> None:
    some = samples(30)
    assert np.abs(fit(some, ridge=5.0).weights).sum() < np.abs(fit(some, ridge=0.01).weights).sum()


def test_confidence_tells_questions_with_evidence_from_those_without() -> None:
    rng = np.random.default_rng(0)
    without = [Sample(rng.normal(size=(30, SIZE)), np.zeros(30), kind="words") for _ in range(100)]
    made = fit([*samples(100), *without])

    def confidence_of(values: Any) -> float:
        confidence = made.confidence_of(float(made.log_odds(values).max()), np.zeros(4), "words")
        assert confidence is not None
        return confidence

    held = [confidence_of(s.values) for s in samples(40, seed=3)]
    none = [confidence_of(rng.normal(size=(30, SIZE))) for _ in range(40)]
    assert np.mean(held) > np.mean(none) + 0.1
    assert set(made.confidence) == {"words"}
    assert made.confidence["words"][0] > 0


def test_where_every_question_has_evidence_there_is_no_confidence() -> None:
    assert fit(samples(20)).confidence == {}


def test_provenance_is_kept() -> None:
    assert fit(samples(5), fitted={"questions": 5}).fitted == {"questions": 5}


@pytest.mark.parametrize("evidence", [0.0, 1.0], ids=["none of them is evidence", "all of them are"])
def test_one_class_only_is_refused(evidence: float) -> None:
    rng = np.random.default_rng(0)
    same_all = [Sample(rng.normal(size=(4, SIZE)), np.full(4, evidence)) for _ in range(3)]
    with pytest.raises(RetrivexError, match="no question has evidence among its candidates and something else"):
        fit(same_all)


def test_no_questions_are_refused() -> None:
    with pytest.raises(RetrivexError, match="give more questions"):
        fit([])
