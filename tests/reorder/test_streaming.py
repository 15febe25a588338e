"""Passages that come in one by one."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.passages import FIVE, ids, passage

from retrivex import Reorderer
from retrivex.reorder import ReorderDiagnostics


class Source:
    """Counts what was read of it."""

    def __init__(self, count: int) -> None:
        self.count, self.read = count, 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for place in range(self.count):
            self.read += 1
            yield passage(str(place), place / 10)

    async def each(self) -> AsyncIterator[dict[str, Any]]:
        for one in self:
            await asyncio.sleep(0)
            yield one


def test_output_starts_before_the_input_has_ended() -> None:
    source = Source(1000)
    stream = Reorderer(window_size=4).reorder_stream(iter(source))
    assert source.read == 0
    assert next(stream)["id"] == "3"
    assert source.read == 4
    assert [next(stream)["id"] for _ in range(4)] == ["1", "0", "2", "7"]
    assert source.read == 8


def test_an_endless_input_can_be_streamed() -> None:
    def endless() -> Iterator[dict[str, Any]]:
        while True:
            yield from FIVE

    stream = Reorderer(window_size=5).reorder_stream(endless())
    assert ids([next(stream) for _ in range(10)]) == "acedbacedb"


def test_async_output_starts_before_the_input_has_ended() -> None:
    async def main() -> None:
        source = Source(1000)
        stream = Reorderer(window_size=4).reorder_stream(source.each())
        assert (await anext(stream))["id"] == "3"
        assert source.read == 4
        rest = [(await anext(stream))["id"] for _ in range(4)]
        assert (rest, source.read) == (["1", "0", "2", "7"], 8)

    asyncio.run(main())


def test_an_event_loop_runs_while_a_sync_input_is_waited_for() -> None:
    async def main() -> str:
        loop_ran = threading.Event()

        def slow() -> Iterator[dict[str, Any]]:
            for one in FIVE:
                # set by the event loop alone: where reading blocks it, nobody does
                assert loop_ran.wait(60), "the event loop stood still"
                loop_ran.clear()
                yield one

        async def tick() -> None:
            while True:
                loop_ran.set()
                await asyncio.sleep(0.001)

        ticking = asyncio.create_task(tick())
        try:
            return await collect(Reorderer(window_size=2).areorder_stream(slow()))
        finally:
            ticking.cancel()

    assert asyncio.run(main()) == "abcde"


def test_a_sync_input_that_fails_raises_its_own_error() -> None:
    def failing() -> Iterator[dict[str, Any]]:
        yield FIVE[0]
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"):
        asyncio.run(collect(Reorderer(window_size=1).areorder_stream(failing())))


async def collect(stream: AsyncIterator[dict[str, Any]]) -> str:
    return ids([one async for one in stream])


@given(st.integers(0, 20), st.integers(1, 7))
def test_every_way_gives_the_same_windows(count: int, size: int) -> None:
    reorderer = Reorderer(window_size=size, top_k=3)
    expected = ids(reorderer.reorder_stream(iter(Source(count))))
    listed = list(Source(count))
    windows = [reorderer.reorder(listed[start : start + size]) for start in range(0, count, size)]
    assert expected == ids(one for window in windows for one in window)
    assert asyncio.run(collect(reorderer.reorder_stream(Source(count).each()))) == expected
    assert asyncio.run(collect(reorderer.areorder_stream(iter(Source(count))))) == expected
    assert asyncio.run(collect(reorderer.areorder_stream(Source(count).each()))) == expected


def test_a_list_is_ordered_as_a_whole() -> None:
    assert ids(Reorderer(window_size=2).reorder_stream(FIVE)) == "acedb"
    assert asyncio.run(collect(Reorderer(window_size=2).areorder_stream(FIVE))) == "acedb"


def test_overrides_and_diagnostics_hold_for_every_window() -> None:
    seen: list[ReorderDiagnostics] = []
    stream = Reorderer().reorder_stream(
        iter(FIVE), "q", window_size=2, strategy="best_last", on_diagnostics=seen.append
    )
    assert ids(stream) == "badce"
    assert [one.input_count for one in seen] == [2, 2, 1]


def test_a_wrong_override_is_told_at_once() -> None:
    with pytest.raises(ValueError, match="window_size"):
        Reorderer().reorder_stream(iter(FIVE), window_size=0)
    with pytest.raises(ValueError, match="window_size"):
        Reorderer().areorder_stream(iter(FIVE), window_size=0)


@pytest.mark.parametrize("wrong", ["text", {"id": "a"}, 7])
def test_what_is_no_passages_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="passages are a"):
        list(Reorderer().reorder_stream(wrong))
    with pytest.raises(ValueError, match="passages are a"):
        asyncio.run(collect(Reorderer().areorder_stream(wrong)))


def test_a_bad_passage_raises_where_it_stands() -> None:
    stream = Reorderer(window_size=2).reorder_stream(iter([*FIVE[:2], passage("x", float("nan")), FIVE[2]]))
    assert ids([next(stream), next(stream)]) == "ab"
    with pytest.raises(ValueError, match="nan"):
        next(stream)


def test_a_cursor_can_be_read_that_only_its_own_thread_may_use() -> None:
    def rows() -> Iterator[dict[str, Any]]:
        connection = sqlite3.connect(":memory:")
        connection.execute("create table passages (id, text, score)")
        connection.executemany("insert into passages values (?, ?, ?)", [(str(i), "?", i / 100) for i in range(50)])
        for name, text, score in connection.execute("select * from passages"):
            yield {"id": name, "text": text, "score": score}
        connection.close()

    async def main() -> list[str]:
        return [one["id"] async for one in Reorderer(window_size=3).areorder_stream(rows())]

    for _ in range(5):  # a pool of threads may happen to use the same one
        assert sorted(asyncio.run(main()), key=int) == [str(i) for i in range(50)]


class Endless:
    """Passages without end; notes which were read, and by which threads. The one at `wait_at` waits for `go_on`."""

    def __init__(self, wait_at: int | None = None) -> None:
        self.read: list[int] = []
        self.threads: set[int] = set()
        self.wait_at, self.go_on, self.closed = wait_at, threading.Event(), threading.Event()

    def each(self) -> Iterator[dict[str, Any]]:
        try:
            for place in itertools.count():
                self.threads.add(threading.get_ident())
                self.read.append(place)
                assert place != self.wait_at or self.go_on.wait(60)
                yield passage(str(place), 0.5)
        finally:
            self.threads.add(threading.get_ident())
            self.closed.set()


@pytest.mark.parametrize("how", ["break", "close"])
def test_reading_stops_where_the_consumer_stops(how: str) -> None:
    source = Endless()

    async def main() -> None:
        stream = Reorderer(window_size=4).areorder_stream(source.each())
        async for _ in stream:
            break
        if how == "close":
            await stream.aclose()  # type: ignore[attr-defined]
        del stream
        assert await asyncio.to_thread(source.closed.wait, 20)

    asyncio.run(main())
    assert source.read == [0, 1, 2, 3]
    assert len(source.threads) == 1
    assert source.threads != {threading.get_ident()}


def test_a_consumer_that_is_cancelled_stops_the_reading_in_the_midst_of_a_window() -> None:
    source = Endless(wait_at=2)

    async def main() -> None:
        consumer = asyncio.create_task(collect(Reorderer(window_size=1000).areorder_stream(source.each())))
        while source.read != [0, 1, 2]:
            await asyncio.sleep(0.001)
        consumer.cancel()
        await asyncio.wait([consumer])
        source.go_on.set()
        assert await asyncio.to_thread(source.closed.wait, 20)

    asyncio.run(main())
    assert source.read == [0, 1, 2]


@pytest.mark.parametrize("error", [StopIteration("odd"), asyncio.CancelledError("odd")])
def test_an_input_that_pretends_to_be_something_else_fails_by_name(error: BaseException) -> None:
    class Odd:
        def __iter__(self) -> Iterator[Any]:
            raise error

    with pytest.raises(RuntimeError, match=type(error).__name__):
        asyncio.run(collect(Reorderer().areorder_stream(Odd())))


def test_context_variables_reach_the_input() -> None:
    user: contextvars.ContextVar[str] = contextvars.ContextVar("user")

    def rows() -> Iterator[dict[str, Any]]:
        yield passage(user.get(), 0.5)

    async def main() -> str:
        user.set("ann")
        return await collect(Reorderer().areorder_stream(rows()))

    assert asyncio.run(main()) == "ann"
