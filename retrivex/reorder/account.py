"""What is written down while a call goes on."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from retrivex.reorder.diagnostics import DroppedPassage, DropReason
from retrivex.reorder.passage import Candidate


@dataclass(slots=True)
class Account:
    """Passages dropped, warnings and times of one call."""

    dropped: list[DroppedPassage] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    step_ms: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Note how long a step takes, in milliseconds."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.step_ms[name] = self.step_ms.get(name, 0.0) + (time.perf_counter() - started) * 1000

    def drop(self, candidates: Iterable[Candidate[Any]], reason: DropReason) -> None:
        """Note candidates that are left out."""
        self.dropped.extend(DroppedPassage(one.place, one.id, reason) for one in candidates)

    def count(self, *reasons: DropReason) -> int:
        """Return how many passages were left out for `reasons`."""
        return sum(passage.reason in reasons for passage in self.dropped)
