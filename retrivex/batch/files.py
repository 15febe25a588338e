"""Files and folders as the source of a job."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from retrivex.batch.folder import NO_DOCUMENTS
from retrivex.batch.job import digest_file
from retrivex.errors import BatchError
from retrivex.loading import LoadReport, find_files

FILES_PER_PART = 100
"""Files of a part, at most."""

BYTES_PER_PART = 32 * 1024 * 1024
"""Bytes after which a part ends, so that large files do not make large parts."""


@dataclass(frozen=True)
class FileSource:
    """Files in parts.

    Parameters
    ----------
    groups : of each part, absolute paths with the names of their documents
    digest : of all names and of what the files hold
    """

    groups: tuple[tuple[tuple[str, str], ...], ...]
    digest: str

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return len(self.groups)

    def read(self, number: int) -> pa.Table:
        """Return the files of a part: `path` and `doc_id`."""
        paths, names = zip(*self.groups[number], strict=True)
        return pa.table({"path": list(paths), "doc_id": list(names)})

    def describe(self) -> dict[str, Any]:
        """Return how many files there are, and their digest."""
        return {"files": sum(map(len, self.groups)), "parts": self.parts, "digest": self.digest}


def file_source(
    paths: Iterable[str | os.PathLike[str]],
    report: LoadReport,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    files_per_part: int = FILES_PER_PART,
) -> FileSource:
    """Return files and folders as the source of a job.

    Manifests and locks of batches are not read: they are no documents.

    Parameters
    ----------
    paths, include, exclude : as in `retrivex.loading.iter_documents`
    report : gets what was passed over, and what cannot be listed
    files_per_part : files of a part at most, at least 1

    Raises
    ------
    BatchError
        If there is no file to read.
    """
    if files_per_part < 1:
        raise BatchError(f"files_per_part is {files_per_part}: a part has at least one file")
    given = list(paths)
    found = [
        file
        for file in find_files(given, report, include=include, exclude=exclude)
        if file.path.name not in NO_DOCUMENTS
    ]
    if not found:
        raise BatchError(f"{', '.join(map(str, given))}: no file of a known kind; name files, or folders with some")
    groups: list[list[tuple[str, str]]] = [[]]
    digest, size = hashlib.sha256(), 0
    for file in found:
        length, content = _look(file.path)
        if groups[-1] and (len(groups[-1]) >= files_per_part or size + length > BYTES_PER_PART):
            groups.append([])
            size = 0
        size += length
        groups[-1].append((os.path.abspath(file.path), file.doc_id))
        digest.update(f"{os.path.abspath(file.path)}\0{file.doc_id}\0{content}\n".encode(errors="replace"))
    return FileSource(tuple(map(tuple, groups)), digest.hexdigest())


def _look(path: Path) -> tuple[int, str]:
    """Return how long a file is, and a digest of what it holds or why it cannot be read: its row will say so."""
    if not os.path.isfile(path):
        return 0, ""
    try:
        return os.path.getsize(path), digest_file(path)
    except OSError as error:
        return 0, f"{error.strerror}"
