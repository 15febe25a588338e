"""Position profiles: how well a model reads each relative token position of its context."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import OrderingError, quoted
from retrivex.text.files import read_small_file

Floats: TypeAlias = NDArray[np.float64]

SCHEMA = "retrivex.position_profile/1"
"""Name and version of what `to_dict` returns."""


_MIN_WIDTH = 1e-9
"""Below this width the difference of two areas is mostly rounding, and the curve is as good as level."""


@dataclass(frozen=True)
class PositionProfile:
    """Attention, or measured accuracy, by relative token position, interpolated linearly between knots.

    Before the first knot and after the last one it stays level. Only differences count: an order does not change when
    a constant is added to all attentions or all are multiplied by the same positive number.

    Parameters
    ----------
    positions : at least one, ascending, in [0, 1]: 0 is the first token of the context, 1 the last
    attention : of the same number, finite, in any unit
    name : for people
    source : where the numbers come from

    Raises
    ------
    OrderingError
        If the positions are not ascending in [0, 1], an attention is not finite, or the numbers differ.

    Examples
    --------
    >>> curve = PositionProfile((0.0, 0.5, 1.0), (1.0, 0.0, 1.0))
    >>> float(curve.at(0.25)), float(curve.mean(0.0, 0.5)), float(curve.mean(0.25, 0.75))
    (0.5, 0.5, 0.25)
    """

    positions: tuple[float, ...]
    attention: tuple[float, ...]
    name: str = "custom"
    source: str = ""
    _knots: Floats = field(init=False, repr=False, compare=False)
    _levels: Floats = field(init=False, repr=False, compare=False)
    _areas: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            positions = tuple(map(float, self.positions))
            attention = tuple(map(float, self.attention))
        except (TypeError, ValueError, OverflowError) as error:
            raise OrderingError(f"positions and attention must be numbers that a float can hold: {error}") from error
        if not positions or len(positions) != len(attention):
            raise OrderingError(
                f"a profile has {len(positions)} positions and {len(attention)} attentions: "
                "give one attention for each position, and at least one"
            )
        if not all(0 <= x <= 1 for x in positions) or any(a >= b for a, b in itertools.pairwise(positions)):
            raise OrderingError(f"positions are {positions}: they must ascend from 0 (first token) to 1 (last token)")
        if not all(map(math.isfinite, attention)):
            raise OrderingError(f"attention is {attention}: it must be finite; leave out what was not measured")
        object.__setattr__(self, "positions", positions)
        object.__setattr__(self, "attention", attention)
        self._prepare()

    def _prepare(self) -> None:
        """Add level ends up to 0 and 1, and the area under the curve up to each knot."""
        knots, levels = np.array(self.positions), np.array(self.attention)
        knots = np.concatenate([[0.0] if knots[0] > 0 else [], knots, [1.0] if knots[-1] < 1 else []])
        levels = np.concatenate(
            [levels[:1] if self.positions[0] > 0 else [], levels, levels[-1:] if self.positions[-1] < 1 else []]
        )
        areas = np.concatenate([[0.0], np.cumsum(np.diff(knots) * (levels[1:] / 2 + levels[:-1] / 2))])
        for name, value in (("_knots", knots), ("_levels", levels), ("_areas", areas)):
            object.__setattr__(self, name, value)

    def at(self, position: float | Floats) -> Floats:
        """Attention at relative positions, any shape, in [0, 1]."""
        return np.asarray(np.interp(position, self._knots, self._levels))

    def area(self, position: float | Floats) -> Floats:
        """Integral of the attention from 0 to each relative position, any shape, in [0, 1]."""
        x = np.asarray(position, dtype=float)
        left = np.clip(np.searchsorted(self._knots, x, side="right") - 1, 0, max(len(self._knots) - 2, 0))
        return np.asarray(self._areas[left] + (x - self._knots[left]) * (self._levels[left] + self.at(x)) / 2)

    def mean(self, start: float, end: float) -> float:
        """Mean attention over the tokens from `start` to `end`, relative positions."""
        if end - start < _MIN_WIDTH:
            return float(self.at(start))
        return float(self.area(end) - self.area(start)) / (end - start)

    @cached_property
    def peak(self) -> float:
        """The largest attention, or the size of the most negative one if that is larger; 1.0 where all are 0."""
        return max(map(abs, self.attention)) or 1.0

    @cached_property
    def scaled(self) -> PositionProfile:
        """The same profile in the unit of its peak: attentions in [-1, 1]."""
        return PositionProfile(self.positions, tuple(a / self.peak for a in self.attention), self.name, self.source)

    @cached_property
    def is_valley(self) -> bool:
        """Whether attention never falls again once it has risen: u-shaped, level, falling or rising."""
        steps = np.diff(self._levels)
        rises = np.flatnonzero(steps > 0)
        return rises.size == 0 or bool((steps[rises[0] :] >= 0).all())

    @cached_property
    def descending(self) -> PositionProfile:
        """The same attentions, the highest first: the decreasing rearrangement.

        Whatever stands in the first m of it has as much attention as m of the context can have.
        """
        levels = np.unique(self._levels)[::-1]
        above, from_on = _measure(self._knots, self._levels, levels)
        places = np.stack([above, from_on], axis=1).ravel()
        heights = np.repeat(levels, 2)
        keep = np.concatenate([[True], np.diff(places) > 1e-12])
        return PositionProfile(tuple(np.clip(places[keep], 0, 1)), tuple(heights[keep]), f"{self.name}, descending")

    @classmethod
    def from_measurements(
        cls,
        measurements: Mapping[Any, float] | Iterable[tuple[float, float]],
        *,
        count: int | None = None,
        name: str = "measured",
        source: str = "",
    ) -> PositionProfile:
        """Make a profile of what was measured, e.g. the share of right answers by the place of the evidence.

        Parameters
        ----------
        measurements : position -> attention or accuracy; several of one position are averaged
        count : number of places, where positions are places 1, 2, ... `count` in the context; the middle of place p
            is at (p - 0.5) / count. None: positions are relative already, in [0, 1]
        name, source : as in the class

        Raises
        ------
        OrderingError
            If there is none, one is no pair of numbers, a position lies outside, a value is not finite, or `count` is
            no whole number from 1.

        Examples
        --------
        >>> PositionProfile.from_measurements({1: 0.8, 2: 0.5, 4: 0.7}, count=4).positions
        (0.125, 0.375, 0.875)
        """
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
            raise OrderingError(f"count is {quoted(count)}: it must be the number of places, a whole number from 1")
        values: dict[float, list[float]] = {}
        try:
            for place, value in measurements.items() if isinstance(measurements, Mapping) else measurements:
                position = float(place) if count is None else (float(place) - 0.5) / count
                values.setdefault(position, []).append(float(value))
        except (TypeError, ValueError, OverflowError) as error:
            raise OrderingError(
                f"measurements are {quoted(measurements)}: give pairs of numbers, position and value ({error})"
            ) from error
        positions = sorted(values)
        # each divided first: the sum of two large values may be no float
        means = tuple(sum(value / len(values[x]) for value in values[x]) for x in positions)
        return cls(tuple(positions), means, name, source)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "source": self.source,
            "positions": list(self.positions),
            "attention": list(self.attention),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PositionProfile:
        """Read what `to_dict` returned.

        Raises
        ------
        OrderingError
            If it is of another schema, lacks a part or has one of another type.
        """
        if not isinstance(data, Mapping) or data.get("schema") != SCHEMA:
            raise OrderingError(f"not a position profile of {SCHEMA!r}: {quoted(data)}; give what to_dict returned")
        try:
            return cls(data["positions"], data["attention"], str(data["name"]), str(data["source"]))
        except (KeyError, TypeError) as error:
            raise OrderingError(f"not a position profile: {quoted(error, 200)}; give what to_dict returned") from error

    def save(self, path: str | Path) -> None:
        """Write the profile as JSON."""
        Path(path).write_text(json.dumps(self.to_dict(), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> PositionProfile:
        """Read what `save` wrote.

        Raises
        ------
        OrderingError
            If the file cannot be read or holds something else.
        """
        try:
            data = json.loads(read_small_file(path))
        except (OSError, TypeError, ValueError, RecursionError) as error:
            raise OrderingError(
                f"position profile {quoted(path)} cannot be read: {error}; give a file that PositionProfile.save wrote"
            ) from error
        return cls.from_dict(data)

    def __str__(self) -> str:
        return self.name


def _measure(knots: Floats, heights: Floats, levels: Floats) -> tuple[Floats, Floats]:
    """Measure of the positions above each level, and of those on or above it; both shape (levels,)."""
    low = np.minimum(heights[1:], heights[:-1])[:, None]
    high = np.maximum(heights[1:], heights[:-1])[:, None]
    widths = np.diff(knots)[:, None]
    level = high <= low
    height = np.where(level, 1.0, high - low)
    rising = np.clip(high - levels, 0.0, height) / height
    above = (widths * np.where(level, low > levels, rising)).sum(axis=0)
    from_on = (widths * np.where(level, low >= levels, rising)).sum(axis=0)
    return above, from_on
