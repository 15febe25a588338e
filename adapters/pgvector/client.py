"""psycopg connections and pools with a time-out, which PostgreSQL's own client lacks."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg.rows import TupleRow, tuple_row
from psycopg.sql import Composed
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from retrivex.errors import StoreError, StoreTimeoutError
from retrivex.timeouts import call_in_time

T = TypeVar("T")

SyncClient: TypeAlias = psycopg.Connection[Any] | ConnectionPool[Any]
AsyncClient: TypeAlias = psycopg.AsyncConnection[Any] | AsyncConnectionPool[Any]

_GRACE_S = 2.0  # for the request to cancel


@dataclass(frozen=True, slots=True)
class TimedClient:
    """Sends a statement over a connection or a pool, and gives up after `timeout_s` seconds.

    Parameters
    ----------
    sync_client, async_client : the user's, at least one of them; never closed here
    timeout_s : for waiting for a connection and for the answer together

    Raises
    ------
    TimeoutError
        If there is no answer in time. The statement is cancelled.
    StoreError
        If a connection would leave transactions open.
    """

    sync_client: SyncClient | None
    async_client: AsyncClient | None
    timeout_s: float
    _turn: threading.Lock = field(default_factory=threading.Lock)
    """A single connection does one thing at a time: whoever waits for it must not cancel what another one asked."""

    def __post_init__(self) -> None:
        for client in (self.sync_client, self.async_client):
            if isinstance(client, (psycopg.Connection, psycopg.AsyncConnection)) and not client.autocommit:
                raise StoreError(
                    "the connection does not commit by itself, every answer would leave a transaction open: "
                    "connect with autocommit=True, or give a pool"
                )

    def rows(self, statement: Composed, values: dict[str, Any]) -> list[TupleRow]:
        """Return the rows of one statement."""

        def ask(connection: psycopg.Connection[Any]) -> list[TupleRow]:
            with connection.cursor(row_factory=tuple_row) as cursor:
                return cursor.execute(statement, values).fetchall()

        return self.run(ask)

    def run(self, work: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Do something with a connection, in time."""
        held: list[psycopg.Connection[Any]] = []

        def with_connection() -> T:
            with self._connection() as connection:
                held.append(connection)
                try:
                    return work(connection)
                finally:
                    held.clear()

        try:
            return call_in_time(with_connection, self.timeout_s)
        except StoreTimeoutError as error:
            for connection in held:
                with suppress(psycopg.Error):
                    connection.cancel_safe(timeout=_GRACE_S)
            raise TimeoutError(f"no answer within timeout_s={self.timeout_s:g}") from error

    async def arows(self, statement: Composed, values: dict[str, Any]) -> list[TupleRow]:
        """Return the rows of one statement; what took too long is cancelled by psycopg."""
        async with self._async_connection() as connection, connection.cursor(row_factory=tuple_row) as cursor:
            await cursor.execute(statement, values)
            return await cursor.fetchall()

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[Any]]:
        assert self.sync_client is not None
        if isinstance(self.sync_client, ConnectionPool):
            with self.sync_client.connection(timeout=self.timeout_s) as pooled:
                yield pooled
            return
        if not self._turn.acquire(timeout=self.timeout_s):
            raise TimeoutError(f"the connection was busy for {self.timeout_s:g} s: give a pool to many threads")
        try:
            yield self.sync_client
        finally:
            self._turn.release()

    @asynccontextmanager
    async def _async_connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        assert self.async_client is not None
        if isinstance(self.async_client, AsyncConnectionPool):
            async with self.async_client.connection(timeout=self.timeout_s) as pooled:
                yield pooled
        else:
            yield self.async_client
