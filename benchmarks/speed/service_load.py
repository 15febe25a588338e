"""Sends requests to a service and writes what became of each: a process of its own, which shares no lock with others.

    python -m benchmarks.speed.service_load < plan.json > answers.json

Open loop: requests leave at random moments at a given rate (exponential gaps, as of clients that know nothing of one
another), whether or not earlier ones were answered, and a time counts from the moment at which its request was due.
Closed loop (`clients`): each client asks again when it has its answer, which measures what the service can do at most.

Why not locust: its users wait for an answer before they ask again, so that a service that slows down is asked less, and
the worst times are never seen. aiohttp and not httpx, as it reads HTTP in C: both ends share the same cores.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import aiohttp

Ask = Callable[[int, float], Coroutine[Any, Any, None]]
"""Sends the request of a number that was due at a second."""

FAILED = 0
"""Status of a request that got no answer at all."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is sent.

    Parameters
    ----------
    address : of the operation
    bodies : of the requests, as JSON, taken in turns
    seconds : for how long
    rate : requests a second, open loop; None with `clients`
    clients : that ask one request after the other, closed loop
    seed : of the gaps
    """

    address: str
    bodies: Sequence[str]
    seconds: float
    rate: float | None = None
    clients: int = 0
    seed: int = 7


@dataclass(slots=True)
class Answers:
    """What came back, in the order of the answers.

    Parameters
    ----------
    due : seconds after the start at which each request was due
    took : seconds from then to the last byte of its answer
    status : 0 where there was none
    late : seconds by which the sender itself was behind, at most
    """

    due: list[float]
    took: list[float]
    status: list[int]
    late: float = 0.0


async def send(plan: Plan) -> Answers:
    """Send the requests of a plan; wait for every answer."""
    answers = Answers([], [], [])
    timeout = aiohttp.ClientTimeout(total=60)
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=10)  # the service closes idle connections after 15 s
    async with aiohttp.ClientSession(timeout=timeout, connector=connector) as session:
        began = time.perf_counter()

        async def ask(number: int, due: float) -> None:
            body = bodies[number % len(bodies)]
            try:
                async with session.post(plan.address, data=body, headers=headers) as answer:
                    await answer.read()
                    status = answer.status
            except (aiohttp.ClientError, TimeoutError, OSError):
                status = FAILED
            answers.due.append(due)
            answers.took.append(time.perf_counter() - began - due)
            answers.status.append(status)

        bodies = [body.encode() for body in plan.bodies]
        headers = {"Content-Type": "application/json"}
        await (_open(plan, ask, began, answers) if plan.rate else _closed(plan, ask, began))
    return answers


async def _open(plan: Plan, ask: Ask, began: float, answers: Answers) -> None:
    rng = random.Random(plan.seed)
    assert plan.rate is not None
    due, number = 0.0, 0
    async with asyncio.TaskGroup() as tasks:
        while (due := due + rng.expovariate(plan.rate)) < plan.seconds:
            behind = time.perf_counter() - began - due
            answers.late = max(answers.late, behind)
            await asyncio.sleep(max(0.0, -behind))
            tasks.create_task(ask(number, due))
            number += 1


async def _closed(plan: Plan, ask: Ask, began: float) -> None:
    async def client(first: int) -> None:
        number = first
        while (now := time.perf_counter() - began) < plan.seconds:
            await ask(number, now)
            number += plan.clients

    await asyncio.gather(*(client(number) for number in range(plan.clients)))


def main() -> None:
    """Read a plan, send it, write the answers."""
    plan = Plan(**json.load(sys.stdin))
    json.dump(asdict(asyncio.run(send(plan))), sys.stdout)


if __name__ == "__main__":
    main()
