"""Several workers and the signals that end them, whenever these come."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.integration


class Worker:
    """A process that ends with the signals that it is said to need; waiting for it without them would be for ever."""

    exitcode = None
    pid = 0

    def __init__(self, needed: int = 1, on_join: Callable[[], None] = lambda: None) -> None:
        self.told = 0
        self._needed = needed
        self._on_join = on_join

    def is_alive(self) -> bool:
        return self.told < self._needed

    def terminate(self) -> None:
        self.told += 1

    def join(self) -> None:
        self._on_join()
        assert not self.is_alive()


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    from retrivex.service import server  # noqa: PLC0415 - the extra serve alone has what it needs

    monkeypatch.setattr(server, "_LOOK_S", 600)  # a signal that is lost would be waited for
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    with socket.socket() as made:
        yield made
    for number, handler in before.items():
        signal.signal(number, handler)


def _run(door: socket.socket, start: Callable[[], Worker]) -> None:
    from retrivex.service.server import Workers  # noqa: PLC0415 - as above

    workers: Any = Workers(2, door)
    workers._start = lambda: (start(), SimpleNamespace(value=1))
    workers.run()
    assert door.fileno() == -1


def _send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("moment", [1, 2])
def test_a_signal_while_a_worker_is_started_ends_this_one_too(number: int, moment: int, door: socket.socket) -> None:
    started: list[Worker] = []

    def start() -> Worker:
        started.append(Worker())
        if len(started) == moment:
            _send(number)
            assert door.fileno() != -1  # which the worker that is being started needs
        return started[-1]

    _run(door, start)
    assert [worker.told for worker in started] == [1] * moment


def test_a_signal_while_a_worker_is_replaced_ends_all(door: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrivex.service.server._LOOK_S", 0.01)
    monkeypatch.setattr("retrivex.service.server.forget_process", lambda _: None)
    started: list[Worker] = []

    def start() -> Worker:
        started.append(Worker(needed=0 if not started else 1))  # the first one dies by itself
        if len(started) == 3:
            _send(signal.SIGTERM)
        return started[-1]

    _run(door, start)
    assert [worker.told for worker in started] == [0, 1, 1]


def test_a_second_signal_goes_to_the_workers_at_once(door: socket.socket) -> None:
    started: list[Worker] = []

    def start() -> Worker:
        started.append(Worker(needed=2, on_join=lambda: _send(signal.SIGTERM)))
        if len(started) == 2:
            _send(signal.SIGTERM)
        return started[-1]

    _run(door, start)
    assert [worker.told for worker in started] == [3, 3]  # the first signal, and one while each was waited for


def test_workers_end_where_one_cannot_be_started(door: socket.socket) -> None:
    started: list[Worker] = []

    def start() -> Worker:
        if started:
            raise BlockingIOError("no more processes")
        started.append(Worker())
        return started[-1]

    with pytest.raises(BlockingIOError):
        _run(door, start)
    assert started[0].told == 1
