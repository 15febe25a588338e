"""Finds a quote in a text although a model changed its line breaks, case or quotation marks."""

from __future__ import annotations

_SAME = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00ab": '"', "\u00bb": '"', "\u2013": "-",
     "\u2014": "-", "\u00a0": " "}
)  # fmt: skip


def _fold(text: str) -> tuple[str, list[int]]:
    """Text with case, white space and quotation marks evened out, and per character where it came from."""
    letters: list[str] = []
    places: list[int] = []
    for at, letter in enumerate(text.translate(_SAME)):
        if letter.isspace():
            if not letters or letters[-1] == " ":
                continue
            folded = " "
        else:
            folded = letter.casefold()
        letters.extend(folded)
        places.extend([at] * len(folded))
    return "".join(letters), places


def normalise_quote(text: str) -> str:
    r"""Return `text` as quotes are compared with it: case, white space, quotation marks and dashes evened out.

    Examples
    --------
    >>> normalise_quote("The \u201cBees\u201d\n sleep.")
    'the "bees" sleep.'
    """
    return " ".join(text.translate(_SAME).casefold().split())


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

    Case, runs of white space and the shape of quotation marks and dashes do not matter; surrounding quotation marks
    and a final ellipsis of the quote are ignored.

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
        found.append((places[at], places[at + len(wanted) - 1] + 1))
        at = folded.find(wanted, at + len(wanted))
    return found
