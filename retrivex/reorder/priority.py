"""Priorities of passages: the normalised score, weighted with time, section and source reliability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Literal, TypeAlias, get_args

from pydantic import Field

from retrivex.errors import RetrivexError, quoted
from retrivex.model.numbers import finite
from retrivex.model.options import Options
from retrivex.reorder.passage import Candidate

Normalization: TypeAlias = Literal["none", "min_max", "z_score", "softmax"]


class Weights(Options):
    """Weights of score, time, section and source reliability; all but the score's default to 0.

    Examples
    --------
    >>> Weights(time=0.3).similarity
    1.0
    """

    similarity: float = Field(default=1.0, ge=0, description="weight of the score")
    time: float = Field(default=0.0, ge=0, description="weight of the timestamp: the newest counts 1, the oldest 0")
    section: float = Field(default=0.0, ge=0, description="weight of the section index: the last counts 1, the first 0")
    source_reliability: float = Field(default=0.0, ge=0, description="weight of the source's reliability, from 0 to 1")


def normalise_scores(scores: Sequence[float], method: Normalization, temperature: float = 1.0) -> list[float]:
    r"""Return scores that can be weighed against metadata.

    - `none`: as they are;
    - `min_max`: :math:`(s - \min) / (\max - \min)`, and 1 where all are equal;
    - `z_score`: :math:`(s - \mu) / \sigma` with the population's deviation, and 0 where all are equal;
    - `softmax`: :math:`e^{s / T} / \sum e^{s / T}`, with T the temperature.

    Parameters
    ----------
    scores : finite numbers
    temperature : T > 0, in units of the scores; a low one sharpens, a high one evens out

    Raises
    ------
    RetrivexError
        If a score is no finite number, the temperature is not positive, or there is no such method.

    Examples
    --------
    >>> normalise_scores([3.0, 1.0, 2.0], "min_max")
    [1.0, 0.0, 0.5]
    >>> normalise_scores([2.0, 4.0], "z_score")
    [-1.0, 1.0]
    """
    return _normalise(_check_arguments(scores, method, temperature), method, temperature)


def _normalise(scores: list[float], method: Normalization, temperature: float) -> list[float]:
    if method == "none" or not scores:
        return scores
    if method == "min_max":
        return _min_max(scores, equal=1.0)
    return _z_scores(scores) if method == "z_score" else _softmax(scores, temperature)


def _check_arguments(scores: Sequence[float], method: str, temperature: float) -> list[float]:
    if not isinstance(method, str) or method not in get_args(Normalization):
        raise RetrivexError(f"method is {quoted(method)}: choose one of {', '.join(get_args(Normalization))}")
    if not (finite(temperature) or 0) > 0:
        raise RetrivexError(f"temperature is {quoted(temperature)}: it must be a finite number above 0")
    try:
        given = list(scores)
    except TypeError:
        given = [math.nan]
    if None in map(finite, given):
        raise RetrivexError(f"scores are {quoted(scores)}: give a list of finite numbers")
    return given


def compute_priorities(
    candidates: Sequence[Candidate[Any]], weights: Weights, method: Normalization = "none", temperature: float = 1.0
) -> list[float]:
    r"""Return the priority of each candidate.

    .. math:: w_s \hat s + w_t \hat t + w_p \hat p + w_r \hat r

    with the normalised score, and timestamp, section index and reliability each brought to [0, 1] over those
    candidates that have one. The others, and all where all are equal, count 0.
    """
    scores = _normalise([candidate.score for candidate in candidates], method, temperature)
    total = [weights.similarity * score for score in scores]
    for weight, field in (
        (weights.time, "timestamp"),
        (weights.section, "section_index"),
        (weights.source_reliability, "source_reliability"),
    ):
        if weight:
            shares = _scale_known(list(map(attrgetter(field), candidates)))
            total = [sum_ + weight * share for sum_, share in zip(total, shares, strict=True)]
    return total


def _scale_known(values: Sequence[float | None]) -> list[float]:
    known = [value for value in values if value is not None]
    scaled = iter(_min_max(known, equal=0.0))
    return [0.0 if value is None else next(scaled, 0.0) for value in values]


def _min_max(values: Sequence[float], equal: float) -> list[float]:
    low, high = min(values, default=0.0), max(values, default=0.0)
    if low == high:
        return [equal] * len(values)
    if math.isinf(high - low):
        # halves of what is too far apart for a double
        return _min_max([value / 2 for value in values], equal)
    return [(value - low) / (high - low) for value in values]


def _z_scores(scores: Sequence[float]) -> list[float]:
    if min(scores) == max(scores):
        return [0.0] * len(scores)
    # by a power of two, which is exact: squares of huge scores would be infinite, those of tiny ones 0
    exponent = math.frexp(max(map(abs, scores)))[1]
    scaled = [math.ldexp(score, -exponent) for score in scores]
    mean = math.fsum(scaled) / len(scaled)
    deviation = math.sqrt(math.fsum((score - mean) ** 2 for score in scaled) / len(scaled))
    return [(score - mean) / deviation if deviation else 0.0 for score in scaled]


def _softmax(scores: Sequence[float], temperature: float) -> list[float]:
    high = max(scores)
    powers = [math.exp((score - high) / temperature) for score in scores]
    total = math.fsum(powers)
    return [power / total for power in powers]
