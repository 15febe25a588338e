"""How much may be made of a file, and what reading it may cost."""

from __future__ import annotations

from dataclasses import dataclass

from retrivex.errors import LoadError

GROWTH = 50
"""Characters that may be made of each byte of a file; tables repeat their cells, office files are packed."""

SMALL_FILE_CHARACTERS = 256 * 1024
"""Characters that may be made of any file, however small."""

MAX_CHARACTERS = 64 * 1024 * 1024
"""Characters that may be made of any file, however large."""


def most_characters(size: int) -> int:
    """Return how many characters may be made of so many bytes, or of so many characters."""
    return min(max(SMALL_FILE_CHARACTERS, GROWTH * size), MAX_CHARACTERS)


@dataclass(frozen=True, slots=True)
class LoadLimits:
    """What reading one file may cost where a reader of its format could be made to run on.

    Parameters
    ----------
    timeout_s : seconds
    memory_bytes : more than the reading process holds before; kept where the system can (not on Windows)
    """

    timeout_s: float = 120.0
    memory_bytes: int = 2 * 1024**3


class Allowance:
    """The characters that may be made of one file.

    Parameters
    ----------
    size : of the file, in bytes

    Examples
    --------
    >>> Allowance(100).take(300_000)
    Traceback (most recent call last):
    retrivex.errors.LoadError: more than 262,144 characters come of its 100 bytes, the limit for ...
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._most = most_characters(size)
        self._taken = 0

    def take(self, characters: int) -> None:
        """Count characters before they are made.

        Raises
        ------
        LoadError
            If there are more than may be made of the file.
        """
        self._taken += characters
        if self._taken > self._most:
            raise LoadError(
                f"more than {self._most:,} characters come of its {self.size:,} bytes, the limit for a file of this "
                f"size ({GROWTH} a byte, {MAX_CHARACTERS:,} in all); split it, or save it as plain text"
            )
