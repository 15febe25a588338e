from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from contextvars import ContextVar
from typing import Any

import pytest

from retrivex.service.errors import BusyError
from retrivex.service.work import Work


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Held:
    """A worker of one thread whose jobs wait for a sign, each of which lets one end."""

    def __init__(self, queue: int, timeout_s: float = 600) -> None:
        self.clock = Clock()
        self.work = Work(1, queue, timeout_s, clock=self.clock)
        self.signs = threading.Semaphore(0)

    def job(self, number: int) -> int:
        assert self.signs.acquire(timeout=600)
        return number

    def start(self, number: int, owner: str | None = None) -> asyncio.Task[int]:
        return asyncio.create_task(self.work.do(self.job, number, owner=owner))

    async def fill(self, count: int, owner: str | None = None) -> list[asyncio.Task[int]]:
        tasks = [self.start(number, owner) for number in range(count)]
        while self.work.under_way < count:
            await asyncio.sleep(0)
        return tasks

    async def refuses(self, owner: str | None = None) -> bool:
        task = self.start(-1, owner)
        await asyncio.wait([task], timeout=0.05)
        if task.done():
            return isinstance(task.exception(), BusyError)
        return False


async def outcomes(tasks: list[asyncio.Task[int]]) -> list[Any]:
    done = await asyncio.gather(*tasks, return_exceptions=True)
    return ["refused" if isinstance(one, BusyError) else one for one in done]


def test_a_job_runs_in_the_context_of_its_request() -> None:
    request: ContextVar[str] = ContextVar("request")

    async def ask(work: Work, name: str) -> str:
        request.set(name)
        return await work.do(request.get)

    async def run() -> list[str]:
        work = Work(1, 8, 600)
        return await asyncio.gather(ask(work, "a"), ask(work, "b"))

    assert asyncio.run(run()) == ["a", "b"]


def test_a_burst_that_the_queue_holds_is_answered_as_a_whole() -> None:
    async def run() -> list[Any]:
        held = Held(queue=8)
        tasks = await held.fill(9)
        held.signs.release(9)
        return await outcomes(tasks)

    assert asyncio.run(run()) == [*range(9)]


def test_a_full_queue_is_cut_short_and_the_last_to_come_are_refused() -> None:
    async def run() -> list[Any]:
        held = Held(queue=8)
        tasks = await held.fill(9)
        assert await held.refuses()
        held.signs.release(9)
        return await outcomes(tasks)

    # one runs, and two may wait for the thread
    assert asyncio.run(run()) == [0, 1, 2, *["refused"] * 6]


def test_an_overloaded_worker_keeps_its_queue_short_until_nobody_is_refused_any_more() -> None:
    async def run() -> None:
        held = Held(queue=8)
        tasks = await held.fill(9)
        assert await held.refuses()
        held.clock.now += 0.4
        assert await held.refuses()  # three are under way
        held.clock.now += 0.4
        assert await held.refuses()
        held.clock.now += 0.6
        tasks += [held.start(number) for number in range(20, 26)]
        await asyncio.sleep(0)
        held.signs.release(20)
        assert (await outcomes(tasks))[9:] == [*range(20, 26)]

    asyncio.run(run())


def test_without_a_queue_one_more_than_there_are_threads_is_refused() -> None:
    async def run() -> None:
        held = Held(queue=0)
        tasks = await held.fill(1)
        assert await held.refuses()
        held.signs.release()
        assert await outcomes(tasks) == [0]
        assert held.work.under_way == 0

    asyncio.run(run())


def test_a_job_that_takes_too_long_keeps_its_place_until_it_ends() -> None:
    async def run() -> None:
        held = Held(queue=1, timeout_s=0.01)
        with pytest.raises(BusyError, match=r"longer than 0\.01 s"):
            await held.work.do(held.job, 1)
        assert held.work.under_way == 1
        held.signs.release()
        while held.work.under_way:
            await asyncio.sleep(0.001)
        # one that waited is gone at once
        blocking = asyncio.create_task(held.work.do(held.job, 2))
        with pytest.raises(BusyError):
            await held.work.do(held.job, 3)
        await asyncio.wait([blocking])
        assert held.work.under_way == 1
        held.signs.release()

    asyncio.run(run())


def test_an_error_of_a_job_is_that_of_the_request() -> None:
    async def run() -> None:
        await Work(1, 0, 60).do(int, "seven")

    with pytest.raises(ValueError, match="seven"):
        asyncio.run(run())


def test_keys_take_turns() -> None:
    """Of one key many jobs wait; the job of another runs as soon as a thread is free."""

    async def run() -> list[str]:
        held = Held(queue=20)
        ran: list[str] = []

        def job(name: str) -> None:
            ran.append(name)

        first = held.start(0)
        many = [asyncio.create_task(held.work.do(job, "one's", owner="one")) for _ in range(5)]
        await asyncio.sleep(0.01)
        other = asyncio.create_task(held.work.do(job, "the other's", owner="other"))
        await asyncio.sleep(0.01)
        held.signs.release()
        await asyncio.gather(first, *many, other)
        return ran

    assert asyncio.run(run()) == ["one's", "the other's", *["one's"] * 4]


def test_a_key_that_fills_the_queue_keeps_no_other_out() -> None:
    """Its last jobs make room, and while it asks on it is refused alone."""

    async def run() -> tuple[list[Any], list[Any]]:
        held = Held(queue=8)
        many = await held.fill(9, "one")
        others = [held.start(20, "other")]
        await asyncio.sleep(0)
        for number in range(21, 24):
            assert await held.refuses("one")
            others.append(held.start(number, "other"))
            await asyncio.sleep(0)
        held.signs.release(20)
        return await outcomes(many), await outcomes(others)

    many, others = asyncio.run(run())
    assert many == [0, 1, 2, *["refused"] * 6]
    assert others == [20, 21, 22, 23]


def test_each_key_has_its_place_in_a_full_queue() -> None:
    """Of whom most jobs wait gives up one at a time for who has fewer, and nobody for who has as many."""

    async def run() -> list[Any]:
        held = Held(queue=3)
        tasks = [*await held.fill(1), held.start(1, "a"), held.start(2, "a"), held.start(3, "b")]
        await asyncio.sleep(0)
        tasks.append(held.start(4, "c"))  # in the place of 2
        await asyncio.sleep(0)
        assert await held.refuses("d")
        assert await held.refuses("b")
        held.signs.release(20)
        return await outcomes(tasks)

    assert asyncio.run(run()) == [0, 1, "refused", 3, 4]


@pytest.mark.parametrize("by", ["time", "caller"])
def test_nothing_is_kept_of_a_job_that_nobody_waits_for(by: str) -> None:
    class Body:
        def read(self) -> None: ...

    async def ask(work: Work) -> weakref.ref[Body]:
        body = Body()
        asking = asyncio.create_task(work.do(body.read))
        if by == "caller":
            await asyncio.sleep(0.01)
            asking.cancel()
        with pytest.raises(BusyError if by == "time" else asyncio.CancelledError):
            await asking
        return weakref.ref(body)

    async def run() -> None:
        held = Held(queue=8, timeout_s=0.05 if by == "time" else 600)
        running = held.start(0)
        await asyncio.sleep(0.01)
        kept = [await ask(held.work) for _ in range(3)]
        await asyncio.sleep(0)
        gc.collect()
        assert [body() for body in kept] == [None] * 3
        assert held.work.under_way == 1
        held.signs.release(2)
        await asyncio.wait([running])
        while held.work.under_way:
            await asyncio.sleep(0.001)
        assert await held.start(7) == 7

    asyncio.run(run())
