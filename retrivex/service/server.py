"""Runs the application: one worker or several over the same indexes, and an end that loses no request."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Event, Timer
from types import FrameType

from retrivex.errors import ConfigError, install_hint
from retrivex.service.draining import DRAINING
from retrivex.service.keys import Keys
from retrivex.service.logs import set_up_logs
from retrivex.service.metrics import forget_process
from retrivex.service.settings import LOOPBACK, PREFIX, Settings, read_settings

try:
    import uvicorn
except ImportError as error:
    raise ImportError(f"the service needs packages of its own: {install_hint('serve')}") from error

_APP = "retrivex.service.app:create_app"
_LOOK_S = 0.5  # after which workers that died are looked for
_GRACE_S = 30  # for requests under way, once the service ends


class DrainingServer(uvicorn.Server):
    """A server that answers new requests with 503 for a moment before it closes its door."""

    drain_s = 1.0

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal comes; logs of a process that was started anew are set up here."""
        set_up_logs()
        self.drain_s = read_settings().drain_s
        super().run(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end; a second signal ends at once."""
        if DRAINING.is_set():
            super().handle_exit(sig, frame)
            return
        DRAINING.set()
        timer = Timer(self.drain_s, super().handle_exit, (signal.SIGTERM, None))
        timer.daemon = True
        timer.start()


def check_exposure(settings: Settings) -> bool:
    """Return whether requests need keys; without keys, only this machine may reach the service.

    Raises
    ------
    ConfigError
        If it would listen to others without keys.
    """
    keys = Keys(settings.keys)
    try:
        needed = keys.are_needed()
    finally:
        keys.close()
    if not needed and settings.host not in LOOPBACK:
        raise ConfigError(
            f"host is {settings.host!r}, and {settings.keys} holds no key: without keys the service listens on this "
            "machine alone; make one with `retrivex keys create`, or leave host out"
        )
    return needed


@contextmanager
def bind(settings: Settings) -> Iterator[socket.socket]:
    """Open the door: a socket that all workers accept from.

    Raises
    ------
    ConfigError
        If the address is taken, or cannot be had.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # with its protocol named: without it asyncio leaves Nagle's algorithm on, which holds answers back for 40 ms
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind((settings.host, settings.port))
        except OSError as error:
            raise ConfigError(
                f"{settings.host}:{settings.port} cannot be listened on: {error.strerror}; choose another port"
            ) from error
        door.listen(512)
        door.set_inheritable(True)
        yield door


def run_server(settings: Settings, door: socket.socket) -> None:
    """Serve until a signal comes; requests under way end before."""
    with tempfile.TemporaryDirectory(prefix="retrivex-") as folder:
        _share(settings, Path(folder))
        if settings.workers == 1:
            _work(door)
        else:
            Workers(settings.workers, door).run()


def _work(door: socket.socket) -> None:
    """Serve in this process; what to serve stands in its environment."""
    set_up_logs()
    config = uvicorn.Config(
        _APP,
        factory=True,
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=True,
        timeout_graceful_shutdown=_GRACE_S,
        timeout_keep_alive=15,
        h11_max_incomplete_event_size=32 * 1024,
        proxy_headers=False,
    )
    DrainingServer(config).run([door])


class Workers:
    """Processes that serve from one socket: one that dies is replaced, and a signal to end goes to all.

    Parameters
    ----------
    count : of processes
    door : that they accept from
    """

    def __init__(self, count: int, door: socket.socket) -> None:
        self._door = door
        self._ending = Event()
        self._running: list[BaseProcess] = []
        self._count = count

    def run(self) -> None:
        """Keep the processes running until a signal comes; return when all have ended."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        while not self._ending.is_set():
            for process in self._running:
                if not process.is_alive():
                    forget_process(process.pid)
            self._running = [process for process in self._running if process.is_alive()]
            while len(self._running) < self._count:
                self._running.append(self._start())
            self._ending.wait(_LOOK_S)
        for process in self._running:
            process.join()

    def _start(self) -> BaseProcess:
        # spawned and not forked: an open database must not be carried through a fork
        process = get_context("spawn").Process(target=_work, args=(self._door,))
        process.start()
        return process

    def _end(self, number: int, frame: FrameType | None) -> None:
        self._ending.set()
        for process in self._running:
            process.terminate()


def _share(settings: Settings, folder: Path) -> None:
    """Say in the environment what each worker reads: the settings, and where they count together."""
    os.environ.update(settings.to_environment())
    if settings.quotas is None:
        os.environ[f"{PREFIX}QUOTAS"] = str(folder / "quotas.db")
    if settings.workers > 1:
        counters = folder / "metrics"
        shutil.rmtree(counters, ignore_errors=True)
        counters.mkdir()
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(counters)
