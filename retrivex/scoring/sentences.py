"""What a sentence model says of units: log-odds that are added to the calibrated scorer's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from retrivex.merging.units import Units
from retrivex.rerank.protocol import ScoredSentence

REASON = "sentence model"
"""What the trace calls the addend; `feature_words` has it in words."""

WEIGHT = 0.5
"""Of the model's log-odds. Added in full, they would count as evidence that is independent of what the scorer knows.
Both read the same words, so much of it is the same evidence twice: the mean of full weight and none. Not fitted."""

LEAST = 0.05
"""Probabilities nearer to 0 or 1 count as this far from it: models that only keep or drop say 1 and 0, and are not as
sure."""

MIN_READ = 0.5
"""Share of a unit's characters that the model must have read: of less, it does not judge the unit."""


def sentence_log_odds(units: Units, sentences: Sequence[Sequence[ScoredSentence]]) -> NDArray[np.float64]:
    r"""Return what a sentence model adds to the log-odds of units, shape (n,).

    .. math:: \frac{1}{2} \left(\operatorname{logit} p_i - \overline{\operatorname{logit} p}\right)

    p of a unit is the mean over the sentences that it holds, by their characters; the mean is over all units that the
    model read, so that it moves them against one another and not against the others. Units that it did not read stay.

    Parameters
    ----------
    units : n units
    sentences : of each run, with offsets in its text
    """
    read, weighed = np.zeros(len(units)), np.zeros(len(units))
    firsts = units.run.searchsorted(np.arange(len(sentences) + 1))
    for run, some in enumerate(sentences):
        low, high = int(firsts[run]), int(firsts[run + 1])
        for start, end, probability in some:
            first = low + int(units.end[low:high].searchsorted(start, side="right"))
            last = low + int(units.start[low:high].searchsorted(end, side="left"))
            inside = np.minimum(units.end[first:last], end) - np.maximum(units.start[first:last], start)
            read[first:last] += inside
            weighed[first:last] += inside * probability
    made = np.zeros(len(units))
    known = read >= MIN_READ * (units.end - units.start)
    if known.any():
        p = np.clip(weighed[known] / read[known], LEAST, 1 - LEAST)
        odds = np.log(p / (1 - p))
        made[known] = WEIGHT * (odds - odds.mean())
    return made


def with_reason(reasons: Sequence[tuple[str, float]], moved: float) -> tuple[tuple[str, float], ...]:
    """Return a unit's reasons with what a sentence model added among them, the largest first."""
    return tuple(sorted([*reasons, (REASON, moved)], key=lambda reason: -abs(reason[1])))
