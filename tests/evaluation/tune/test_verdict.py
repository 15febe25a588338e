"""What tuning takes for an improvement: the interval and the test of random signs must both say so."""

from __future__ import annotations

import numpy as np
import pytest

from retrivex.evaluation.compare.bootstrap import Difference, paired_bootstrap
from retrivex.evaluation.tune.tuning import MAX_CHANCE, chance_of, judge


def test_a_clear_improvement_is_accepted() -> None:
    gains = np.array([0.5, 0.2, 0.0, 0.4, 0.3, 0.6, -0.1, 0.5, 0.2, 0.4])
    accepted, reason = judge(paired_bootstrap(gains, np.zeros(10)), chance_of(gains))
    assert accepted
    assert reason.startswith("better on the questions held back (+0.300, 95 % interval +")


@pytest.mark.parametrize("low", [0.0, -0.1])
def test_an_interval_that_holds_0_is_refused(low: float) -> None:
    accepted, reason = judge(Difference(0.2, low, 0.5, 0.9, 40), chance=0.0)
    assert (accepted, reason[:26]) == (False, "no significant improvement")


def test_four_gains_and_no_loss_are_refused_though_the_interval_lies_above_0() -> None:
    gains = np.array([1.0] * 4 + [0.0] * 36)
    found = paired_bootstrap(gains, np.zeros(40))
    assert found.low > 0
    accepted, reason = judge(found, chance_of(gains))
    assert (accepted, reason[:29]) == (False, "too few questions held back d")


@pytest.mark.parametrize("gains", [3, 5, 8])
def test_chance_is_that_of_so_many_coins(gains: int) -> None:
    differences = np.array([1.0] * gains + [0.0] * 10)
    assert chance_of(differences) == pytest.approx(0.5**gains, rel=0.25)
    assert chance_of(-differences) > 0.9
    assert (chance_of(differences) > MAX_CHANCE) == (gains <= 5)
