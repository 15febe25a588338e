"""Reads small files whose paths somebody gives: settings, coefficients, profiles."""

from __future__ import annotations

import errno
import stat
from pathlib import Path
from typing import IO

MAX_BYTES = 16 * 1024 * 1024
"""Largest file of settings that is read."""


def open_regular(path: str | Path) -> IO[bytes]:
    """Open a file to read its bytes; pipes and devices, which may never end, are refused.

    Raises
    ------
    OSError
        If it cannot be opened, or is no regular file; `strerror` says which.
    """
    path = Path(path)
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return path.open("rb")


def read_small_file(path: str | Path, most: int = MAX_BYTES) -> bytes:
    """Return what a file holds.

    Raises
    ------
    OSError
        As `open_regular`, or if it holds more than `most` bytes.
    """
    with open_regular(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes, the limit", str(path))
    return content
