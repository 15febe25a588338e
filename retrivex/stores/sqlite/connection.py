"""Connections to a store file: opening, sharing between threads, error messages."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections import deque
from collections.abc import Iterator, Set
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from retrivex.errors import StoreError, describe_cause, quoted

_MAX_IDLE = 8
_PAUSE_S = 0.01  # between two tries to switch to write-ahead logging
_READER_CACHE_KIB = 16 * 1024
_CHECKPOINT_PAGES = 4000  # 16 MB of log before it is copied into the file; SQLite's own 1000 copies pages too often
_WRITER_CACHE_KIB = 64 * 1024

SUFFIXES = ("", "-wal", "-shm", "-journal")
"""Of the files that a database consists of while it is open."""

_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)

# of opening a file to read where -wal and -shm cannot be made beside it
_NOTHING_BESIDE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR)

_EXPLANATIONS = {
    sqlite3.SQLITE_FULL: "the disk is full (or the file may not grow): free space and run again",
    sqlite3.SQLITE_BUSY: "another program holds the write lock: wait for it to finish, or raise busy_timeout_s",
    sqlite3.SQLITE_LOCKED: "another connection holds the table: wait for it to finish and run again",
    sqlite3.SQLITE_READONLY: "the file is read-only: open it with read_only=False, or make file and folder writable",
    sqlite3.SQLITE_NOTADB: "it is not an SQLite database: name another file for the store",
    sqlite3.SQLITE_CORRUPT: "the file is damaged: restore a copy, or index again into a new file",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: check that the folder exists and that you may write there",
    sqlite3.SQLITE_IOERR: "reading or writing failed: check the disk and run again",
    sqlite3.SQLITE_TOOBIG: "a text is larger than SQLite can hold (1 GB): cut the document into several",
}


class DamagedRowError(Exception):
    """A row holds what RetriVex never wrote: the file is damaged, or somebody else made it."""


@contextmanager
def sqlite_errors(path: str) -> Iterator[None]:
    """Turn SQLite's errors, and rows that cannot be read, into `StoreError` with the file and the way out."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {_explain(error)} (SQLite says: {error})") from error
    except (DamagedRowError, UnicodeDecodeError) as error:  # SQLite's own messages may quote bytes of a damaged file
        raise StoreError(f"{path}: {_EXPLANATIONS[sqlite3.SQLITE_CORRUPT]} ({error})") from error


WRONG_VALUE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What `json`, `numpy` and constructors raise for values that RetriVex never wrote."""


@contextmanager
def decoding(what: str) -> Iterator[None]:
    """Read values of a file that anybody may have written; whatever goes wrong is the file's fault.

    Raises
    ------
    DamagedRowError
        In place of `WRONG_VALUE`.
    """
    try:
        yield
    except WRONG_VALUE as error:
        raise DamagedRowError(f"{what} cannot be read: {describe_cause(error)}") from error


def _explain(error: sqlite3.Error) -> str:
    if "fts5" in str(error) and "no such module" in str(error):
        return "this Python's SQLite was built without FTS5: install a Python with full-text search"
    # the low byte is the error's family: SQLITE_BUSY_SNAPSHOT is a SQLITE_BUSY
    family = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    return _EXPLANATIONS.get(family, "the store could not do this")


@contextmanager
def nothing_left(path: Path) -> Iterator[None]:
    """Remove the file that the block has made, should the disk be too full for its tables."""
    is_new = not os.path.lexists(path)
    try:
        yield
    except sqlite3.Error as error:
        if is_new and (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF in _NO_ROOM:
            for suffix in SUFFIXES:
                Path(f"{path}{suffix}").unlink(missing_ok=True)
        raise


def connect(path: Path, *, mode: str, busy_timeout_s: float) -> sqlite3.Connection:
    """Open `path`; every transaction on the connection begins and ends by name.

    Parameters
    ----------
    path : the file
    mode : SQLite's: `rwc` creates the file, `rw` and `ro` need it
    busy_timeout_s : seconds to wait for a lock

    Raises
    ------
    StoreError
        If it is opened to be read where no file can be made, and has a write-ahead log.

    Notes
    -----
    On a read-only file system, `ro` reads the file as it is, without the files that SQLite makes beside it.
    """
    try:
        return _open(path, mode, busy_timeout_s)
    except sqlite3.OperationalError as error:
        if mode != "ro" or error.sqlite_errorcode & 0xFF not in _NOTHING_BESIDE:
            raise
        if _has_log(path):
            raise StoreError(
                f"{path} has a write-ahead log, which cannot be read where no file can be made: open the store once "
                "where its folder can be written, or copy it to such a folder with its -wal file"
            ) from error
    # nobody can write there, so that nothing changes under a reader without locks
    return _open(path, "ro&immutable=1", busy_timeout_s)


def _open(path: Path, mode: str, busy_timeout_s: float) -> sqlite3.Connection:
    # check_same_thread: the pool gives a connection to one thread at a time
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=busy_timeout_s,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        # What a file's own views, triggers and indexes may call: nothing that reaches outside of it.
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KIB if mode == 'rwc' else _READER_CACHE_KIB}")
        # With WAL, NORMAL survives a killed process whole; a power cut may cost the last documents, never the file.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        connection.execute(f"PRAGMA journal_size_limit = {_WRITER_CACHE_KIB * 1024}")
        if mode.startswith("ro"):
            connection.execute("PRAGMA schema_version").fetchone()  # the first look at the file
    except BaseException:
        connection.close()
        raise
    return connection


def _has_log(path: Path) -> bool:
    try:
        return os.path.getsize(f"{path}-wal") > 0
    except OSError:
        return False


def write_ahead(connection: sqlite3.Connection) -> str:
    """Switch to write-ahead logging and return the journal's mode.

    SQLite does not wait here for another process that switches at the same time: it has to be asked again.
    """
    ends = time.monotonic() + connection.execute("PRAGMA busy_timeout").fetchone()[0] / 1000
    while True:
        try:
            mode: str = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= ends:
                raise
            time.sleep(_PAUSE_S)
        else:
            return mode


SchemaObject: TypeAlias = tuple[Any, Any, Any, Any]
"""Type, name, table and SQL of a table, an index, a view or a trigger, as `sqlite_schema` has them."""

# what ANALYZE makes, which anybody may run on a file of theirs
_STATISTICS = frozenset(
    ("table", name, name, f"CREATE TABLE {name}({columns})")
    for name, columns in (("sqlite_stat1", "tbl,idx,stat"), ("sqlite_stat4", "tbl,idx,neq,nlt,ndlt,sample"))
)


def list_objects(connection: sqlite3.Connection) -> list[SchemaObject]:
    """Return all that the schema of a file holds."""
    return connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type DESC").fetchall()


@cache
def objects_of(schema: str) -> frozenset[SchemaObject]:
    """Return what statements make, as SQLite writes it down."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema)
        return frozenset(list_objects(connection))


def check_objects(connection: sqlite3.Connection, path: str, made: Set[SchemaObject]) -> None:
    """Refuse a file with anything that RetriVex did not make: a schema holds code, which SQLite runs for who reads.

    Not only of triggers, views and virtual tables: generated columns, checks, defaults and indexes are computed, too,
    and a table may replace the rows of others.

    Parameters
    ----------
    connection, path : the file
    made : all that it may hold

    Raises
    ------
    StoreError
        If it holds something else.
    """
    for found in list_objects(connection):
        if found not in made and found not in _STATISTICS:
            kind, name, _, sql = found
            is_virtual = kind == "table" and str(sql)[:14].upper() == "CREATE VIRTUAL"
            raise StoreError(
                f"{path} has the {'virtual table' if is_virtual else kind} {quoted(name)}, which RetriVex did not "
                "make: others changed the file; restore a copy, or make a new one (of a store: index again)"
            )


def remove_empty_log(path: Path, busy_timeout_s: float) -> None:
    """Let SQLite remove an empty `-wal` beside a file, with its `-shm`, unless another connection has them open.

    A connection that only reads makes both and cannot remove them; a log that holds something is left as it is.
    """
    if _has_log(path) or not os.path.exists(f"{path}-wal"):
        return
    # who may not write here leaves the two files, which hold nothing
    with suppress(sqlite3.Error), closing(connect(path, mode="rw", busy_timeout_s=busy_timeout_s)) as connection:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()  # only who has read closes the log


def store_path(path: str | os.PathLike[str], *, read_only: bool, in_memory: str | None = None) -> Path:
    """Return `path` if a store can be opened there.

    Parameters
    ----------
    path : of a file: SQLite's `:memory:` is none
    read_only : whether the file must exist
    in_memory : what keeps chunks in memory instead, for the error

    Raises
    ------
    StoreError
        If it is a folder, a pipe, a device or no name of a file, does not exist and `read_only`, or lies in a folder
        that does not exist.
    """
    if path in ("", ":memory:") or not isinstance(path, str | os.PathLike):
        instead = "" if in_memory is None else f", or use {in_memory} for chunks in memory"
        raise StoreError(f"{path!r} is no file: name one{instead}")
    found = Path(path)
    try:
        if b"\0" in os.fsencode(found):
            # SQLite would end the name there, and open another file
            raise StoreError(f"{quoted(str(found))} holds a NUL character: name another file")
        mode = found.stat().st_mode if found.exists() else None
    except (OSError, UnicodeEncodeError) as error:
        raise StoreError(
            f"{quoted(str(found))} cannot be opened: {describe_cause(error)}; name another file"
        ) from error
    if mode is not None and stat.S_ISDIR(mode):
        raise StoreError(f"{found} is a folder: name a file in it, such as {found / 'retrivex.db'}")
    if mode is not None and not stat.S_ISREG(mode):
        # to open a pipe waits for who writes into it, without end
        raise StoreError(f"{found} is a pipe or a device: name a regular file")
    if read_only and mode is None:
        raise StoreError(f"{found} does not exist: index documents into it first")
    if not found.absolute().parent.is_dir():
        raise StoreError(f"{found} cannot be created: the folder {found.parent} does not exist; make it first")
    return found


class ReaderPool:
    """A pool of reading connections, each used by one thread at a time.

    More threads than idle connections open more; at most 8 are kept. A thread may be as short-lived as it likes.
    """

    def __init__(self, path: Path, *, read_only: bool, busy_timeout_s: float) -> None:
        self._path = path
        self._mode = "ro" if read_only else "rw"
        self._busy_timeout_s = busy_timeout_s
        # append and pop of a deque are atomic: no lock needed
        self._idle: deque[sqlite3.Connection] = deque()
        self._closed = False

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection inside one read transaction: everything read belongs to the same state of the file."""
        with self.connection() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                # some errors end the transaction themselves
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection for single statements."""
        if self._closed:
            raise StoreError(f"{self._path}: the store is closed; open it again")
        with sqlite_errors(str(self._path)):
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = connect(self._path, mode=self._mode, busy_timeout_s=self._busy_timeout_s)
            try:
                yield connection
            finally:
                if self._closed or len(self._idle) >= _MAX_IDLE:
                    connection.close()
                else:
                    self._idle.append(connection)

    def close(self) -> None:
        """Close idle connections; those in use are closed when they are returned."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()
