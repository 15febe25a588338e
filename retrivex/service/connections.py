"""Connections: how many there may be, and how long each may take to send a request and to take its answer."""

from __future__ import annotations

import asyncio
import errno
import math
import socket
import time
from typing import Any

from retrivex.errors import install_hint
from retrivex.service.gate import App, Message, Receive, Scope, Send
from retrivex.service.logs import LOGGER

try:
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError as error:
    raise ImportError(f"the service needs packages of its own: {install_hint('serve')}") from error

_CLOSE = (b"connection", b"close")
_KEPT = 4
"""One of so many file descriptors is kept for databases, uploads and logs."""

_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_REST_S = 0.5  # below the second after which asyncio tries again
_SAID_S = 10.0  # between two log lines that connections are refused


class Door(socket.socket):
    """A listening socket that turns connections away before the process runs out of file descriptors.

    Parameters
    ----------
    door : the socket that it takes the place of, which is closed for its owner
    """

    def __init__(self, door: socket.socket) -> None:
        family, kind, protocol = door.family, door.type, door.proto
        super().__init__(family, kind, protocol, fileno=door.detach())
        self._most = _count_descriptors()
        self._failed = -math.inf

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection; beyond the limit it is closed at once.

        Raises
        ------
        OSError
            If there is none, or it was closed.
        """
        if time.monotonic() < self._failed + _REST_S:
            raise BlockingIOError(errno.EAGAIN, "no descriptor was left a moment ago")  # asyncio would ask for ever
        try:
            connection, address = super().accept()
        except OSError as error:
            if error.errno in _EXHAUSTED:
                self._failed = time.monotonic()
            raise
        if connection.fileno() >= self._most:  # the lowest free number: all below are in use
            connection.close()
            _say_refused()
            raise ConnectionAbortedError(errno.ECONNABORTED, "too many file descriptors are in use")
        return connection, address


class Connection(H11Protocol):
    """A connection that ends where its client is too slow.

    A request's header has to come within `timeout_s` of its first byte, the first one of the connection opening. An
    answer of which nothing is taken for as long ends it, too. One that is sent before all of the request's body has
    come says that the connection closes; the rest of the body is thrown away for `timeout_s` at most.

    Parameters
    ----------
    timeout_s : seconds
    most : connections of this process; others are closed at once
    """

    def __init__(self, *args: Any, timeout_s: float, most: int, **options: Any) -> None:
        super().__init__(*args, **options)
        self._timeout_s = timeout_s
        self._most = most
        self._answering: App = self.app
        self.app: App = self._answer
        self._plain: Any = None  # the transport that uvicorn's is made of
        self._throwing_away = False
        self._deadline: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, unless there are too many."""
        self._plain = transport
        if len(self.connections) >= self._most:
            self._plain.abort()
            _say_refused()
            return
        seen: Any = _Closing(transport, self)
        super().connection_made(seen)
        self._watch_header()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._stop_deadline()
        self._stop_stalled()
        if self.flow is not None:
            super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        if not self._throwing_away:
            super().data_received(data)
            self._watch_header()

    def eof_received(self) -> None:
        """Close, as asyncio does, once what was written is taken."""
        self._watch_writing()

    def pause_writing(self) -> None:
        """Wait for the client to take what was written."""
        super().pause_writing()
        self._watch_writing()

    def resume_writing(self) -> None:
        """Write on."""
        super().resume_writing()
        self._stop_stalled()

    @property
    def is_ending(self) -> bool:
        """Whether it takes no more requests."""
        return self._throwing_away or self._plain.is_closing()

    def end(self) -> None:
        """Close; what is left of a request's body is read before, as a reset would take the answer along."""
        self._stop_deadline()
        if self.conn.their_state is not h11.SEND_BODY or self.is_ending:
            self._plain.close()
            self._watch_writing()
            return
        self._throwing_away = True
        self.flow.resume_reading()
        self._plain.write_eof()
        self._deadline = self.loop.call_later(self._timeout_s, self._plain.abort)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start" and self.conn.their_state is h11.SEND_BODY:
                headers = [pair for pair in message.get("headers", ()) if pair[0].lower() != b"connection"]
                message = {**message, "headers": [*headers, _CLOSE]}
            await send(message)

        await self._answering(scope, receive, send_on)

    def _watch_header(self) -> None:
        """Limit the time while a header comes; between requests the limit is uvicorn's `timeout_keep_alive`."""
        waits = self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None and not self.is_ending
        if not waits:
            self._stop_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self._timeout_s, self.end)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _stop_stalled(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _watch_writing(self) -> None:
        if self._stalled is None and self._plain.get_write_buffer_size():
            self._look_again()

    def _look_again(self) -> None:
        left = self._plain.get_write_buffer_size()
        self._stalled = self.loop.call_later(self._timeout_s, self._look_at_writing, left)

    def _look_at_writing(self, before: int) -> None:
        self._stalled = None
        left = self._plain.get_write_buffer_size()
        if left >= before:
            self._plain.abort()
        elif left:
            self._look_again()


class _Closing:
    """A transport that asks its connection how to close."""

    def __init__(self, transport: Any, connection: Connection) -> None:
        self._transport = transport
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        return self._connection.is_ending

    def close(self) -> None:
        self._connection.end()


def _count_descriptors() -> float:
    """Return the number of descriptors beyond which no connection is let in."""
    try:
        import resource  # noqa: PLC0415 - Windows has none
    except ImportError:
        return math.inf
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return math.inf if most == resource.RLIM_INFINITY else most - most // _KEPT


_said = -math.inf


def _say_refused() -> None:
    """Log that connections are refused: seldom, as they may come by the thousand."""
    global _said
    now = time.monotonic()
    if now > _said + _SAID_S:
        _said = now
        LOGGER.warning("connections refused: there are too many")
