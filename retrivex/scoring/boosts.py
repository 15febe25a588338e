"""Ready-made `boosts`: how new, how reliable and in which section a chunk is, added to its log-odds.

A boost of 0.7 doubles the odds of a chunk, one of -0.7 halves them. The names are those of the weights of `Reorderer`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from retrivex.errors import ConfigError
from retrivex.model.chunk import Chunk
from retrivex.model.numbers import finite

_DAY = 86_400.0  # seconds


@dataclass(frozen=True, slots=True)
class Recency:
    r"""Lowers old chunks: by half of `weight` after one half-life, by all of it in the end.

    .. math:: -w \, (1 - 2^{-a / h})

    with the age *a* and the half-life *h*. A chunk without a `timestamp`, or one of the future, stays as it is.

    Parameters
    ----------
    half_life_days : h
    weight : w, log-odds
    now : Unix seconds; None is the time at which the boost is made

    Raises
    ------
    ConfigError
        If `half_life_days` is not above 0, or another argument no finite number.

    Examples
    --------
    >>> from retrivex import ChunkMetadata
    >>> new, old = (Chunk("Bees sleep.", ChunkMetadata("bees", 0, timestamp=day * 86_400)) for day in (100, 70))
    >>> recency = Recency(half_life_days=30, weight=2.0, now=100 * 86_400)
    >>> recency(new), recency(old)
    (0.0, -1.0)
    """

    half_life_days: float
    weight: float = 1.0
    now: float = field(default_factory=time.time)

    def __post_init__(self) -> None:
        _check(self, "half_life_days", "weight", "now")
        if self.half_life_days <= 0:
            raise ConfigError(f"half_life_days is {self.half_life_days!r}: it must be above 0, e.g. 30")

    def __call__(self, chunk: Chunk) -> float:
        """Return what is added to the log-odds of a chunk."""
        written = chunk.metadata.timestamp
        if written is None or written >= self.now:
            return 0.0
        return self.weight * math.expm1(-math.log(2) * (self.now - written) / (_DAY * self.half_life_days))


@dataclass(frozen=True, slots=True)
class SourceReliability:
    """Raises chunks of reliable sources and lowers those of others: by `weight` at 1, by none at 0.5.

    Parameters
    ----------
    weight : log-odds
    name : of the metadata that hold the reliability, from 0 to 1; a chunk without it stays as it is

    Raises
    ------
    ConfigError
        If `weight` is no finite number; from a call, if a chunk's reliability is no number from 0 to 1.

    Examples
    --------
    >>> from retrivex import ChunkMetadata
    >>> chunk = Chunk("Bees sleep.", ChunkMetadata("bees", 0, custom_metadata={"source_reliability": 0.75}))
    >>> SourceReliability(weight=2.0)(chunk)
    1.0
    """

    weight: float = 1.0
    name: str = "source_reliability"

    def __post_init__(self) -> None:
        _check(self, "weight")

    def __call__(self, chunk: Chunk) -> float:
        """Return what is added to the log-odds of a chunk."""
        given = chunk.metadata.custom_metadata.get(self.name)
        if given is None:
            return 0.0
        value = finite(given)
        if value is None or not 0 <= value <= 1:
            raise ConfigError(
                f"{self.name} of {chunk.key!r} is {given!r}: a reliability is a number from 0 to 1; correct the "
                "metadata, or name others with SourceReliability(name=...)"
            )
        return self.weight * (2 * value - 1)


@dataclass(frozen=True, slots=True)
class Section:
    """Raises or lowers chunks by the headings they stand under.

    Parameters
    ----------
    log_odds : by title, without regard to case; the innermost heading that is named counts

    Raises
    ------
    ConfigError
        If a value is no finite number.

    Examples
    --------
    >>> from retrivex import ChunkMetadata
    >>> chunk = Chunk("Bees sleep.", ChunkMetadata("bees", 0, heading_path=["Results", "Winter"]))
    >>> Section({"results": 0.7, "appendix": -0.7})(chunk)
    0.7
    """

    log_odds: Mapping[str, float]

    def __post_init__(self) -> None:
        for title, value in self.log_odds.items():
            if finite(value) is None:
                raise ConfigError(f"log_odds of {title!r} is {value!r}: it must be a finite number")
        object.__setattr__(self, "log_odds", {title.casefold(): value for title, value in self.log_odds.items()})

    def __hash__(self) -> int:
        return hash(frozenset(self.log_odds.items()))

    def __call__(self, chunk: Chunk) -> float:
        """Return what is added to the log-odds of a chunk."""
        titles = [title.casefold() for title in reversed(chunk.metadata.heading_path or ())]
        return next((self.log_odds[title] for title in titles if title in self.log_odds), 0.0)


def _check(boost: Any, *names: str) -> None:
    for name in names:
        value = getattr(boost, name)
        if finite(value) is None:
            raise ConfigError(f"{name} is {value!r}: it must be a finite number")
