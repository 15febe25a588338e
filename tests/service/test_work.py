from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from typing import Any

import pytest

from retrivex.service.errors import BusyError
from retrivex.service.work import Work


def test_a_job_runs_in_the_context_of_its_request() -> None:
    request: ContextVar[str] = ContextVar("request")

    async def ask(work: Work, name: str) -> str:
        request.set(name)
        return await work.do(request.get)

    async def run() -> list[str]:
        work = Work(1, 8, 600)
        return await asyncio.gather(ask(work, "a"), ask(work, "b"))

    assert asyncio.run(run()) == ["a", "b"]


def test_what_the_queue_holds_is_answered_and_more_is_refused() -> None:
    async def run() -> list[Any]:
        work, end = Work(1, 2, 600), threading.Event()

        def job(number: int) -> int:
            end.wait(60)
            return number

        tasks = [asyncio.create_task(work.do(job, number)) for number in range(5)]
        while work.under_way < 3:
            await asyncio.sleep(0)
        await asyncio.sleep(0.05)
        end.set()
        made = await asyncio.gather(*tasks, return_exceptions=True)
        assert work.under_way == 0
        assert await work.do(job, 7) == 7
        return ["refused" if isinstance(one, BusyError) else one for one in made]

    assert asyncio.run(run()) == [0, 1, 2, "refused", "refused"]


def test_under_overload_the_queue_is_short_and_afterwards_as_long_as_before() -> None:
    async def fill(work: Work, jobs: int) -> int:
        """Return how many of some jobs at once are taken in."""
        end = threading.Event()
        tasks = [asyncio.create_task(work.do(end.wait, 60)) for _ in range(jobs)]
        await asyncio.sleep(0.05)
        taken = work.under_way
        end.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        return taken

    async def run() -> None:
        work = Work(2, 16, 600)
        assert await fill(work, 18) == 18, "a burst is taken in whole"
        assert await fill(work, 100) == 18
        assert await fill(work, 100) == 2 + 16 // 4 + 2, "two found an idle thread, and gave back two places"
        for _ in range(16):
            await work.do(list)
        assert await fill(work, 18) == 18

    asyncio.run(run())


def test_nobody_waits_longer_than_may_be_and_what_runs_keeps_its_thread() -> None:
    async def run() -> None:
        work, end = Work(1, 2, 0.05), threading.Event()
        with pytest.raises(BusyError, match=r"longer than 0\.05 s"):
            await work.do(end.wait, 60)
        with pytest.raises(BusyError, match=r"longer than 0\.05 s"):
            await work.do(list)  # it waits behind the first, and is taken out
        assert work.under_way == 1
        end.set()

    asyncio.run(run())


@pytest.mark.parametrize("error", [KeyError, TimeoutError])
def test_an_error_of_a_job_comes_back(error: type[Exception]) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(error):
        asyncio.run(Work(1, 0, 600).do(fail))
