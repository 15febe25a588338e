"""Finds a quote in a text although a model changed its line breaks, case, accents, hyphens or quotation marks."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
from numpy.typing import NDArray

from retrivex.text.words import read

_SAME = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00ab": '"', "\u00bb": '"', "\u2010": "-",
     "\u2013": "-", "\u2014": "-", "\u00a0": " "}
)  # fmt: skip

# a hyphen at a line's end may be the compound's own: it is left out there, and so everywhere between letters
_UNEVEN = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])|\s+")


def _fold(text: str) -> tuple[str, NDArray[np.int64]]:
    """Text as words are read, with white space and quotation marks evened out, and per character where it came from."""
    made, offsets = read(text.translate(_SAME), join=True)
    places = np.arange(len(made)) if offsets is None else offsets.astype(np.int64)
    kept = np.ones(len(made), dtype=np.bool_)
    for found in _UNEVEN.finditer(made):
        kept[found.start() + (found[0] != "-") : found.end()] = False
    return _UNEVEN.sub(lambda found: "" if found[0] == "-" else " ", made), places[kept]


def normalise_quote(text: str) -> str:
    r"""Return `text` as quotes are compared with it: as words are read, with white space and punctuation evened out.

    Examples
    --------
    >>> normalise_quote("The \u201cBees\u201d\n sleep.")
    'the "bees" sleep.'
    """
    return _fold(text)[0].strip()


def strip_quote(quote: str) -> str:
    """Return a quote, flat, without quotation marks around it and an ellipsis at its end; empty if that is all of it.

    Examples
    --------
    >>> strip_quote('"The bees sleep..."')
    'the bees sleep'
    """
    return normalise_quote(quote).strip(" \"'").removesuffix("...").removesuffix("\u2026").strip()


def find_quote(text: str, quote: str) -> list[tuple[int, int]]:
    r"""Return where `quote` stands in `text`, as `(start, end)`; every place, in order, none overlapping.

    Words are compared as `retrivex.text.words` reads them. Runs of white space, hyphens inside words and the shape of
    quotation marks and dashes do not matter; surrounding quotation marks and a final ellipsis are ignored.

    Examples
    --------
    >>> find_quote("He said: the  Bees\nsleep.", '"The bees sleep..."')
    [(9, 24)]
    """
    wanted = strip_quote(quote)
    if not wanted:
        return []
    folded, places = _fold(text)
    found: list[tuple[int, int]] = []
    at = folded.find(wanted)
    while at != -1:
        end = int(places[at + len(wanted) - 1]) + 1
        while end < len(text) and unicodedata.category(text[end])[0] == "M":
            end += 1  # what stands on the last letter
        found.append((int(places[at]), end))
        at = folded.find(wanted, at + len(wanted))
    return found
