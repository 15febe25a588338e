"""Compose for a long time and watch the memory: after the caches are warm it must not grow."""

from __future__ import annotations

import gc
import random
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fuzz.cases import make_case
from fuzz.compositions import Bench, run_case
from fuzz.worlds import make_world

POOL = 400
"""Worlds that are drawn again and again: ever new texts fill caches, which have bounds of their own."""
WARM = 0.3
"""Share of the time after which memory must be flat."""
MOST_GROWTH = 0.05
"""Growth from then on, as a share, that is no leak: what allocators keep."""


@dataclass
class Soak:
    """What a long run came to: calls, minutes, resident memory when warm and at the end, its slope in MB an hour."""

    calls: int
    minutes: float
    warm_mb: float
    end_mb: float
    mb_an_hour: float

    @property
    def flat(self) -> bool:
        return self.end_mb <= self.warm_mb * (1 + MOST_GROWTH)


def _resident_mb() -> float:
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4096 / 1e6


def soak(minutes: float) -> Soak:
    """Compose for so many minutes; every composition is checked, too."""
    bench, calls, samples = Bench(), 0, []
    began = time.perf_counter()
    while (passed := time.perf_counter() - began) < minutes * 60:
        rng = random.Random(f"soak:{calls % POOL}")
        world = make_world(rng)
        for _ in range(4):
            run_case(make_case(rng, world), bench, rng)
        calls += 1
        if calls % 100 == 0:
            gc.collect()
            samples.append((passed, _resident_mb()))
    warm = [(at, size) for at, size in samples if at > WARM * minutes * 60] or samples[-1:]
    slope = float(np.polyfit(*zip(*warm, strict=True), 1)[0]) * 3600 if len(warm) > 1 else 0.0
    return Soak(4 * calls, minutes, round(warm[0][1], 1), round(warm[-1][1], 1), round(slope, 2))
