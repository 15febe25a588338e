"""The file of lists beside a database: the approximate index of its vectors, mapped into memory.

Vectors are grouped in lists around centroids, each with one byte a dimension (an inverted file: J. Sivic and A.
Zisserman, Video Google, ICCV 2003). A question is compared with the centroids, and then with the lists of the nearest
ones alone. What that finds is compared again with the vectors themselves, so that scores are exact.

The file is derived from that of the vectors, and never changes: a new one is written whole under another name, so that
others can write the database meanwhile, and brought to the disk. The database turns to it in one transaction, which
says which rows of the file of vectors it covers. Rows that came later are all compared; deleted ones are left out
when they are found.
"""

from __future__ import annotations

import os
import secrets
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import RawIOBase
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrivex.stores.sqlite.vector_file import (
    HEADER_BYTES,
    Floats,
    MissingVectorFileError,
    VectorFileError,
    disk_errors,
    numbered_files,
    open_regular,
    remove_files,
    sync_folder,
)

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_MAGIC = b"RVXIVF01"
_HEADER = struct.Struct("<8s16sIIQ")  # magic, identity, dimension, lists, entries
_BLOCK = 8192  # rows that are encoded, or checked, at once
_ZEROS = 1 << 20  # bytes
_PART = "-lists-part-"  # in the name of a file that is being written
_LEVELS = 127  # of a byte, on either side of zero
_WAY_OUT = (
    "it is made anew by `retrivex index` or index_vectors(); index_vectors(0) goes without it, and searches exactly"
)


class ListFileError(VectorFileError):
    """The file of lists cannot be read or written."""


class NewerListFileError(ListFileError):
    """The file of lists is of a format that a later version writes."""


class MissingListFileError(ListFileError, MissingVectorFileError):
    """There is no file of this number: it was lost, or another process has just written the next one."""


@dataclass(frozen=True, slots=True)
class ListSpace:
    """What the database says of its file of lists.

    Parameters
    ----------
    number : a part of the file's name; each file of a database has another one
    identity : 32 hexadecimal digits of the database, which its files repeat
    generation : of the file of vectors that it indexes
    dimension : of those
    rows : of that file that it covers, from the first on; those that were deleted by then are in no list
    entries : vectors in lists
    lists : how many there are
    trained : vectors there were when the centroids were chosen
    recall : share of the 50 nearest that were found, measured when the file was written
    checksum : of all behind the header
    """

    number: int
    identity: str
    generation: int
    dimension: int
    rows: int
    entries: int
    lists: int
    trained: int
    recall: float
    checksum: int


class Lists(NamedTuple):
    """The contents of the file, read-only.

    Parameters
    ----------
    starts : shape (lists + 1,), where each list begins
    places : shape (entries,), rows of the file of vectors
    centroids : shape (lists, dimension), of length one
    angles : shape (lists,), mean angle between the vectors of a list and its centroid, in radians
    scales : shape (entries,), what the codes of an entry are multiplied by
    codes : shape (entries, dimension)
    """

    starts: NDArray[np.int64]
    places: NDArray[np.int64]
    centroids: Floats
    angles: Floats
    scales: Floats
    codes: NDArray[np.int8]


def list_files(database: Path) -> list[Path]:
    """Return the files of lists beside a database, of any number."""
    return numbered_files(database, "lists")


def list_path(database: Path, number: int) -> Path:
    """Return the file of that number."""
    return database.with_name(f"{database.name}-lists-{number}")


class ListReader:
    """The mapped file of a database; threads share it."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._mapped: tuple[ListSpace, Lists] | None = None

    def lists(self, space: ListSpace) -> Lists:
        """Return the contents of the file.

        Raises
        ------
        ListFileError
            If the file is missing, damaged or of another database.
        """
        mapped = self._mapped
        if mapped is None or mapped[0] != space:
            self._mapped = mapped = (space, map_lists(list_path(self._database, space.number), space))
        return mapped[1]

    def checksum(self, space: ListSpace) -> int:
        """Return the checksum of all behind the header; reads all of it."""
        return _checksum(self.lists(space))

    def close(self) -> None:
        """Let go of the file."""
        self._mapped = None


class ListPart:
    """A file that is written while others write the database, and becomes a file of lists when a transaction adopts it.

    It is locked while it is open, so that what a killed process left differs from what another one still writes.
    """

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(f"{database.name}{_PART}{os.getpid()}-{secrets.token_hex(4)}")
        self._file: RawIOBase | None = None

    def write(
        self,
        identity: str,
        centroids: Floats,
        list_of: NDArray[np.int64],
        places: NDArray[np.int64],
        rows: Floats,
    ) -> tuple[Lists, int]:
        """Write it; the rest as in `ListWriter.write`."""
        with disk_errors(self.path):
            self._file = self.path.open("x+b", buffering=0)
            # before that, another process may take it for what a killed one left, and remove it: what is open can still
            # be written and read, and `ListWriter.adopt` finds that its name is gone
            _try_lock(self._file)
            return _fill(self._file, self.path, identity, centroids, list_of, places, rows)

    def close(self) -> None:
        """Close it, and remove it where it was not adopted."""
        if self._file is not None:
            with suppress(OSError):
                self.path.unlink()
            self._file.close()


def list_parts(database: Path) -> list[Path]:
    """Return the parts beside a database, of this process, of others and of killed ones."""
    begin = f"{database.name}{_PART}"
    try:
        names = sorted(os.listdir(database.absolute().parent))
    except OSError:
        return []
    return [database.with_name(name) for name in names if name.startswith(begin)]


def remove_parts(database: Path, identity: str) -> None:
    """Remove the parts of this database that no process writes any more."""
    for path in list_parts(database):
        with suppress(OSError), open_regular(path) as file:
            if _try_lock(file):
                remove_files([path], identity, None)


def _try_lock(file: RawIOBase | BinaryIO) -> bool:
    """Lock a file, without waiting; Windows, where this is not needed, removes no file that is open."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # another process has it, or a file system without locks
        return False
    return True


class ListWriter:
    """Writes files inside the caller's transaction of the database, which holds the write lock.

    `committed` comes after that transaction, and `rolled_back` in its place.
    """

    def __init__(self, database: Path) -> None:
        self._database = database
        self._created: list[Path] = []
        self._kept: Path | None = None
        self._replaced = ""  # identity of the files that go when the transaction commits
        self._outdated: list[Path] = []  # files that were there inside of it: the next one, of others, may add its own

    def write(
        self,
        number: int,
        identity: str,
        centroids: Floats,
        list_of: NDArray[np.int64],
        places: NDArray[np.int64],
        rows: Floats,
    ) -> tuple[Lists, int]:
        """Write the file of a number and bring it to the disk; return what it holds, and its checksum.

        Parameters
        ----------
        centroids : shape (lists, d), of length one
        list_of, places : shape (entries,), the list of each entry and its row; rows go up
        rows : shape (n, d), the file of vectors
        """
        path = list_path(self._database, number)
        self._created.append(path)
        self._replace(path, identity)
        with disk_errors(path):
            path.unlink(missing_ok=True)  # of a transaction that did not commit; never through a link to another file
            with path.open("x+b", buffering=0) as file:
                return _fill(file, path, identity, centroids, list_of, places, rows)

    def adopt(self, part: ListPart, number: int, identity: str) -> bool:
        """Make a part the file of a number; return whether it was still there."""
        path = list_path(self._database, number)
        with disk_errors(path):
            try:
                os.replace(part.path, path)
            except FileNotFoundError:
                return False
            self._created.append(path)
            self._replace(path, identity)
            sync_folder(path.absolute().parent)
        return True

    def drop(self, identity: str) -> None:
        """Let the file go when this transaction commits."""
        self._replace(None, identity)

    def committed(self) -> None:
        """Remove the files of other numbers, where this transaction wrote one, or dropped all."""
        if self._replaced:
            remove_files(self._outdated, self._replaced, self._kept)
        self._forget()

    def rolled_back(self) -> None:
        """Remove the files that this transaction wrote."""
        for path in self._created:
            with suppress(OSError):
                path.unlink()
        self._forget()

    def remove_others(self, identity: str, kept: Path | None) -> None:
        """Remove this database's files but one; the caller holds the write lock."""
        remove_files(list_files(self._database), identity, kept)

    def _replace(self, path: Path | None, identity: str) -> None:
        self._kept, self._replaced, self._outdated = path, identity, list_files(self._database)

    def _forget(self) -> None:
        self._created, self._kept, self._replaced, self._outdated = [], None, "", []


def map_lists(path: Path, space: ListSpace) -> Lists:
    """Map a file that the database describes so.

    Raises
    ------
    ListFileError
        If it is missing, damaged, of a newer format or of another database. What is in lists is checked as it is read.
    """
    try:
        with open_regular(path) as file:
            header, size = file.read(HEADER_BYTES), os.fstat(file.fileno()).st_size
            data = np.memmap(file, np.uint8, "r", HEADER_BYTES) if size > HEADER_BYTES else np.empty(0, np.uint8)
    except FileNotFoundError as error:
        raise MissingListFileError(f"{path} is missing, the approximate index of the vectors: {_WAY_OUT}") from error
    except OSError as error:
        raise ListFileError(f"{path} cannot be read ({error.strerror}): make it readable, or {_WAY_OUT}") from error
    magic = header[: len(_MAGIC)]
    if magic != _MAGIC and magic[:6] == _MAGIC[:6]:
        raise NewerListFileError(
            f"{path} was written by a newer RetriVex: upgrade retrivex-rag; index_vectors(0) goes without the "
            "approximate index, and searches exactly"
        )
    expected = (_MAGIC, bytes.fromhex(space.identity), space.dimension, space.lists, space.entries)
    wrong = len(header) < HEADER_BYTES or _HEADER.unpack(header[: _HEADER.size]) != expected
    if wrong or size != _size(space.lists, space.entries, space.dimension):
        raise ListFileError(f"{path} is damaged, or of another database: {_WAY_OUT}")
    made = _split(data, space.lists, space.entries, space.dimension)
    ends = made.starts[0] == 0 and made.starts[-1] == space.entries and bool((np.diff(made.starts) >= 0).all())
    if not (ends and all(np.isfinite(part).all() for part in (made.centroids, made.angles, made.scales))):
        raise ListFileError(f"{path} is damaged: {_WAY_OUT}")
    return made


def _fill(
    file: RawIOBase,
    path: Path,
    identity: str,
    centroids: Floats,
    list_of: NDArray[np.int64],
    places: NDArray[np.int64],
    rows: Floats,
) -> tuple[Lists, int]:
    """Write a new file and bring it to the disk; the rest as in `ListWriter.write`."""
    starts = np.searchsorted(np.sort(list_of), np.arange(len(centroids) + 1)).astype(np.int64)
    dimension, entries = centroids.shape[1], len(places)
    header = _HEADER.pack(_MAGIC, bytes.fromhex(identity), dimension, len(centroids), entries)
    _write_all(file, header.ljust(HEADER_BYTES, b"\0"))
    # room is taken before it is mapped: a disk that is full is an error here, and a crash there
    for size in _pieces(_size(len(centroids), entries, dimension) - HEADER_BYTES):
        _write_all(file, bytes(size))
    data = np.memmap(file, np.uint8, "r+", HEADER_BYTES)  # never by its name, which others may have removed
    made = _split(data, len(centroids), entries, dimension)
    made.centroids[:], made.starts[:] = centroids, starts
    order = np.argsort(list_of, kind="stable")
    made.places[:] = places[order]
    at = np.empty(entries, np.int64)
    at[order] = np.arange(entries)
    angles = np.zeros(len(centroids))
    for start in range(0, entries, _BLOCK):
        some = slice(start, start + _BLOCK)
        found = rows[places[some]]
        made.scales[at[some]], made.codes[at[some]] = _encode(found)
        cosines = np.einsum("ij,ij->i", found, centroids[list_of[some]])
        angles += np.bincount(list_of[some], np.arccos(np.clip(cosines, -1, 1)), len(centroids))
    made.angles[:] = angles / np.maximum(np.diff(starts), 1)
    data.flush()
    os.fsync(file.fileno())
    sync_folder(path.absolute().parent)
    return made, _checksum(made)


def _split(data: NDArray[np.uint8], lists: int, entries: int, dimension: int) -> Lists:
    parts, start = [], 0
    for kind, shape in _layout(lists, entries, dimension):
        size = np.dtype(kind).itemsize * int(np.prod(shape))
        parts.append(np.asarray(data[start : start + size]).view(kind).reshape(shape))
        start += size
    return Lists(*parts)


def _layout(lists: int, entries: int, dimension: int) -> list[tuple[str, tuple[int, ...]]]:
    return [
        ("<i8", (lists + 1,)),
        ("<i8", (entries,)),
        ("<f4", (lists, dimension)),
        ("<f4", (lists,)),
        ("<f4", (entries,)),
        ("i1", (entries, dimension)),
    ]


def _size(lists: int, entries: int, dimension: int) -> int:
    parts = _layout(lists, entries, dimension)
    return HEADER_BYTES + sum(np.dtype(kind).itemsize * int(np.prod(shape)) for kind, shape in parts)


def _encode(rows: Floats) -> tuple[Floats, NDArray[np.int8]]:
    """Return scales and codes: each row by the largest of its own numbers."""
    scales = np.abs(rows).max(axis=1) / _LEVELS
    codes = np.divide(rows, scales[:, None], out=np.zeros_like(rows), where=scales[:, None] > 0)
    return scales, np.rint(codes).astype(np.int8)


def _checksum(lists: Lists) -> int:
    made = 0
    for part in lists:
        for start in range(0, len(part), _BLOCK):
            made = zlib.crc32(part[start : start + _BLOCK].tobytes(), made)
    return made


def _write_all(file: RawIOBase, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) or 0 :]


def _pieces(size: int) -> Iterator[int]:
    while size > 0:
        yield min(size, _ZEROS)
        size -= _ZEROS
