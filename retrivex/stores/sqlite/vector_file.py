"""The file of vectors beside a database: rows of float32 in the order in which they came, mapped into memory.

The database says which of its bytes count: the generation, which is a part of the file's name, the identity, which
stands in its header, and the number of rows. Rows are only appended, and a transaction that appends brings its rows to
the disk before it commits; what lies behind the committed rows was left by a transaction that did not, and the next
one writes over it. Rows of deleted documents stay until they are many: then the others go into a file of the next
generation, to which the database turns in one transaction.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import StoreError

Floats = NDArray[np.float32]

_MAGIC = b"RVXVEC01"
_HEADER = struct.Struct("<8s16sI")  # magic, identity, dimension
HEADER_BYTES = 64
"""Of each file beside a database; what follows begins on a cache line. Bytes 8 to 24 are the identity."""

BINARY = getattr(os, "O_BINARY", 0)  # of Windows
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
_WAY_OUT = (
    "copy it together with the database, restore both, or delete the vectors with drop_vectors(), or "
    "`retrivex index --no-embed`, and index again"
)


class VectorFileError(StoreError):
    """The file of vectors cannot be read or written."""


class MissingVectorFileError(VectorFileError):
    """There is no file of this generation: it was lost, or another process has just begun the next one."""


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """What the vectors of a database are, and where they lie.

    Parameters
    ----------
    model : the encoder's name
    dimension : of each
    generation : counts the files that the database has had; 0 where the vectors stand in the database itself, as those
        of version 0.2 do
    identity : 32 hexadecimal digits of the database, which its files repeat
    rows : of the file that are committed, deleted ones among them
    """

    model: str
    dimension: int
    generation: int = 0
    identity: str = ""
    rows: int = 0


def vector_files(database: Path) -> list[Path]:
    """Return the files of vectors beside a database, of any generation."""
    return numbered_files(database, "vectors")


def numbered_files(database: Path, kind: str) -> list[Path]:
    """Return the files `NAME-kind-NUMBER` beside a database."""
    begin = f"{database.name}-{kind}-"
    try:
        names = sorted(os.listdir(database.absolute().parent))
    except OSError:
        return []
    return [database.with_name(name) for name in names if name.startswith(begin) and name[len(begin) :].isdigit()]


class VectorReader:
    """The mapped file of a database; threads share it."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._mapped: tuple[VectorSpace, Floats] | None = None

    def rows(self, space: VectorSpace) -> Floats:
        """Return the committed rows, shape (rows, dimension), read-only.

        Raises
        ------
        VectorFileError
            If the file is missing, too short or of another database.
        """
        mapped = self._mapped
        if mapped is None or replace(mapped[0], rows=space.rows) != space or len(mapped[1]) < space.rows:
            self._mapped = mapped = (space, _map(self._database, space))
        return mapped[1][: space.rows]

    def close(self) -> None:
        """Let go of the file."""
        self._mapped = None


class VectorWriter:
    """Writes the file inside the caller's transaction of the database, which holds the write lock.

    `sync` comes before that transaction commits, `committed` after it, and `rolled_back` in its place.
    """

    def __init__(self, database: Path) -> None:
        self._database = database
        self._open: tuple[Path, int] | None = None
        self._dirty = False
        self._created: Path | None = None
        self._replaced = ""  # identity of the files that go when the transaction commits
        self._outdated: list[Path] = []  # files that were there inside of it: the next one, of others, may add its own

    def create(self, space: VectorSpace) -> None:
        """Begin the file of a new generation; one of that name was left by a transaction that did not commit."""
        self.close()
        path = self._created = _path(self._database, space)
        self._replaced, self._outdated = space.identity, vector_files(self._database)
        with disk_errors(path):
            path.unlink(missing_ok=True)  # never through a link to another file, as a folder from elsewhere may hold
            self._open = (path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | BINARY, 0o666))
            self._write(_header(space), 0)

    def append(self, space: VectorSpace, rows: Floats) -> int:
        """Write rows behind those that `space` counts; return their checksum."""
        path = _path(self._database, space)
        if self._open is None or self._open[0] != path:
            self.close()
            _map(self._database, space)  # refuses what is not this database's file
            with disk_errors(path):
                self._open = (path, os.open(path, os.O_RDWR | BINARY))
        data = rows.astype("<f4", copy=False).tobytes()
        with disk_errors(path):
            self._write(data, HEADER_BYTES + 4 * space.dimension * space.rows)
        return zlib.crc32(data)

    def drop(self, identity: str) -> None:
        """Let the file go when this transaction commits."""
        self.close()
        self._created, self._replaced, self._outdated = None, identity, vector_files(self._database)

    def sync(self) -> None:
        """Bring to the disk what was written; a database must not say that rows are there before they are."""
        if self._open is None or not self._dirty:
            return
        path, descriptor = self._open
        with disk_errors(path):
            os.fsync(descriptor)
            if self._created is not None:
                sync_folder(path.absolute().parent)
        self._dirty = False

    def committed(self) -> None:
        """Remove the files of earlier generations, where this transaction began one, or dropped all."""
        if self._replaced:
            remove_files(self._outdated, self._replaced, self._created)
        self._created, self._replaced, self._outdated = None, "", []

    def rolled_back(self) -> None:
        """Forget what was written; a file that this transaction began goes."""
        if self._created is not None:
            self.close()
            with suppress(OSError):
                self._created.unlink()
        self._dirty, self._created, self._replaced, self._outdated = False, None, "", []

    def remove_others(self, identity: str, kept: Path | None) -> None:
        """Remove this database's files but one: those of earlier generations, and of transactions that were killed.

        The caller holds the write lock: another process's transaction may have begun a file that is not committed yet.
        """
        remove_files(vector_files(self._database), identity, kept)

    def close(self) -> None:
        """Close the file."""
        if self._open is not None:
            os.close(self._open[1])
            self._open = None

    def _write(self, data: bytes, at: int) -> None:
        assert self._open is not None  # by the caller
        self._dirty = True
        view = memoryview(data)
        while view:
            written = _write_at(self._open[1], view, at)
            view, at = view[written:], at + written


def current_file(database: Path, space: VectorSpace | None) -> Path | None:
    """Return the file that holds the vectors; None where the database has none, or has them in itself."""
    return None if space is None or not space.generation else _path(database, space)


def checksum(rows: Floats) -> int:
    """Return what `VectorWriter.append` returned for these rows."""
    return zlib.crc32(rows.astype("<f4", copy=False).tobytes())


def _path(database: Path, space: VectorSpace) -> Path:
    return database.with_name(f"{database.name}-vectors-{space.generation}")


def _map(database: Path, space: VectorSpace) -> Floats:
    path = _path(database, space)
    try:
        with open_regular(path) as file:
            header, size = file.read(HEADER_BYTES), os.fstat(file.fileno()).st_size
            wrong = _find_problem(header, size, space)
            if wrong is None:
                shape = (space.rows, space.dimension)
                if not space.rows:  # nothing cannot be mapped
                    return np.empty(shape, np.float32)
                return np.asarray(np.memmap(file, np.dtype("<f4"), "r", HEADER_BYTES, shape))
    except FileNotFoundError as error:
        raise MissingVectorFileError(
            f"{path} is missing, which holds the vectors of {database.name}: {_WAY_OUT}"
        ) from error
    except OSError as error:
        raise VectorFileError(f"{path} cannot be read ({error.strerror}): make it readable, or {_WAY_OUT}") from error
    raise VectorFileError(f"{path} {wrong}")


def open_regular(path: Path) -> BinaryIO:
    """Open a file to read; a pipe, which would be waited for without end, and a device are an OSError."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | BINARY)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file")
    return os.fdopen(descriptor, "rb")


def _find_problem(header: bytes, size: int, space: VectorSpace) -> str | None:
    """Return what is wrong with a file of that header and so many bytes, and the way out; None if nothing is."""
    if len(header) < HEADER_BYTES or header[:6] != _MAGIC[:6]:
        return f"is damaged, or no file of vectors: {_WAY_OUT}"
    magic, identity, dimension = _HEADER.unpack(header[: _HEADER.size])
    if magic != _MAGIC:
        return f"was written by a newer RetriVex: upgrade retrivex-rag, or {_WAY_OUT}"
    if identity.hex() != space.identity or dimension != space.dimension:
        return f"holds the vectors of another database: {_WAY_OUT}"
    needed = HEADER_BYTES + 4 * space.dimension * space.rows
    if size < needed:
        return f"is damaged, it has {size:,} bytes in place of {needed:,}: {_WAY_OUT}"
    return None


def remove_files(paths: Iterable[Path], identity: str, kept: Path | None) -> None:
    """Remove those of the database of that identity, but one."""
    for path in paths:
        if path != kept and _belongs(path, identity):
            with suppress(OSError):  # where another process holds it, the next one removes it
                path.unlink()


def _belongs(path: Path, identity: str) -> bool:
    """Whether a file is of the database of that identity; one that was killed before its header was written is."""
    try:
        with open_regular(path) as file:
            header = file.read(HEADER_BYTES)
    except OSError:
        return False
    return not header or header[8:24].hex() == identity


def _header(space: VectorSpace) -> bytes:
    return _HEADER.pack(_MAGIC, bytes.fromhex(space.identity), space.dimension).ljust(HEADER_BYTES, b"\0")


def _write_at(descriptor: int, data: memoryview, at: int) -> int:
    if hasattr(os, "pwrite"):
        return os.pwrite(descriptor, data, at)
    os.lseek(descriptor, at, os.SEEK_SET)  # Windows; the write lock keeps others away
    return os.write(descriptor, data)


def sync_folder(folder: Path) -> None:
    """Bring the name of a new file to the disk, where a system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn errors of writing a file into `VectorFileError` with the file and the way out."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            said = "the disk is full (or the file may not grow): free space and run again"
        else:
            said = f"it cannot be written ({error.strerror}): make it and its folder writable, and run again"
        raise VectorFileError(f"{path}: {said}") from error
