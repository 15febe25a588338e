"""A cache of text vectors on disk, by encoder and text, so that no text is encoded twice."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retrivex.encoders.encoder import Encoder
from retrivex.encoders.queries import QueryEncoder, QuestionEncoder
from retrivex.errors import EncoderError
from retrivex.stores.sqlite.connection import check_objects, objects_of, sqlite_errors
from retrivex.stores.sqlite.vectors import unit_rows

Vectors = NDArray[np.float32]
Report = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and of how much."""

_SCHEMA = "CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID"
_ASKED = 500  # keys in one request, fewer than any SQLite allows


def cache_folder() -> Path:
    """Return where results that are costly to make again lie: RETRIVEX_CACHE or ~/.cache/retrivex."""
    return Path(os.environ.get("RETRIVEX_CACHE") or Path.home() / ".cache" / "retrivex")


class VectorCache:
    """An encoder that keeps its vectors on disk.

    Parameters
    ----------
    encoder : makes the vectors; a file for each `name`
    folder : where the files lie; made when it is needed

    Raises
    ------
    StoreError
        If a file cannot be read or written.
    """

    block = 512
    """Texts encoded in one call, and then written: what a killed run loses."""

    def __init__(self, encoder: Encoder, folder: Path) -> None:
        self.name = encoder.name
        self.encoder = encoder
        self._path = folder / f"{hashlib.sha256(encoder.name.encode()).hexdigest()[:16]}.sqlite"

    def encode(self, texts: Sequence[str], what: str = "texts", report: Report | None = None) -> Vectors:
        """Return vectors of length one, shape (len(texts), d); d is 0 where there are no texts.

        Parameters
        ----------
        texts : any; equal ones are encoded once
        what : names them in the progress
        report : called with the progress
        """
        keys = self._keys(texts)
        if not keys:
            return np.zeros((0, 0), dtype=np.float32)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with sqlite_errors(str(self._path)), closing(sqlite3.connect(self._path, timeout=60)) as file:
            file.execute("PRAGMA trusted_schema = OFF")
            check_objects(file, str(self._path), objects_of(_SCHEMA))
            file.execute(_SCHEMA)
            known = _read(file, keys)
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
            self._fill(file, known, list(missing.items()), what, report)
        try:
            return np.stack([np.frombuffer(known[key], dtype=np.float32) for key in keys])
        except ValueError as error:
            raise EncoderError(
                f"{self._path} holds vectors of several lengths for {self.name!r}: the encoder has changed under its "
                "name; delete the file, or give the encoder another name"
            ) from error

    def encode_questions(self, texts: Sequence[str], report: Report | None = None) -> Vectors:
        """Return the vectors of questions, kept apart where the encoder tells them from passages; see `encode`."""
        if not isinstance(self.encoder, QueryEncoder):
            return self.encode(texts, "questions", report)
        return VectorCache(QuestionEncoder(self.encoder), self._path.parent).encode(texts, "questions", report)

    def _keys(self, texts: Sequence[str]) -> list[bytes]:
        """Return the key of each text: its digest."""
        return [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]

    def _fill(
        self,
        file: sqlite3.Connection,
        known: dict[bytes, bytes],
        missing: Sequence[tuple[bytes, str]],
        what: str,
        report: Report | None,
    ) -> None:
        """Encode what is missing, block by block, so that a killed run goes on where it was."""
        for at in range(0, len(missing), self.block):
            if report is not None:
                report(f"encoding {what}", at, len(missing))
            block = missing[at : at + self.block]
            made = {key: row.tobytes() for (key, _), row in zip(block, self._encode(block), strict=True)}
            file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", made.items())
            file.commit()
            known.update(made)

    def _encode(self, block: Sequence[tuple[bytes, str]]) -> Vectors:
        return unit_rows(self.encoder.encode([text for _, text in block]), what=f"texts encoded by {self.name}")


def _read(file: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    wanted = list(dict.fromkeys(keys))
    found: dict[bytes, bytes] = {}
    for at in range(0, len(wanted), _ASKED):
        some = wanted[at : at + _ASKED]
        marks = ", ".join("?" * len(some))
        found.update(file.execute(f"SELECT text, vector FROM vectors WHERE text IN ({marks})", some))
    return found
