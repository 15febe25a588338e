"""Reads small files whose paths somebody gives: settings, coefficients, profiles."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

MAX_BYTES = 16 * 1024 * 1024
"""Largest file of settings that is read."""


def read_small_file(path: str | Path, most: int = MAX_BYTES) -> bytes:
    """Return what a file holds; pipes and devices, which may never end, are none.

    Raises
    ------
    OSError
        If it cannot be read, is no regular file, or holds more than `most` bytes; `strerror` says which.
    """
    path = Path(path)
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes, the limit", str(path))
    return content
