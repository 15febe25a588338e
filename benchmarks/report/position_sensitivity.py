"""Whether a measure depends on the position of the evidence, by a permutation test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from retrivex.errors import RetrivexError


@dataclass(frozen=True, slots=True)
class PositionSensitivity:
    """How much a measure depends on the position of the evidence.

    Parameters
    ----------
    spread : mean at the best place, less mean at the worst
    best, worst : those places
    by_chance : the mean spread if places did not matter
    p : share of the permutations with a spread at least as wide: small where places matter
    """

    spread: float
    best: float
    worst: float
    by_chance: float
    p: float

    @property
    def seen(self) -> bool:
        """Whether the spread is more than noise, at the level of 5 %."""
        return self.p < 0.05


def position_sensitivity(
    figures: Mapping[float, ArrayLike], *, permutations: int = 2_000, seed: int = 0
) -> PositionSensitivity:
    """Return how far apart the best and the worst place are, and how far they would be by chance.

    The same questions are asked with their needle at every place, so that, if places do not matter, the figures of a
    question may be permuted among the places: a permutation test. Source: Good, "Permutation, Parametric and Bootstrap
    Tests of Hypotheses", 2005, section 6.2 (blocked comparisons).

    Parameters
    ----------
    figures : place (depth) -> shape (n,), a figure for each question, the same questions in the same order at each
    permutations : how many are drawn
    seed : of the draws

    Raises
    ------
    RetrivexError
        If there are fewer than two places, their questions differ in number, or a figure is not finite.

    Examples
    --------
    >>> found = position_sensitivity({0: [1, 1, 1, 1, 1, 1], 50: [0, 0, 0, 0, 0, 0], 100: [1, 1, 1, 1, 1, 1]})
    >>> found.spread, found.worst, found.seen
    (1.0, 50, True)
    >>> position_sensitivity({0: [1, 0], 100: [1, 0]}).p
    1.0
    """
    places = sorted(figures)
    rows = [np.asarray(figures[place], dtype=np.float64) for place in places]
    if len(rows) < 2 or any(row.ndim != 1 or row.shape != rows[0].shape or not len(row) for row in rows):
        raise RetrivexError(
            f"figures at {len(rows)} places with {[row.size for row in rows]} questions: give the same questions at "
            "two places or more"
        )
    table = np.stack(rows, axis=1)  # questions x places
    if not np.isfinite(table).all():
        raise RetrivexError("a figure is not finite: leave out questions that could not be measured")
    means = table.mean(axis=0)
    draws = np.random.default_rng(seed)
    shuffled = [np.ptp(draws.permuted(table, axis=1).mean(axis=0)) for _ in range(permutations)]
    spread = float(np.ptp(means))
    as_wide = sum(bool(found >= spread - 1e-12) for found in shuffled)
    return PositionSensitivity(
        spread,
        places[int(means.argmax())],
        places[int(means.argmin())],
        float(np.mean(shuffled)),
        (1 + as_wide) / (1 + permutations),  # the figures as they are count as one permutation
    )
