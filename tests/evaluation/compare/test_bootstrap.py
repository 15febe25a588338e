from __future__ import annotations

import numpy as np
import pytest

from retrivex.errors import RetrivexError
from retrivex.evaluation.compare.bootstrap import mean_of_sets, paired_bootstrap, resampled_means


def test_a_clear_difference_is_sure() -> None:
    found = paired_bootstrap([1.0] * 90 + [0.0] * 10, [0.0] * 100)
    assert found.mean == pytest.approx(0.9)
    assert found.significant
    assert found.share_above == 1
    assert 0.8 < found.low < 0.9 < found.high < 1.0


def test_no_difference_is_not_sure() -> None:
    rng = np.random.default_rng(1)
    found = paired_bootstrap(rng.normal(size=200), rng.normal(size=200))
    assert not found.significant


def test_the_interval_has_the_width_that_theory_says() -> None:
    values = np.random.default_rng(2).normal(size=400)
    found = paired_bootstrap(values, np.zeros(400))
    assert found.high - found.low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.05)


def test_pairs_count_and_not_the_two_spreads() -> None:
    base = np.random.default_rng(3).normal(scale=10, size=100)
    assert paired_bootstrap(base + 0.1, base).significant


def test_equal_seeds_give_equal_intervals() -> None:
    ours, theirs = [0.1, 0.9, 0.4, 0.3, 0.7], [0.3, 0.2, 0.5, 0.1, 0.6]
    assert paired_bootstrap(ours, theirs, seed=5) == paired_bootstrap(ours, theirs, seed=5)
    assert paired_bootstrap(ours, theirs, seed=5) != paired_bootstrap(ours, theirs, seed=6)


def test_many_questions_are_drawn_block_by_block() -> None:
    means = resampled_means(np.arange(30_000, dtype=float), resamples=300, seed=0)
    assert means.shape == (300,)
    assert means.mean() == pytest.approx(15_000, rel=0.01)


def test_every_set_counts_the_same_whatever_its_size() -> None:
    found = mean_of_sets([[1.0] * 10, [0.0] * 1000], [[0.0] * 10, [0.0] * 1000])
    assert found.mean == pytest.approx(0.5)
    assert (found.low, found.high, found.questions) == (0.5, 0.5, 1010)


def test_every_set_is_resampled_by_draws_of_its_own() -> None:
    figures = np.random.default_rng(5).normal(size=100)
    one = paired_bootstrap(figures, np.zeros(100))
    two = mean_of_sets([figures, figures], [np.zeros(100)] * 2)
    assert (two.high - two.low) / (one.high - one.low) == pytest.approx(0.5**0.5, rel=0.05)


@pytest.mark.parametrize(("ours", "theirs"), [([1.0], [1.0, 2.0]), ([], []), ([[1.0]], [[1.0]])])
def test_figures_that_do_not_match(ours: list[float], theirs: list[float]) -> None:
    with pytest.raises(RetrivexError, match="one figure per question"):
        paired_bootstrap(ours, theirs)


def test_a_figure_that_is_not_finite() -> None:
    with pytest.raises(RetrivexError, match="not finite"):
        paired_bootstrap([float("nan")], [0.0])


def test_other_sets_than_those_compared_with() -> None:
    with pytest.raises(RetrivexError, match="the same sets twice"):
        mean_of_sets([[1.0]], [])
