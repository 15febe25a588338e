"""The output folder of a job: parts with fixed names, each whole or not there, and the manifest that says of what."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from retrivex.errors import BatchError
from retrivex.text.lines import describe_error
from retrivex.version import __version__

MANIFEST = "_manifest.json"
"""Readers of Parquet folders pass over names that begin so."""

_LOCK = "_lock"
NO_DOCUMENTS = (MANIFEST, _LOCK)
"""Files of an output folder that a reader of documents would take for some."""

_FORMAT = "retrivex.batch/1"
_ROWS, _FAILED, _WARNED = b"retrivex.rows", b"retrivex.failed", b"retrivex.warned"


@dataclass(frozen=True, slots=True)
class Done:
    """A part that was written.

    Parameters
    ----------
    number : of the part, from 0
    rows : in it
    failed : rows with an error
    warned : rows with a warning
    """

    number: int
    rows: int
    failed: int
    warned: int


def part_name(number: int) -> str:
    """Return the name of a part's file.

    Examples
    --------
    >>> part_name(12)
    'part-00012.parquet'
    """
    return f"part-{number:05}.parquet"


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        known = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


@dataclass(frozen=True, slots=True)
class OutputFolder:
    """A folder of parts; its methods may be called in any process that reaches the folder by this path.

    Parameters
    ----------
    path : of the folder
    """

    path: Path

    @contextmanager
    def open(self, manifest: Mapping[str, Any]) -> Iterator[None]:
        """Make the folder, or go on with one of the same job, and keep other jobs out of it.

        Parameters
        ----------
        manifest : all that the parts depend on, as plain JSON types

        Raises
        ------
        BatchError
            If the folder holds something else, the parts of another job, or another process writes to it.
        OSError
            If it cannot be made or written.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        self._refuse_foreign_files()
        with open(self.path / _LOCK, "w", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise BatchError(
                    f"{self.path} is being written by another job: wait for it, or name another"
                ) from error
            self._begin({"format": _FORMAT, "retrivex": __version__, **manifest})
            for left in self.path.glob(".part-*.tmp"):  # of workers that were killed
                left.unlink(missing_ok=True)
            yield

    def _refuse_foreign_files(self) -> None:
        if (self.path / MANIFEST).exists():
            return
        found = sorted(
            path.name for path in self.path.iterdir() if path.name != _LOCK and not path.name.endswith(".tmp")
        )
        if found:
            raise BatchError(
                f"{self.path} exists, holds {found[0]!r} and no {MANIFEST}: it is not the output of a batch; name "
                "another folder, or empty it"
            )

    def _begin(self, manifest: Mapping[str, Any]) -> None:
        path = self.path / MANIFEST
        wanted = json.loads(json.dumps(manifest))
        if not path.exists():
            _write_whole(path, json.dumps(wanted, indent=1, ensure_ascii=False).encode())
            return
        known = _read_manifest(self.path)
        if known.get("format") != _FORMAT:
            raise BatchError(
                f"{path} is no manifest that this version ({__version__}) reads: it is of the format "
                f"{known.get('format')!r}, of RetriVex {known.get('retrivex')}; name another folder, or delete this one"
            )
        differing = _differences(known, wanted)
        if differing:
            raise BatchError(
                f"{self.path} holds the output of another job, which differs in {', '.join(differing[:5])}: go on with "
                "what it was begun with, name another folder, or delete this one"
            )

    def has(self, number: int) -> bool:
        """Whether a part is there."""
        return (self.path / part_name(number)).exists()

    def write(self, number: int, table: pa.Table) -> Done:
        """Write a part: under another name first, so that it is there whole or not at all.

        Raises
        ------
        OSError
            If it cannot be written, such as for want of space; nothing of it is left then.
        """
        errors = table.column("error")
        warned = sum(map(bool, table.column("warnings").to_pylist())) if "warnings" in table.schema.names else 0
        done = Done(number, table.num_rows, table.num_rows - errors.null_count, warned)
        counts = {_ROWS: done.rows, _FAILED: done.failed, _WARNED: done.warned}
        metadata = {**(table.schema.metadata or {}), **{key: str(count).encode() for key, count in counts.items()}}
        sink = pa.BufferOutputStream()
        pq.write_table(table.replace_schema_metadata(metadata), sink, compression="zstd")
        _write_whole(self.path / part_name(number), sink.getvalue())
        return done

    def read_done(self, number: int) -> Done:
        """Return what a part that is there says of itself.

        Raises
        ------
        BatchError
            If it is not a part of a batch.
        """
        with self._part(number) as path:
            metadata = pq.read_schema(path).metadata or {}
            rows, failed, warned = (int(metadata[key]) for key in (_ROWS, _FAILED, _WARNED))
        return Done(number, rows, failed, warned)

    def read(self, number: int) -> pa.Table:
        """Return a part that is there.

        Raises
        ------
        BatchError
            If it is damaged.
        """
        with self._part(number) as path:
            return pq.read_table(path)

    @contextmanager
    def _part(self, number: int) -> Iterator[Path]:
        path = self.path / part_name(number)
        try:
            yield path
        except (pa.ArrowException, KeyError, ValueError, OSError) as error:
            raise BatchError(
                f"{path} is not a part of a batch ({describe_error(error)}): delete it, and run the job again"
            ) from error


def _differences(known: Any, wanted: Any, place: str = "") -> list[str]:
    if isinstance(known, dict) and isinstance(wanted, dict):
        return [
            found
            for key in sorted(known.keys() | wanted.keys())
            for found in _differences(known.get(key), wanted.get(key), f"{place}.{key}" if place else key)
        ]
    return [] if known == wanted else [place]


def _write_whole(path: Path, content: Any) -> None:
    made = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        with open(made, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(made, path)
    except BaseException as error:
        made.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:  # a full disk does not name the file
            said = f"{error.strerror}; make room, or name another folder"
            raise OSError(error.errno, said, str(path)) from error
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
