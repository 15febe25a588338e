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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import RetrivexError
from retrivex.scoring.features import NAMES

FORMAT = 1
"""Version of the file format of coefficients."""


@dataclass(frozen=True)
class Coefficients:
    """A fitted model.

    Parameters
    ----------
    weights : shape (f,), one a feature of `NAMES`, in their order
    intercept : b
    means : shape (f,), what is usual; the trace says by how much a unit is above or below
    confidence : (slope, intercept) that turn the best unit's log-odds into those of the context holding evidence
    fitted : data, date, sizes and scores
    """

    weights: NDArray[np.float64]
    intercept: float
    means: NDArray[np.float64]
    confidence: tuple[float, float] = (1.0, 0.0)
    fitted: Mapping[str, Any] = field(default_factory=dict)

    def log_odds(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log-odds of each row of features, shape (n,)."""
        return np.asarray(values @ self.weights + self.intercept, dtype=np.float64)

    def confidence_of(self, log_odds: float) -> float:
        """Return the probability, in [0, 1], that the candidates hold evidence, given the best unit's log-odds."""
        slope, intercept = self.confidence
        return _logistic(slope * log_odds + intercept)

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
            "confidence": list(self.confidence),
            "features": {
                name: {"weight": float(weight), "mean": float(mean)}
                for name, weight, mean in zip(NAMES, self.weights, self.means, strict=True)
            },
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "coefficients") -> Coefficients:
        """Read what `to_dict` wrote.

        Raises
        ------
        RetrivexError
            If it is of another format, or lacks or adds a feature.
        """
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            found = data.get("format") if isinstance(data, Mapping) else type(data).__name__
            raise RetrivexError(
                f"{where} have format {found!r}: this version reads format {FORMAT}; fit them again with "
                "`retrivex tune`, or leave `coefficients` out"
            )
        features, fitted = data.get("features"), data.get("fitted", {})
        if not isinstance(features, Mapping) or not isinstance(fitted, Mapping):
            raise RetrivexError(f"{where} hold no table of features: fit them again with `retrivex tune`")
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
            slope, shift = (float(value) for value in data["confidence"])
        except (KeyError, TypeError, ValueError) as error:
            raise RetrivexError(f"{where} are broken ({error!r}): fit them again with `retrivex tune`") from error
        if not np.isfinite([*weights, *means, intercept, slope, shift]).all():
            raise RetrivexError(f"{where} hold numbers that are not finite: fit them again with `retrivex tune`")
        return cls(weights, intercept, means, (slope, shift), fitted)


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*names[:3], *([f"{len(names) - 3} more"] if names[3:] else [])])


@lru_cache(maxsize=8)
def _read(path: str, changed: int) -> Coefficients:
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RetrivexError(f"coefficients {path} cannot be read: {error}; give a file of `retrivex tune`") from error
    return Coefficients.from_dict(data, f"coefficients {path}")


@lru_cache(maxsize=1)
def shipped_coefficients() -> Coefficients:
    """Return the coefficients that come with the package."""
    text = resources.files("retrivex.scoring").joinpath("coefficients.json").read_text(encoding="utf-8")
    return Coefficients.from_dict(json.loads(text))


def load_coefficients(path: str | Path | None) -> Coefficients:
    """Return the coefficients in a file, or those that come with the package; read again when the file changes.

    Raises
    ------
    RetrivexError
        If the file cannot be read or is not one of coefficients.
    """
    if path is None:
        return shipped_coefficients()
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
