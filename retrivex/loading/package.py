"""Opens zip packages (office files, EPUB) within limits on what they unpack to."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager

from retrivex.errors import LoadError

MAX_UNPACKED_BYTES = 512 * 1024 * 1024
"""Most a package may hold when unpacked; a small zip file can be made to unpack to a full disk."""

MAX_UNPACKING = 100
"""Bytes that each byte of a packed file may unpack to, where that is more than `SMALL_UNPACKED_BYTES`."""

SMALL_UNPACKED_BYTES = 16 * 1024 * 1024
"""What any package may unpack to, however small."""


@contextmanager
def open_package(raw: bytes, kind: str) -> Iterator[zipfile.ZipFile]:
    """Open a package; whatever breaks while it is open is an error of the file.

    Parameters
    ----------
    raw : the file
    kind : what it should be, for the message: "office file"

    Raises
    ------
    LoadError
        If it is not a sound zip file, or unpacks to too much.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as package:
            unpacked = sum(part.file_size for part in package.infolist())
            most = min(max(SMALL_UNPACKED_BYTES, MAX_UNPACKING * len(raw)), MAX_UNPACKED_BYTES)
            if unpacked > most:
                raise LoadError(f"it unpacks to {unpacked:,} bytes, the limit is {most:,} for its size; split it")
            yield package
    except (LoadError, MemoryError):
        raise
    except Exception as error:  # broken packages make zipfile, and what unpacks for it, raise nearly anything
        raise LoadError(
            f"it is not a sound {kind} (broken, an old format, or protected by a password); save it anew"
        ) from error


def check_entities(name: str, xml: bytes, *, doctype: bool = False) -> None:
    """Refuse a part that declares XML entities, which may expand endlessly.

    Parameters
    ----------
    name, xml : the part
    doctype : whether a document type alone is allowed

    Raises
    ------
    LoadError
        If it declares any.
    """
    # without NULs, UTF-16 reads as ASCII here
    plain = xml.replace(b"\0", b"").lower()
    if b"<!entity" in plain or (b"<!doctype" in plain and not doctype):
        raise LoadError(f"its part {name!r} declares XML entities, which such files never need; leave it out")
