"""The essays that needles are hidden in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from retrivex.errors import LoadError

ESSAYS = "paul_graham_essays"
"""The folder of the essays within the evaluation data."""

_WORD = re.compile(r"(?<![\w'’-])[a-z]{3,}(?![\w'’-])")


def read_essays(folder: Path) -> dict[str, str]:
    """Return the essays of a folder, name without ".txt" -> text, sorted by name.

    Line breaks are kept as they are, as offsets count the characters of the file.

    Raises
    ------
    LoadError
        If there is none, or one cannot be read.
    """
    essays: dict[str, str] = {}
    for path in sorted(folder.glob("*.txt"), key=lambda path: path.stem):
        try:
            with path.open(encoding="utf-8", newline="") as file:
                essays[path.stem] = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise LoadError(f"essay {path} cannot be read ({error}): haystacks are made of UTF-8 text") from error
    if not essays:
        raise LoadError(f"no essay is in {folder}: put the essays there, one .txt file each")
    return essays


def vocabulary(texts: Iterable[str]) -> list[str]:
    """Return the different words of the texts, lower case, three letters or more, in alphabetical order.

    Examples
    --------
    >>> vocabulary(["Bees don't sleep.", "The bees sleep well-fed"])
    ['bees', 'sleep', 'the']
    """
    return sorted({word for text in texts for word in _WORD.findall(text.lower())})
