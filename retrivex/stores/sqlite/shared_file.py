"""A small SQLite file that threads and processes share, behind one connection."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from retrivex.errors import StoreError
from retrivex.stores.sqlite.connection import check_objects, connect, objects_of, sqlite_errors, store_path, write_ahead


class SharedFile:
    """A SQLite file whose one connection is used by one thread at a time.

    Parameters
    ----------
    path : the file, made where it does not exist
    schema : statements that make its tables, where they are not there
    busy_timeout_s : seconds to wait for another process that writes

    Raises
    ------
    StoreError
        If the file cannot be opened, is none, is no database, or holds anything else.
    """

    def __init__(self, path: str | os.PathLike[str], schema: str, *, busy_timeout_s: float) -> None:
        self.path = store_path(path, read_only=False)
        self._lock = threading.Lock()
        with sqlite_errors(str(self.path)):
            self._connection = connect(self.path, mode="rwc", busy_timeout_s=busy_timeout_s)
            try:
                write_ahead(self._connection)
                # before anything is made: an index computes what is in its table
                check_objects(self._connection, str(self.path), objects_of(schema))
                self._connection.executescript(f"BEGIN IMMEDIATE; {schema}; COMMIT")
            except (StoreError, sqlite3.Error):
                self._connection.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; it may not be used afterwards."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def transaction(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        """Lend the connection; what is written is there whole, or not at all."""
        with self._lock, sqlite_errors(str(self.path)):
            # one that will write says so at once: turning from reader to writer in between may fail
            self._connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
