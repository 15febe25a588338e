"""Bearer keys, each with the scopes that it may see, in a SQLite file that holds no secret.

A key is 256 random bits. A plain SHA-256 of it is kept: slow hashes protect passwords, which can be guessed; nobody
guesses 256 random bits, however fast the hash. A key names its row, and its hash is compared in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from retrivex.errors import RetrivexError
from retrivex.service.access import Access
from retrivex.service.errors import KeysError, NotFoundError, UnauthorizedError
from retrivex.stores.sqlite.connection import check_objects, connect, objects_of, sqlite_errors, store_path

NEEDED_MARK = "_RETRIVEX_KEYS_NEEDED"
"""Variable of the environment that names the file by which the workers of a service know that keys are needed."""

_Version: TypeAlias = tuple[int, ...]

_PREFIX = "rvx"
_CACHE_KIB = 256
_BUSY_S = 5.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS keys (
  id TEXT PRIMARY KEY, hash BLOB NOT NULL, name TEXT NOT NULL, scopes TEXT NOT NULL, created REAL NOT NULL, revoked REAL
) STRICT
"""
_NO_KEY = "no key, or none that is known: send Authorization: Bearer KEY with a key of `retrivex keys create`"


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """What is known of a key: all but the key.

    Parameters
    ----------
    id : that names it
    name : whose it is, in the words of who made it
    scopes : that it carries; None among them for what has no scope
    created, revoked : Unix seconds; `revoked` is None while it is good
    """

    id: str
    name: str
    scopes: tuple[str | None, ...]
    created: float
    revoked: float | None


class Keys:
    """The keys of a service; safe to share between threads and processes.

    Parameters
    ----------
    path : of the file, made with the first key; while it is not there, nobody needs a key
    needed_mark : a file that says that a key was there once, to all workers and those that come after them; None for
        one process alone, which knows it by itself

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     keys = Keys(Path(folder, "keys.db"))
    ...     info, secret = keys.create("shop", ["acme"])
    ...     access = keys.find(secret)
    ...     keys.close()
    >>> access.scopes == {"acme"}, secret.startswith(f"rvx_{info.id}_")
    (True, True)
    """

    def __init__(self, path: Path, needed_mark: Path | None = None) -> None:
        self.path = path
        self._needed_mark = needed_mark
        self._needed = False
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[_Version, _Version | None] | None = None  # the file that is open, and its log

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def create(self, name: str, scopes: Collection[str | None] = (None,)) -> tuple[KeyInfo, str]:
        """Make a key; return what is known of it, and the key itself, which is not kept.

        Raises
        ------
        RetrivexError
            If it carries no scope.
        StoreError
            If the file cannot be written.
        """
        if not scopes:
            raise RetrivexError("a key without any scope sees nothing: give it one, '' for documents without a scope")
        info = KeyInfo(secrets.token_hex(6), name, tuple(dict.fromkeys(scopes)), time.time(), None)
        secret = f"{_PREFIX}_{info.id}_{secrets.token_urlsafe(32)}"
        with self._write() as connection:
            row = (info.id, _digest(secret), name, json.dumps(info.scopes), info.created)
            connection.execute("INSERT INTO keys VALUES (?, ?, ?, ?, ?, NULL)", row)
        return info, secret

    def list_all(self) -> list[KeyInfo]:
        """Return what is known of every key, in the order in which they were made."""
        with self._read() as connection:
            if connection is None:
                return []
            rows = connection.execute("SELECT id, name, scopes, created, revoked FROM keys ORDER BY created, id")
            return [KeyInfo(key, name, tuple(json.loads(scopes)), *rest) for key, name, scopes, *rest in rows]

    def revoke(self, key: str) -> None:
        """Make a key worthless, from the next request on.

        Raises
        ------
        NotFoundError
            If there is no such key, or it is revoked already.
        """
        query = "UPDATE keys SET revoked = ? WHERE id = ? AND revoked IS NULL"
        if self.path.exists():
            with self._write() as connection:
                if connection.execute(query, (time.time(), key)).rowcount:
                    return
        raise NotFoundError(f"there is no key {key!r} that is good: `retrivex keys list` shows their ids")

    def are_needed(self) -> bool:
        """Whether a key was ever made: from then on, each request needs one, even where all are revoked.

        Raises
        ------
        KeysError
            If there was one, and the file is gone: whose keys are good is not known then, and nobody gets in.
        """
        with self._read() as connection:
            found = connection is not None and connection.execute("SELECT 1 FROM keys LIMIT 1").fetchone() is not None
        if found and not self._needed:
            self._needed = True
            if self._needed_mark is not None:
                with suppress(OSError):  # where it cannot be made, this process knows by itself
                    self._needed_mark.touch(mode=0o600)
        if not found and (self._needed or (self._needed_mark is not None and self._needed_mark.exists())):
            raise KeysError("the file of keys is gone, or empty, and was not: put it back, or start the service again")
        return found

    def find(self, secret: str) -> Access:
        """Return what a key may see.

        Raises
        ------
        UnauthorizedError
            If it is none of these keys, or revoked.
        """
        parts = secret.split("_", 2)
        with self._read() as connection:
            query = "SELECT hash, scopes FROM keys WHERE id = ? AND revoked IS NULL"
            known = connection and len(parts) == 3 and connection.execute(query, (parts[1],)).fetchone()
        digest, scopes = known or (b"", "[]")
        # compared also where there is no such key: the time it takes says nothing
        if not hmac.compare_digest(_digest(secret), digest):
            raise UnauthorizedError(_NO_KEY)
        return Access(parts[1], frozenset(json.loads(scopes)))

    def authorize(self, header: str | None) -> Access:
        """Return what the `Authorization` header of a request may see; everything, while there are no keys.

        Raises
        ------
        UnauthorizedError
            If keys are needed, and it holds none that is good.
        """
        if not self.are_needed():
            return Access()
        kind, _, secret = (header or "").partition(" ")
        if kind.lower() != "bearer" or not secret.isascii():
            raise UnauthorizedError(_NO_KEY)
        return self.find(secret.strip())

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection | None]:
        """Lend the reading connection to one thread at a time; None while there is no file."""
        with self._lock, sqlite_errors("the file of keys"):
            found = self._identity()
            if self._connection is not None and found != self._opened:  # replaced: what is open is not what is written
                self._connection.close()
                self._connection = None
            if self._connection is None and found is not None:
                self._connection = self._connect("ro")
                opened = self._identity()  # opening may make a log beside the file, which is that of the same file
                self._opened = opened if opened is not None and opened[0] == found[0] else found
            if self._connection is not None:
                # pages are read anew: a file may be written twice within a tick of its clock
                self._connection.execute("PRAGMA shrink_memory")
            yield self._connection

    def _identity(self) -> tuple[_Version, _Version | None] | None:
        """Return what changes when the file or its log is replaced, in place as well; None while there is no file."""
        found = _version(self.path)
        return None if found is None else (found, _version(f"{self.path}-wal"))

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        """Lend a writing connection; a file that is not there is made, for its owner alone to read."""
        path = store_path(self.path, read_only=False)
        with sqlite_errors("the file of keys"):
            if not path.exists():
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            with closing(self._connect("rw")) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute(_SCHEMA)
                yield connection

    def _connect(self, mode: str) -> sqlite3.Connection:
        connection = connect(self.path, mode=mode, busy_timeout_s=_BUSY_S, cache_kib=_CACHE_KIB)
        try:
            check_objects(connection, "the file of keys", objects_of(_SCHEMA))
        except BaseException:
            connection.close()
            raise
        return connection


def _version(path: Path | str) -> _Version | None:
    """Return what tells a file from others, where SQLite goes by a count in it; None where there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
