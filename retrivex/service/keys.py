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
import time
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retrivex.errors import RetrivexError
from retrivex.service.access import Access
from retrivex.service.errors import KeysError, NotFoundError, UnauthorizedError

NEEDED = "_RETRIVEX_KEYS_NEEDED"
"""Variable of the environment by which a worker knows that there were keys when the service began."""

_PREFIX = "rvx"
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
    """The keys of a service; safe to share between threads and processes: each look opens the file anew.

    Parameters
    ----------
    path : of the file, made with the first key; while it is not there, nobody needs a key
    needed : whether there were keys before, so that a file that is gone lets nobody in

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     keys = Keys(Path(folder, "keys.db"))
    ...     info, secret = keys.create("shop", ["acme"])
    ...     access = keys.find(secret)
    >>> access.scopes == {"acme"}, secret.startswith(f"rvx_{info.id}_")
    (True, True)
    """

    def __init__(self, path: Path, *, needed: bool = False) -> None:
        self.path = path
        self._needed = needed

    def create(self, name: str, scopes: Collection[str | None] = (None,)) -> tuple[KeyInfo, str]:
        """Make a key; return what is known of it, and the key itself, which is not kept.

        Raises
        ------
        RetrivexError
            If it carries no scope.
        KeysError
            If the file cannot be written.
        """
        if not scopes:
            raise RetrivexError("a key without any scope sees nothing: give it one, '' for documents without a scope")
        info = KeyInfo(secrets.token_hex(6), name, tuple(dict.fromkeys(scopes)), time.time(), None)
        secret = f"{_PREFIX}_{info.id}_{secrets.token_urlsafe(32)}"
        with self._open("rwc") as connection:
            connection.execute(_SCHEMA)
            row = (info.id, _digest(secret), name, json.dumps(info.scopes), info.created)
            connection.execute("INSERT INTO keys VALUES (?, ?, ?, ?, ?, NULL)", row)
        return info, secret

    def list_all(self) -> list[KeyInfo]:
        """Return what is known of every key, in the order in which they were made."""
        if not self.path.exists():
            return []
        with self._open() as connection:
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
            with self._open("rw") as connection:
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
        found = self._ask("SELECT 1 FROM keys LIMIT 1") is not None
        if self._needed and not found:
            raise KeysError("the file of keys is gone, or empty, and was not: put it back, or start the service again")
        self._needed = found
        return found

    def find(self, secret: str) -> Access:
        """Return what a key may see.

        Raises
        ------
        UnauthorizedError
            If it is none of these keys, or revoked.
        """
        parts = secret.split("_", 2)
        query = "SELECT hash, scopes FROM keys WHERE id = ? AND revoked IS NULL"
        digest, scopes = (len(parts) == 3 and self._ask(query, parts[1])) or (b"", "[]")
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

    def _ask(self, query: str, *values: str) -> tuple[Any, ...] | None:
        """Return the first row; None where there is none, or no file."""
        if not self.path.exists():
            return None
        with self._open() as connection:
            row: tuple[Any, ...] | None = connection.execute(query, values).fetchone()
            return row

    @contextmanager
    def _open(self, mode: str = "ro") -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction; a file that is made is for its owner alone to read."""
        try:
            if mode == "rwc":
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            address = f"{self.path.absolute().as_uri()}?mode={mode}"
            with closing(sqlite3.connect(address, uri=True, timeout=_BUSY_S)) as connection, connection:
                yield connection
        except (sqlite3.Error, OSError) as error:
            reason = getattr(error, "strerror", error)  # not the path
            raise KeysError(f"the file of keys cannot be read or written ({reason}): see that it is one") from error


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
