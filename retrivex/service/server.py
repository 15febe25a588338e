"""Runs the application: one worker or several over the same indexes, and an end that loses no request."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread, Timer
from types import FrameType
from typing import Any

from retrivex.errors import ConfigError, RetrivexError, install_hint
from retrivex.service.draining import DRAINING
from retrivex.service.keys import NEEDED_MARK, Keys
from retrivex.service.logs import LOGGER, set_up_logs
from retrivex.service.metrics import forget_process
from retrivex.service.settings import LOOPBACK, PREFIX, Settings, read_settings

try:
    import uvicorn

    from retrivex.service.app import open_service
    from retrivex.service.connections import Connection, Door
except ImportError as error:
    raise ImportError(f"the service needs packages of its own: {install_hint('serve')}") from error

_APP = "retrivex.service.app:create_app"
_LOOK_S = 0.5  # after which workers that died are looked for
_SAME_SIGNAL_S = 0.5  # within which a second signal is the first one again
_GRACE_S = 30  # for requests under way, once the service ends
_CANNOT_OPEN = 78
"""Exit code of a worker that cannot open what it is to serve; EX_CONFIG of sysexits."""

_DEATHS = 5  # of workers in a row, none of which was ready before


class DrainingServer(uvicorn.Server):
    """A server that answers new requests with 503 for a moment before it closes its door.

    Parameters
    ----------
    config : of uvicorn
    drain_s : seconds of that moment
    on_ready : is called once it serves
    """

    def __init__(self, config: uvicorn.Config, drain_s: float, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._drain_s = drain_s
        self._on_ready = on_ready
        self._ending_since = 0.0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets)
        self._on_ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end; a second signal, a moment later, ends at once."""
        now = time.monotonic()
        if DRAINING.is_set():
            # a signal to the whole group comes once from its sender and once from the parent
            if now - self._ending_since > _SAME_SIGNAL_S:
                super().handle_exit(sig, frame)
            return
        self._ending_since = now
        DRAINING.set()
        timer = Timer(self._drain_s, super().handle_exit, (signal.SIGTERM, None))
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


def run_server(settings: Settings, door: socket.socket, announce: Callable[[], None]) -> None:
    """Serve until a signal comes; requests under way end before.

    Parameters
    ----------
    settings : what to serve, and how
    door : that it is reached by
    announce : is called once everything could be opened

    Raises
    ------
    RetrivexError
        If something cannot be opened, or workers fail before they are ready.
    """
    with tempfile.TemporaryDirectory(prefix="retrivex-") as folder:
        _share(settings, Path(folder))
        if settings.workers == 1:
            server = _make_server(lambda: None)
            announce()
            server.run([Door(door)])
        else:
            open_service(read_settings()).close()  # what is wrong is said once, here, and not by each worker
            announce()
            Workers(settings.workers, door).run()


def _make_server(on_ready: Callable[[], None]) -> DrainingServer:
    """Open what this process is to serve; what that is stands in its environment."""
    set_up_logs()
    settings = read_settings()
    # by h11 alone, which the limits of connections are made for, and without websockets, which nothing here speaks;
    # Any: uvicorn calls what it is given, and says that it has to be a class
    protocol: Any = partial(Connection, timeout_s=settings.timeout_s, most=settings.max_connections)
    config = uvicorn.Config(
        _APP,
        factory=True,
        http=protocol,
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=True,
        timeout_graceful_shutdown=_GRACE_S,
        timeout_keep_alive=15,
        h11_max_incomplete_event_size=32 * 1024,
        proxy_headers=False,
    )
    config.load()
    return DrainingServer(config, settings.drain_s, on_ready)


def _work(door: socket.socket, ready: Any) -> None:
    """Serve as one of several workers; `ready.value` becomes 1 once it does."""

    def on_ready() -> None:
        ready.value = 1

    try:
        server = _make_server(on_ready)
    except RetrivexError as error:  # of what the service opens: no request has come, so that the message quotes none
        LOGGER.error("worker cannot start", extra={"fields": {"detail": str(error)}})
        sys.exit(_CANNOT_OPEN)
    Thread(target=_end_with_parent, daemon=True).start()
    server.run([Door(door)])


def _end_with_parent() -> None:
    """End this worker once its parent has died, which nobody else would tell it."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


class Workers:
    """Processes that serve from one socket: one that dies is replaced, and a signal to end goes to all.

    Parameters
    ----------
    count : of processes
    door : that they accept from
    """

    def __init__(self, count: int, door: socket.socket) -> None:
        self._door = door
        self._ending = False
        self._closing = False
        # what a handler may put into at any moment; an Event has a lock, which its own waiting thread may hold then
        self._signals: SimpleQueue[int] = SimpleQueue()
        self._running: list[tuple[BaseProcess, Any]] = []
        self._count = count
        self._deaths = 0  # in a row, before a worker was ready

    def run(self) -> None:
        """Keep the processes running until a signal comes; return when all have ended.

        Raises
        ------
        RetrivexError
            If a worker cannot open what it is to serve, or several die before they are ready.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        try:
            while not self._ending:
                self._look()
                while not self._ending and len(self._running) < self._count:
                    self._running.append(self._start())
                with suppress(Empty):
                    self._signals.get(timeout=_LOOK_S)
        finally:
            self._close()

    def _look(self) -> None:
        """Forget the processes that died.

        Raises
        ------
        RetrivexError
            If others in their place would die as well.
        """
        dead = [(process, ready) for process, ready in self._running if not process.is_alive()]
        self._running = [one for one in self._running if one not in dead]
        if any(ready.value for _, ready in self._running):
            self._deaths = 0
        for process, ready in dead:
            forget_process(process.pid)
            if process.exitcode == _CANNOT_OPEN:
                raise RetrivexError("a worker cannot open what it is to serve: the last line of its log says why")
            self._deaths = 0 if ready.value else self._deaths + 1
            if self._deaths >= _DEATHS:
                raise RetrivexError(
                    f"{_DEATHS} workers in a row ended before they were ready, the last with exit code "
                    f"{process.exitcode}: see the log; where memory runs out, take fewer workers"
                )

    def _start(self) -> tuple[BaseProcess, Any]:
        # spawned and not forked: an open database must not be carried through a fork
        context = get_context("spawn")
        ready = context.Value("b", 0, lock=False)  # without a lock, which a killed worker could hold
        process = context.Process(target=_work, args=(self._door, ready))
        process.start()
        return process, ready

    def _end(self, number: int, frame: FrameType | None) -> None:
        # at first no more than a note: a worker may be half started
        self._ending = True
        self._signals.put(number)
        if self._closing:
            self._terminate()

    def _close(self) -> None:
        """End the processes, and return when all have ended; a further signal goes to them as well."""
        self._door.close()  # the workers have it open, until each has drained; kept open here, it would never close
        self._closing = True
        self._terminate()
        for process, _ in self._running:
            process.join()

    def _terminate(self) -> None:
        for process, _ in self._running:
            process.terminate()


def _share(settings: Settings, folder: Path) -> None:
    """Say in the environment what each worker reads: the settings, and where they count together."""
    os.environ.update(settings.to_environment())
    if settings.quotas is None:
        os.environ[f"{PREFIX}QUOTAS"] = str(folder / "quotas.db")
    mark = folder / "keys-needed"
    os.environ[NEEDED_MARK] = str(mark)
    if check_exposure(settings):
        mark.touch(mode=0o600)
    if settings.workers > 1:
        counters = folder / "metrics"
        shutil.rmtree(counters, ignore_errors=True)
        counters.mkdir()
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(counters)
