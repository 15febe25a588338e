"""Questions that wait for a core: what queueing theory says, and a simulation with service times that were measured.

A machine is a queue of its own: a balancer gives each question to one of them at random. On paper the share of
questions that wait is Erlang's C, and a wait is that of exponential times, scaled by (1 + cv^2) / 2 (Allen and Cunneen
1978), with cv the standard deviation of the service times over their mean.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.float64]
"""Service times, in seconds."""


def erlang_c(cores: int, load: float) -> float:
    """Return the share of questions that wait.

    Parameters
    ----------
    cores : of a machine, at least 1
    load : arrivals a second times the mean service time, less than `cores`

    Examples
    --------
    >>> erlang_c(1, 0.7)
    0.7
    >>> round(erlang_c(2, 1.4), 4)
    0.5765
    """
    blocked = 1.0  # Erlang's B, core by core
    for core in range(1, cores + 1):
        blocked = load * blocked / (core + load * blocked)
    use = load / cores
    return blocked / (1 - use * (1 - blocked))


@dataclass(frozen=True, slots=True)
class Queue:
    """A machine with its questions.

    Parameters
    ----------
    rate : questions a second
    cores : each answers one question at a time
    times : service times that were measured, each as likely as the others
    """

    rate: float
    cores: int
    times: Times

    @property
    def use(self) -> float:
        """Share of the time that a core is busy."""
        return self.rate * float(self.times.mean()) / self.cores

    def mean_wait(self) -> float:
        """Return the mean wait on paper, in seconds."""
        free = self.cores / float(self.times.mean()) - self.rate
        return self._variation() * erlang_c(self.cores, self.use * self.cores) / free

    def quantile(self, share: float, draws: int = 200_000, seed: int = 0) -> float:
        """Return a quantile of wait and service together on paper, in seconds: an exponential wait, drawn.

        Parameters
        ----------
        share : in (0, 1)
        draws, seed : of the sum of both, which has no closed form for measured times
        """
        rng = np.random.default_rng(seed)
        waiting = erlang_c(self.cores, self.use * self.cores)
        scale = self.mean_wait() / waiting
        waits = np.where(rng.random(draws) < waiting, rng.exponential(scale, draws), 0.0)
        return float(np.quantile(waits + rng.choice(self.times, draws), share))

    def simulate(self, questions: int, seed: int = 1) -> tuple[Times, Times]:
        """Return waits, and waits with service, of questions that arrive at random; first come, first served."""
        rng = np.random.default_rng(seed)
        arrivals = np.cumsum(rng.exponential(1 / self.rate, questions))
        served = rng.choice(self.times, questions)
        free = [0.0] * self.cores
        waits = np.empty(questions)
        for number, (arrival, time) in enumerate(zip(arrivals.tolist(), served.tolist(), strict=True)):
            start = max(arrival, free[0])
            heapq.heapreplace(free, start + time)
            waits[number] = start - arrival
        return waits, waits + served

    def _variation(self) -> float:
        return (1 + float(self.times.var()) / float(self.times.mean()) ** 2) / 2


def machines_needed(rate: float, cores: int, mean_s: float, use: float) -> int:
    """Return how many machines keep their cores busy for at most a share `use` of the time.

    Examples
    --------
    >>> machines_needed(1000, 2, 0.010, 0.7)
    8
    """
    return math.ceil(rate * mean_s / (cores * use) - 1e-9)


def check_queue(times: Times, rate: float, cores: int, use: float, questions: int = 200_000) -> dict[str, Any]:
    """Return a plan for `rate` questions a second on paper, and what a simulation of one of its machines says."""
    mean = float(times.mean())
    count = machines_needed(rate, cores, mean, use)
    one = Queue(rate / count, cores, times)
    waits, both = one.simulate(questions)
    said = {"mean wait": one.mean_wait(), "p50": one.quantile(0.5), "p99": one.quantile(0.99)}
    seen = {"mean wait": waits.mean(), "p50": np.quantile(both, 0.5), "p99": np.quantile(both, 0.99)}
    return {
        "rate": rate,
        "cores": cores,
        "use": round(one.use, 4),
        "machines": count,
        "service_mean_ms": round(1e3 * mean, 3),
        "service_cv": round(float(times.std()) / mean, 3),
        "paper_ms": {name: round(1e3 * value, 2) for name, value in said.items()},
        "simulated_ms": {name: round(1e3 * float(value), 2) for name, value in seen.items()},
    }
