"""Runs the application under uvicorn: one worker, or several over the same indexes."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from retrivex.errors import ConfigError, RetrivexError, install_hint
from retrivex.service.keys import NEEDED, Keys
from retrivex.service.logs import LOGGER, LOGGING
from retrivex.service.settings import LOOPBACK, Settings, read_settings

try:
    import uvicorn
    from uvicorn.config import STARTUP_FAILURE
    from uvicorn.supervisors import Multiprocess

    from retrivex.service.app import create_app, open_service
except ImportError as error:
    raise ImportError(f"the service needs packages of its own: {install_hint('serve')}") from error

_GRACE_S = 30  # for requests under way, once the service ends


def check_exposure(settings: Settings) -> bool:
    """Return whether requests need keys; without keys, only this machine may reach the service.

    Raises
    ------
    ConfigError
        If it would listen to others without keys.
    """
    needed = Keys(settings.keys).are_needed()
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
        If something cannot be opened.
    """
    if check_exposure(settings):
        os.environ[NEEDED] = "1"
    options: dict[str, Any] = {
        "http": "h11",
        "ws": "none",
        "log_config": LOGGING,
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "limit_concurrency": settings.max_connections,
        "timeout_keep_alive": 15,
        "timeout_graceful_shutdown": _GRACE_S,
    }
    if settings.workers == 1:
        server = uvicorn.Server(uvicorn.Config(create_app(settings), **options))
        announce()
        server.run([door])
        return
    open_service(settings).close()  # what is wrong is said once, here, and not by each worker
    with tempfile.TemporaryDirectory(prefix="retrivex-metrics-") as folder:
        os.environ.update(settings.to_environment(), PROMETHEUS_MULTIPROC_DIR=folder)
        config = uvicorn.Config(f"{__name__}:create_worker", factory=True, workers=settings.workers, **options)
        announce()
        workers = Multiprocess(config, sockets=[door])
        workers.run()
    if any(process.exitcode == STARTUP_FAILURE for process in workers.processes):
        raise RetrivexError("a worker cannot open what it is to serve: the last line of its log says why")


def create_worker() -> Any:
    """Return the application of one of several workers; one that cannot be opened ends them all."""
    try:
        return create_app(read_settings())
    except RetrivexError as error:  # no request has come, so that the message quotes none
        LOGGER.error("worker cannot start", extra={"fields": {"detail": str(error)}})
        sys.exit(STARTUP_FAILURE)
