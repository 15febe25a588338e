"""Built-in position profiles, and the lookup of a profile by name, file or object."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from retrivex.errors import OrderingError, quoted
from retrivex.ordering.profile import PositionProfile

_U_CURVE_KNOTS = 41
"""Knots of the u-curve: chords of a parabola, at most 0.0007 above it."""


def _make_u_curve() -> PositionProfile:
    positions = np.linspace(0.0, 1.0, _U_CURVE_KNOTS)
    return PositionProfile(
        tuple(positions),
        tuple((2.0 * positions - 1.0) ** 2),
        "u_curve",
        "((i - mid) / mid)^2, the weights by which reordering tools measure how effective a position is",
    )


PROFILES: Mapping[str, PositionProfile] = {
    "u_curve": _make_u_curve(),
    "lost_in_the_middle": PositionProfile.from_measurements(
        {1: 75.8, 5: 57.2, 10: 53.8, 15: 55.4, 20: 63.2},
        count=20,
        name="lost_in_the_middle",
        source="Liu et al., Lost in the Middle, arXiv 2307.03172: GPT-3.5-Turbo, 20 documents, % right by place",
    ),
    "flat": PositionProfile((0.0, 1.0), (1.0, 1.0), "flat", "no position is better than another"),
    "recency": PositionProfile((0.0, 1.0), (0.0, 1.0), "recency", "attention grows evenly towards the end"),
}
"""Built-in profiles by name."""


def profile_of(value: PositionProfile | str | Path | Mapping[str, Any]) -> PositionProfile:
    """Return a profile, given as itself, by its name, as a file that `save` wrote, or as what `to_dict` returned.

    Raises
    ------
    OrderingError
        If it is none of these.

    Examples
    --------
    >>> profile_of("recency").attention
    (0.0, 1.0)
    """
    if isinstance(value, PositionProfile):
        return value
    if isinstance(value, Mapping):
        return PositionProfile.from_dict(value)
    if isinstance(value, str) and value in PROFILES:
        return PROFILES[value]
    if isinstance(value, Path) or (isinstance(value, str) and value.endswith(".json")):
        return PositionProfile.load(value)
    raise OrderingError(
        f"position profile {quoted(value)} does not exist: choose one of {', '.join(PROFILES)}, give the .json file "
        "of one, or a PositionProfile"
    )
