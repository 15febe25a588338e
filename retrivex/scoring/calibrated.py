r"""The calibrated scorer: how probable it is that a unit holds evidence for the question.

A logistic model over `retrivex.scoring.features`:

.. math:: p = 1 / (1 + e^{-(w \cdot x + b)})

Its coefficients were fitted on public questions with exact evidence (`make calibrate`); every question had
the same weight, its evidence and the rest of its candidates half of it each, and b brings the mean down to the share of
units that really hold evidence. The file says on what data, when, and how well it did on sets it had not seen.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import RetrivexError, quoted
from retrivex.scoring.confidence import CONFIDENCE_FEATURES, HitKind
from retrivex.scoring.document_match import DOCUMENT_FEATURES
from retrivex.scoring.features import NAMES
from retrivex.text.files import read_small_file

EARLIER = {"0.2": "coefficients_0_2.json"}
"""Files of coefficients that came with earlier versions."""

FORMAT = 1
"""Version of the file format of coefficients."""

MAX_NUMBER = 1e6
"""Largest weight, mean or intercept of a file; fitted ones lie below 100."""

MAX_SHARPNESS = 100.0
"""Largest sharpness of a file; its reciprocal is the smallest."""


@dataclass(frozen=True)
class Coefficients:
    """A fitted model.

    Parameters
    ----------
    weights : shape (f,), one a feature of `NAMES`, in their order
    intercept : b
    means : shape (f,), what is usual; the trace says by how much a unit is above or below
    confidence : for kinds of hits, a weight for each of `CONFIDENCE_FEATURES`, and the intercept
    fitted : data, date, sizes and scores
    sharpness : power of the units' probabilities that makes them shares of the evidence, see `expected_shares`
    reads_documents : whether the model was fitted with the features of documents
    fewest_hits : hits below which there is no confidence: with fewer, scores fall less and words are missing, so that
        it is near 0 also where the answer is shown
    """

    weights: NDArray[np.float64]
    intercept: float
    means: NDArray[np.float64]
    confidence: Mapping[HitKind, Sequence[float]] = field(default_factory=dict)
    fitted: Mapping[str, Any] = field(default_factory=dict)
    sharpness: float = 1.0
    reads_documents: bool = True
    fewest_hits: int = 1

    def log_odds(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log-odds of each row of features, shape (n,)."""
        return np.asarray(values @ self.weights + self.intercept, dtype=np.float64)

    def confidence_of(self, log_odds: float, question: NDArray[np.float64], kind: HitKind) -> float | None:
        """Return the probability, in [0, 1], that the candidates hold evidence; None for hits where it is not known.

        Parameters
        ----------
        log_odds : of the best unit
        question : shape (4,), of `describe_question`
        kind : of the hits
        """
        if kind not in self.confidence:
            return None
        first, *others, intercept = self.confidence[kind]
        return _logistic(first * log_odds + float(np.asarray(others) @ question) + intercept)

    def reasons(self, row: NDArray[np.float64], count: int) -> tuple[tuple[str, float], ...]:
        """Return the features that moved a unit's log-odds most, with what each added or took."""
        parts = self.weights * (row - self.means)
        order = np.argsort(-np.abs(parts), kind="stable")[:count]
        return tuple((NAMES[at], float(parts[at])) for at in order.tolist())

    def to_dict(self) -> dict[str, Any]:
        """Return what `from_dict` reads."""
        return {
            "format": FORMAT,
            "fitted": dict(self.fitted),
            "intercept": self.intercept,
            "confidence": {kind: list(numbers) for kind, numbers in self.confidence.items()},
            "sharpness": self.sharpness,
            "fewest_hits": self.fewest_hits,
            "features": {
                name: {"weight": float(weight), "mean": float(mean)}
                for name, weight, mean in zip(NAMES, self.weights, self.means, strict=True)
                if self.reads_documents or name not in DOCUMENT_FEATURES
            },
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "coefficients") -> Coefficients:
        """Read what `to_dict` wrote.

        Raises
        ------
        RetrivexError
            If it is of another format, lacks or adds a feature, or has a number beyond its bounds.
        """
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            found = data.get("format") if isinstance(data, Mapping) else type(data).__name__
            raise RetrivexError(
                f"{where} have format {quoted(found)}: this version reads format {FORMAT}; fit them again with "
                "`retrivex tune`, or leave `coefficients` out"
            )
        features, fitted = data.get("features"), data.get("fitted", {})
        if not isinstance(features, Mapping) or not isinstance(fitted, Mapping):
            raise RetrivexError(f"{where} hold no table of features: fit them again with `retrivex tune`")
        # a model from before there were features of documents reads none
        reads_documents = not set(features).isdisjoint(DOCUMENT_FEATURES)
        if not reads_documents:
            features = {**features, **{name: {"weight": 0.0, "mean": 0.0} for name in DOCUMENT_FEATURES}}
        if set(features) != set(NAMES):
            unlike = sorted(set(features) ^ set(NAMES))
            raise RetrivexError(
                f"{where} are fitted for other features than this version has ({_listed(unlike)}): leave "
                "`coefficients` out, and run `retrivex tune` again for new ones"
            )
        try:
            weights = np.array([float(features[name]["weight"]) for name in NAMES])
            means = np.array([float(features[name]["mean"]) for name in NAMES])
            intercept = float(data["intercept"])
            confidence = as_confidence(data["confidence"])
            sharpness = float(data.get("sharpness", 1.0))
            fewest_hits = operator.index(data.get("fewest_hits", 1))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise RetrivexError(
                f"{where} are broken ({quoted(error, 200)}): fit them again with `retrivex tune`"
            ) from error
        numbers = [*weights, *means, intercept, *chain.from_iterable(confidence.values()), sharpness]
        _check_sizes(numbers, sharpness, fewest_hits, where)
        return cls(weights, intercept, means, confidence, fitted, sharpness, reads_documents, fewest_hits)


def _check_sizes(numbers: Sequence[float], sharpness: float, fewest_hits: int, where: str) -> None:
    """Refuse what no fit gives and no exponential takes."""
    if not np.isfinite(numbers).all():
        raise RetrivexError(f"{where} hold numbers that are not finite: fit them again with `retrivex tune`")
    most, sharpest = float(np.abs(numbers).max()), (1 / MAX_SHARPNESS, MAX_SHARPNESS)
    if most > MAX_NUMBER:
        raise RetrivexError(
            f"{where} hold the number {most:g}: none may be beyond {MAX_NUMBER:g}; fit them again with `retrivex tune`"
        )
    if not sharpest[0] <= sharpness <= sharpest[1] or not 0 <= fewest_hits <= MAX_NUMBER:
        raise RetrivexError(
            f"{where} have sharpness {sharpness:g} and fewest_hits {quoted(fewest_hits, 40)}: sharpness lies between "
            f"{sharpest[0]:g} and {sharpest[1]:g}, fewest_hits from 0 to {MAX_NUMBER:g}; "
            "fit them again with `retrivex tune`"
        )


def as_confidence(given: Any) -> dict[HitKind, tuple[float, ...]]:
    """Return the confidence's numbers by kind of hits.

    Those of a version that read the best log-odds alone, a slope and an intercept, hold for every kind.

    Raises
    ------
    TypeError, ValueError, OverflowError
        If they are anything else.
    """
    kinds: tuple[HitKind, ...] = get_args(HitKind)
    if not isinstance(given, Mapping):
        slope, intercept = (float(value) for value in given)
        return dict.fromkeys(kinds, (slope, 0.0, 0.0, 0.0, 0.0, intercept))
    made = {kind: tuple(float(value) for value in given[kind]) for kind in kinds if kind in given}
    if len(made) != len(given) or any(len(numbers) != len(CONFIDENCE_FEATURES) + 1 for numbers in made.values()):
        raise ValueError("confidence has other kinds of hits, or other numbers, than this version")
    return made


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*(name[:80] for name in names[:3]), *([f"{len(names) - 3} more"] if names[3:] else [])])


@lru_cache(maxsize=8)
def _read(path: str, changed: int) -> Coefficients:
    try:
        data = json.loads(read_small_file(path))
    except (OSError, RecursionError, ValueError) as error:
        raise RetrivexError(f"coefficients {path} cannot be read: {error}; give a file of `retrivex tune`") from error
    return Coefficients.from_dict(data, f"coefficients {path}")


@lru_cache(maxsize=2)
def shipped_coefficients(version: str = "") -> Coefficients:
    """Return the coefficients that come with the package, or those that came with a version of `EARLIER`."""
    name = EARLIER[version] if version else "coefficients.json"
    return Coefficients.from_dict(json.loads(resources.files("retrivex.scoring").joinpath(name).read_text("utf-8")))


def load_coefficients(path: str | Path | None) -> Coefficients:
    """Return the coefficients in a file, or those that come with the package; read again when the file changes.

    The name of a version of `EARLIER` takes the place of a file.

    Raises
    ------
    RetrivexError
        If the file cannot be read or is not one of coefficients.
    """
    if path is None or str(path) in EARLIER:
        return shipped_coefficients() if path is None else shipped_coefficients(str(path))
    try:
        changed = Path(path).stat().st_mtime_ns
    except OSError as error:
        raise RetrivexError(f"coefficients {path} cannot be read: {error}; give a file of `retrivex tune`") from error
    return _read(str(path), changed)


def _logistic(log_odds: float) -> float:
    if log_odds >= 0:
        return 1.0 / (1.0 + math.exp(-log_odds))
    small = math.exp(log_odds)
    return small / (1.0 + small)


def probabilities(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of log-odds, shape as given; never overflows."""
    small = np.exp(-np.abs(log_odds))
    return np.where(log_odds >= 0, 1.0, small) / (1.0 + small)
