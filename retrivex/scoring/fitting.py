r"""Fitting the calibrated scorer: a weighted logistic regression with a ridge, by Newton's method.

Every question has the same weight. Its evidence weighs as much as the rest of its candidates, and a unit as much as the
share of the question's evidence that it holds:

.. math:: \min_w \; -\sum_q \Bigl( \sum_i e_{qi} \log p_{qi} + \tfrac{1}{n_q} \sum_{i: e_{qi} = 0}
    \log (1 - p_{qi}) \Bigr) + \tfrac{\lambda}{2} \lVert w \rVert^2

with features at unit variance. The intercept is then lowered by `PRIOR`, from even odds towards the few units of a
query that really hold evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import RetrivexError
from retrivex.scoring.calibrated import Coefficients, probabilities
from retrivex.scoring.confidence import HitKind

Floats = NDArray[np.float64]

RIDGE = 0.05
"""Lambda per question: features overlap, and a model of one collection has to serve others."""

PRIOR = -2.5
"""What is added to the intercept of a model fitted at even odds, in log-odds."""

SHARPNESS = (0.2, 5.0)
"""Range in which the sharpness is looked for."""

_GOLDEN = (5**0.5 - 1) / 2
_CLOSE_ENOUGH = 0.01
_STEPS = 50
_CLOSE = 1e-7


@dataclass(frozen=True, slots=True)
class Sample:
    """One question's candidates and where its evidence lies.

    Parameters
    ----------
    values : features, shape (n, f)
    evidence : share of the question's evidence that lies in each unit, shape (n,); all 0 where none was reached
    question : shape (4,), of `describe_question`
    kind : of the hits
    counts : shape (n,), how many units each stands for, where some were left out; None where each stands for itself
    """

    values: Floats
    evidence: Floats
    question: Floats = field(default_factory=lambda: np.zeros(4))
    kind: HitKind = "other"
    counts: Floats | None = None

    @property
    def multiplicity(self) -> Floats:
        """How many units each stands for, shape (n,)."""
        return np.ones(len(self.evidence)) if self.counts is None else self.counts


def _weighted_rows(samples: Sequence[Sample]) -> tuple[Floats, Floats, Floats]:
    """Rows, labels and weights of all questions that have evidence among their candidates, and something else too."""
    rows, labels, weights = [], [], []
    for sample in samples:
        rest = sample.evidence <= 0
        total = float(sample.evidence.sum())
        if total <= 0 or not rest.any():
            continue
        rows += [sample.values[~rest], sample.values[rest]]
        labels += [np.ones(int((~rest).sum())), np.zeros(int(rest.sum()))]
        counts = sample.multiplicity[rest]
        weights += [sample.evidence[~rest] / total, counts / counts.sum()]
    if not rows:
        raise RetrivexError(
            "no question has evidence among its candidates and something else beside it: give more questions, or more "
            "hits to each"
        )
    return np.concatenate(rows).astype(np.float64), np.concatenate(labels), np.concatenate(weights)


def fit(samples: Sequence[Sample], *, ridge: float = RIDGE, fitted: Mapping[str, Any] | None = None) -> Coefficients:
    """Fit the model to questions with evidence.

    Parameters
    ----------
    samples : one for each question; those whose candidates hold no evidence serve the confidence only
    ridge : lambda per question
    fitted : provenance to be kept with the coefficients

    Raises
    ------
    RetrivexError
        If no question can be used.
    """
    rows, labels, weights = _weighted_rows(samples)
    means = np.average(rows, axis=0, weights=weights)
    spread = np.sqrt(np.average((rows - means) ** 2, axis=0, weights=weights))
    spread[spread < 1e-6] = np.inf  # a constant says nothing: its weight is 0
    scaled = np.column_stack([(rows - means) / spread, np.ones(len(rows))])
    solved = _newton(scaled, labels, weights, ridge * float(weights.sum()) / 2)
    slopes = solved[:-1] / spread
    made = Coefficients(slopes, float(solved[-1] - means @ slopes) + PRIOR, means, fitted=dict(fitted or {}))
    return replace(made, confidence=_fit_confidence(made, samples), sharpness=_fit_sharpness(made, samples))


def _newton(rows: Floats, labels: Floats, weights: Floats, ridge: float) -> Floats:
    """Minimise the weighted logistic loss; the last column is the intercept, which has no ridge."""
    penalty = np.full(rows.shape[1], ridge)
    penalty[-1] = 0.0
    solved = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        p = probabilities(rows @ solved)
        slope = rows.T @ (weights * (p - labels)) + penalty * solved
        curve = (rows * (weights * p * (1 - p))[:, None]).T @ rows
        curve[np.diag_indices_from(curve)] += penalty + 1e-9
        step = np.linalg.solve(curve, slope)
        solved -= step
        if float(np.abs(step).max()) < _CLOSE:
            break
    return solved


def _fit_confidence(model: Coefficients, samples: Sequence[Sample]) -> dict[HitKind, tuple[float, ...]]:
    """Fit the confidence for each kind of hits that there is something to learn for."""
    made: dict[HitKind, tuple[float, ...]] = {}
    for kind in ("embeddings", "words"):
        row = _fit_one_confidence(model, [sample for sample in samples if sample.kind == kind])
        if row is not None:
            made[kind] = row
    return made


def _fit_one_confidence(model: Coefficients, samples: Sequence[Sample]) -> tuple[float, ...] | None:
    """Logistic regression at unit variance with a small ridge; None where there is nothing to tell apart."""
    asked = [s for s in samples if len(s.values)]
    holds = np.array([float(s.evidence.sum() > 0) for s in asked])
    if not len(asked) or holds.min() == holds.max():
        return None
    rows = np.array([[float(model.log_odds(s.values).max()), *s.question] for s in asked])
    means, spread = rows.mean(axis=0), rows.std(axis=0)
    spread[spread < 1e-6] = np.inf
    solved = _newton(np.column_stack([(rows - means) / spread, np.ones(len(rows))]), holds, np.ones(len(rows)), 1.0)
    slopes = solved[:-1] / spread
    return (*slopes.tolist(), float(solved[-1] - means @ slopes))


def _fit_sharpness(model: Coefficients, samples: Sequence[Sample]) -> float:
    """Return the power of probabilities that gives the evidence the greatest likelihood; 1 where there is none."""
    known = [
        (np.log(probabilities(model.log_odds(s.values))), s.evidence / s.evidence.sum(), np.log(s.multiplicity))
        for s in samples
        if s.evidence.sum() > 0
    ]
    if not known:
        return 1.0

    def loss(power: float) -> float:
        return sum(_log_sum(power * logs + counts) - power * float(logs @ share) for logs, share, counts in known)

    low, high = SHARPNESS
    while high - low > _CLOSE_ENOUGH:  # golden section: the loss is convex
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        low, high = (low, right) if loss(left) < loss(right) else (left, high)
    return (low + high) / 2


def _log_sum(logs: Floats) -> float:
    """Return the logarithm of the sum of what logarithms stand for."""
    most = float(logs.max())
    return most + float(np.log(np.exp(logs - most).sum()))
