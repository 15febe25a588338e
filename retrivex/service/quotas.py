"""How often and how much at once a key may ask, counted in a SQLite file that all workers share."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from retrivex.service.errors import RateError
from retrivex.stores.sqlite.connection import check_objects, connect, objects_of, sqlite_errors

_CACHE_KIB = 256
_BUSY_S = 2.0
_BURST_S = 2.0  # seconds of its rate that a key may spend at once
_SCHEMA = """
CREATE TABLE IF NOT EXISTS rates (key TEXT PRIMARY KEY, allowance REAL NOT NULL, at REAL NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS running (id INTEGER PRIMARY KEY, key TEXT NOT NULL, until REAL NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS running_key ON running (key);
"""


class Quotas:
    """Counts the requests of keys: a token bucket for their rate, a row for each that is under way.

    Parameters
    ----------
    path : of the file; it may be lost without harm
    rate : requests a second that a key may send, twice as many at once after a rest
    concurrency : requests of a key that may be under way
    longest_s : seconds after which a request counts as ended: its worker may have been killed
    clock : seconds, the same for all processes

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     quotas = Quotas(Path(folder, "quotas.db"), rate=1, concurrency=1)
    ...     with quotas.admit("acme"), quotas.admit("wayne"):
    ...         try:
    ...             with quotas.admit("acme"):
    ...                 pass
    ...         except RateError as error:
    ...             said = str(error)
    ...     quotas.close()
    >>> said
    'this key has 1 request under way: the limit is 1; wait for one to end'
    """

    def __init__(
        self,
        path: Path,
        *,
        rate: float,
        concurrency: int,
        longest_s: float = 60.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._rate = rate
        self._concurrency = concurrency
        self._longest_s = longest_s
        self._clock = clock
        self._held: Counter[str] = Counter()
        self._lock = threading.Lock()
        with sqlite_errors("the file of quotas"):
            self._connection = connect(path, mode="rwc", busy_timeout_s=_BUSY_S, cache_kib=_CACHE_KIB)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = OFF")
            check_objects(self._connection, "the file of quotas", objects_of(_SCHEMA))
            self._connection.executescript(_SCHEMA)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def hold(self, key: str) -> Iterator[None]:
        """Count a request of a key in this process while the block runs, also while it waits for a thread.

        Without it, the requests of one key could fill the queue of a worker, where nobody has counted them yet. It is
        for the event loop: it takes no lock and reads no file.

        Raises
        ------
        RateError
            If the key has too many requests here.
        """
        if self._held[key] >= self._concurrency:
            raise self._too_many(self._held[key])
        self._held[key] += 1
        try:
            yield
        finally:
            self._held[key] -= 1
            if not self._held[key]:
                del self._held[key]

    @contextmanager
    def admit(self, key: str) -> Iterator[None]:
        """Count a request of a key while the block runs.

        Raises
        ------
        RateError
            If the key asks too often, or has too many requests under way.
        """
        with self._transaction() as connection:
            ticket = self._enter(connection, key, self._clock())
        try:
            yield
        finally:
            with self._transaction() as connection:
                connection.execute("DELETE FROM running WHERE id = ?", (ticket,))

    def _enter(self, connection: sqlite3.Connection, key: str, now: float) -> int | None:
        connection.execute("DELETE FROM running WHERE until < ?", (now,))
        [running] = connection.execute("SELECT count(*) FROM running WHERE key = ?", (key,)).fetchone()
        if running >= self._concurrency:
            raise self._too_many(running)
        most = max(1.0, _BURST_S * self._rate)
        row = connection.execute("SELECT allowance, at FROM rates WHERE key = ?", (key,)).fetchone()
        before, at = row or (most, now)
        allowance = min(most, before + max(0.0, now - at) * self._rate)
        if allowance < 1:
            raise RateError(
                f"this key asks more than {self._rate:g} times a second: ask more slowly", (1 - allowance) / self._rate
            )
        connection.execute("INSERT OR REPLACE INTO rates VALUES (?, ?, ?)", (key, allowance - 1, now))
        query = "INSERT INTO running (key, until) VALUES (?, ?)"
        return connection.execute(query, (key, now + self._longest_s)).lastrowid

    def _too_many(self, running: int) -> RateError:
        requests = "1 request" if running == 1 else f"{running} requests"
        return RateError(
            f"this key has {requests} under way: the limit is {self._concurrency}; wait for one to end", 1.0
        )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, sqlite_errors("the file of quotas"):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
