"""A cache of model answers in a file: no request is sent twice, and a stopped run can be resumed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from retrivex.stores.sqlite.connection import decoding
from retrivex.stores.sqlite.rows import decode_text
from retrivex.stores.sqlite.shared_file import SharedFile

_SCHEMA = """
CREATE TABLE IF NOT EXISTS answer (
    key TEXT PRIMARY KEY, text TEXT NOT NULL, cut INTEGER NOT NULL, prompt_tokens INTEGER, answer_tokens INTEGER
) WITHOUT ROWID
"""
_BUSY_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """A cached answer and its cost; None where the endpoint did not report it."""

    text: str
    cut: bool = False
    prompt_tokens: int | None = None
    answer_tokens: int | None = None


class AnswerCache(SharedFile):
    """Keeps answers in a file; threads and processes may share it, each process with its own cache object.

    Parameters
    ----------
    path : the file, made where it does not exist

    Raises
    ------
    StoreError
        If the file cannot be opened or is something else.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path, _SCHEMA, busy_timeout_s=_BUSY_TIMEOUT_S)

    def read(self, key: str) -> KeptAnswer | None:
        """Return what is kept under a key; None for nothing."""
        with self.transaction() as connection:
            row = connection.execute(
                "SELECT text, cut, prompt_tokens, answer_tokens FROM answer WHERE key = ?", (key,)
            ).fetchone()
            with decoding(f"the answer {key}"):
                return None if row is None else KeptAnswer(decode_text(json.loads(row[0])), bool(row[1]), *row[2:])

    def write(self, key: str, answer: KeptAnswer) -> KeptAnswer:
        """Keep an answer, and return the one that is kept: another process may have been first."""
        # as JSON in ASCII: SQLite refuses half surrogate pairs
        row = (key, json.dumps(answer.text), answer.cut, answer.prompt_tokens, answer.answer_tokens)
        with self.transaction(write=True) as connection:
            connection.execute("INSERT OR IGNORE INTO answer VALUES (?, ?, ?, ?, ?)", row)
        return self.read(key) or answer


def cache_key(body: Mapping[str, Any]) -> str:
    """Return the key of a request: a digest of all that is sent, model, messages and settings.

    Examples
    --------
    >>> cache_key({"model": "a", "seed": 0}) == cache_key({"seed": 0, "model": "a"})
    True
    """
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
