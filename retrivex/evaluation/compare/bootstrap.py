r"""The paired bootstrap over questions: a difference between two systems with its confidence interval.

Both systems answered the same questions, so that the difference of each question is what is resampled:
:math:`\bar d^{*} = \frac1n \sum_i d_{r_i}` with :math:`r_i` drawn from the questions with replacement. Source: Efron &
Tibshirani, "An Introduction to the Bootstrap", 1993, chapters 8 and 13 (percentile interval).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retrivex.errors import RetrivexError

_BLOCK = 4_000_000  # random numbers drawn at a time, so that memory stays small


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of ours - theirs, with its confidence interval.

    Parameters
    ----------
    mean : of the differences
    low, high : bounds of the interval
    share_above : share of the resamples whose mean is above 0
    questions : how many were compared
    """

    mean: float
    low: float
    high: float
    share_above: float
    questions: int

    @property
    def significant(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0

    sure = significant  # its name until version 0.2


def paired_bootstrap(
    ours: ArrayLike, theirs: ArrayLike, *, resamples: int = 10_000, level: float = 0.95, seed: int = 0
) -> Difference:
    """Return the mean difference of two systems with its bootstrap interval.

    Parameters
    ----------
    ours, theirs : shape (n,), n >= 1, a figure per question, the same questions in the same order
    resamples : how many samples are drawn
    level : share of the resamples that the interval holds
    seed : of the draws; equal seeds give equal intervals

    Raises
    ------
    RetrivexError
        If the two do not match, are empty, or hold something that is not finite.

    Examples
    --------
    >>> found = paired_bootstrap([1.0, 1.0, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0])
    >>> found.mean, found.low, found.high, found.significant
    (0.375, 0.0, 0.75, False)
    """
    differences = _differences(ours, theirs)
    means = resampled_means(differences, resamples=resamples, seed=seed)
    return _interval(means, float(differences.mean()), level, len(differences))


def mean_of_sets(
    ours: Sequence[ArrayLike],
    theirs: Sequence[ArrayLike],
    *,
    resamples: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
) -> Difference:
    """Return the difference of the means over several sets, every set counting the same.

    Questions are resampled within their set.

    Examples
    --------
    >>> mean_of_sets([[1, 1], [0, 0, 0, 0]], [[0, 0], [0, 0, 0, 0]]).mean
    0.5
    """
    if not ours or len(ours) != len(theirs):
        raise RetrivexError(f"{len(ours)} and {len(theirs)} sets: give the same sets twice, at least one")
    sets = [_differences(a, b) for a, b in zip(ours, theirs, strict=True)]
    means = np.mean(
        [resampled_means(part, resamples=resamples, seed=seed + at) for at, part in enumerate(sets)], axis=0
    )
    return _interval(means, float(np.mean([part.mean() for part in sets])), level, sum(map(len, sets)))


def resampled_means(values: NDArray[np.float64], *, resamples: int, seed: int) -> NDArray[np.float64]:
    """Return the means of `resamples` samples drawn from `values` with replacement, shape (resamples,)."""
    draws = np.random.default_rng(seed)
    step = max(1, _BLOCK // len(values))
    blocks = [
        values[draws.integers(0, len(values), (min(step, resamples - at), len(values)))].mean(axis=1)
        for at in range(0, resamples, step)
    ]
    return np.concatenate(blocks)


def _interval(means: NDArray[np.float64], mean: float, level: float, questions: int) -> Difference:
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Difference(mean, float(low), float(high), float((means > 0).mean()), questions)


def _differences(ours: ArrayLike, theirs: ArrayLike) -> NDArray[np.float64]:
    first, second = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1 or not len(first):
        raise RetrivexError(
            f"figures of shapes {first.shape} and {second.shape}: give one figure per question, for the same questions"
        )
    differences: NDArray[np.float64] = first - second
    if not np.isfinite(differences).all():
        raise RetrivexError("a figure is not finite: leave out questions that could not be measured")
    return differences
