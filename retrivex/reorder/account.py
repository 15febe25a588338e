"""What is written down while a call goes on."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from retrivex.reorder.diagnostics import DroppedPassage, DropReason
from retrivex.reorder.passage import Candidate


class Step:
    """Notes how long a step takes; a class of its own, as `contextmanager` takes longer than some of the steps."""

    __slots__ = ("_name", "_started", "_step_ms")

    def __init__(self, name: str, step_ms: dict[str, float]) -> None:
        self._name = name
        self._step_ms = step_ms

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        took = (time.perf_counter() - self._started) * 1000
        self._step_ms[self._name] = self._step_ms.get(self._name, 0.0) + took


@dataclass(slots=True)
class Account:
    """Passages dropped, warnings and times of one call."""

    dropped: list[DroppedPassage] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    step_ms: dict[str, float] = field(default_factory=dict)

    def step(self, name: str) -> Step:
        """Note how long a step takes, in milliseconds."""
        return Step(name, self.step_ms)

    def drop(self, candidates: Iterable[Candidate[Any]], reason: DropReason) -> None:
        """Note candidates that are left out."""
        self.dropped.extend(DroppedPassage(one.place, one.id, reason) for one in candidates)

    def count(self, *reasons: DropReason) -> int:
        """Return how many passages were left out for `reasons`."""
        return sum(passage.reason in reasons for passage in self.dropped)
