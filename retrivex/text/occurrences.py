"""Where many parts stand in many texts, in time that does not grow with the one times the other."""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

FEW = 100
"""Searches that reading the texts from the beginning serves sooner than sorting them does."""


class TextIndex:
    """Texts in which parts are looked for: by a suffix array (Manber and Myers, 1993) where there are many.

    Parameters
    ----------
    texts : any number
    searches : how many parts will be looked for at least; they are sorted as soon as it is many
    longest : most characters of a part

    Examples
    --------
    >>> index = TextIndex(["Bees sleep.", "Do bees sleep? Bees sleep."], 2, 10)
    >>> index.holds("Bees"), index.holds("sleep.Do"), [*index.places("Bees sleep")]
    (True, False, [(0, 0), (1, 15)])
    """

    def __init__(self, texts: Sequence[str], searches: int, longest: int) -> None:
        # what separates texts occurs in none of them, so that no part is found across two
        known = set().union(*texts)
        self._separator = next((letter for letter in map(chr, range(sys.maxunicode + 1)) if letter not in known), "")
        self._texts = texts  # read one by one where they hold every character there is, and nothing can separate them
        self._text = self._separator.join(texts)
        self._starts = [*accumulate((len(text) + 1 for text in texts), initial=0)][:-1]
        self._longest = longest
        self._searched = max(searches - 1, 0)
        self._order: Integers | None = None

    def _count_search(self) -> None:
        """Sort the texts before more searches than reading them serves sooner; nobody knows beforehand how many."""
        self._searched += 1
        if self._order is None and self._searched > FEW and self._separator and self._text:
            self._order = suffix_order(self._text, self._longest)

    def holds(self, part: str) -> bool:
        """Whether a part, which is not empty, stands in any of the texts."""
        if self._separator in part:
            return not self._separator and any(part in text for text in self._texts)
        self._count_search()
        if self._order is None:
            return part in self._text
        at = self._bounds(part)[0]
        return at < len(self._order) and self._text.startswith(part, self._order[at])

    def places(self, part: str) -> Iterator[tuple[int, int]]:
        """Yield where a part, which is not empty, stands, from left to right and without overlap.

        Each as the number of the text and the offset there.
        """
        if not self._separator:
            yield from ((number, at) for number, text in enumerate(self._texts) for at in _read(text, part))
        if self._separator in part:
            return
        self._count_search()
        for at in self._places(part):
            number = bisect_right(self._starts, at) - 1
            yield number, at - self._starts[number]

    def _places(self, part: str) -> Iterator[int]:
        if self._order is None:
            yield from _read(self._text, part)
            return
        low, high = self._bounds(part)
        reached = 0
        for at in np.sort(self._order[low:high]).tolist():
            if at >= reached:
                yield at
                reached = at + len(part)

    def all_places(self, part: str) -> Integers:
        """Return where a part, which is not empty, stands in a text that is alone: overlaps included, in any order."""
        self._count_search()
        if self._order is None:
            return np.fromiter(_read(self._text, part, 1), np.int64)
        low, high = self._bounds(part)
        return self._order[low:high]

    def _bounds(self, part: str) -> tuple[int, int]:
        """Return from where to where the suffixes stand in the order that begin with a part."""
        assert self._order is not None
        text, length = self._text, len(part)

        def begin(at: int) -> str:
            return text[at : at + length]

        low = bisect_left(self._order, part, key=begin)
        return low, bisect_right(self._order, part, low, key=begin)


class PartFinder:
    """A text in which the first place of parts is looked for; a suffix array says it where there are many.

    Parameters
    ----------
    text : what is looked in

    Examples
    --------
    >>> finder = PartFinder("Bees sleep. Do bees sleep?")
    >>> finder.find("sleep"), finder.find("ants"), finder.holds_once("Bees"), finder.holds_once("sleep")
    (5, -1, True, False)
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[str, tuple[int, bool]] = {}
        self._index: TextIndex | None = None

    def find(self, part: str) -> int:
        """Return where a part first stands; -1 where it does not."""
        return self._look_up(part)[0]

    def holds_once(self, part: str) -> bool:
        """Whether a part stands in the text once, overlaps counted."""
        return self._look_up(part)[1]

    def _look_up(self, part: str) -> tuple[int, bool]:
        known = self._known.get(part)
        if known is None:
            known = self._known[part] = self._read(part) if len(self._known) < FEW else self._search(part)
        return known

    def _read(self, part: str) -> tuple[int, bool]:
        at = self._text.find(part)
        return at, at >= 0 and self._text.find(part, at + 1) < 0

    def _search(self, part: str) -> tuple[int, bool]:
        if not self._text or not part:
            return self._read(part)
        if self._index is None:
            self._index = TextIndex([self._text], FEW + 1, len(self._text))
        places = self._index.all_places(part)
        return (int(places.min()), len(places) == 1) if len(places) else (-1, False)


def _read(text: str, part: str, step: int | None = None) -> Iterator[int]:
    at = text.find(part)
    while at != -1:
        yield at
        at = text.find(part, at + (step or len(part)))


def suffix_order(text: str, longest: int) -> Integers:
    """Return the offsets of a text, ordered by the `longest` characters that follow each.

    Characters, and then stretches of a length, are replaced by their ranks; as many of those as fit into an integer
    make the ranks of stretches that are twice as long, or longer.

    Parameters
    ----------
    text : n characters, n > 0
    longest : characters that count; what is equal in all of them stands in any order

    Examples
    --------
    >>> [int(at) for at in suffix_order("banana", 6)]
    [5, 3, 1, 0, 4, 2]
    """
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    rank = np.unique(codes, return_inverse=True)[1].astype(np.int64).ravel() + 1  # 0 is the end of the text
    width = 1
    while True:
        base = int(rank.max()) + 1
        fold = 62 // base.bit_length()
        keys = np.zeros(len(rank), dtype=np.int64)
        for step in range(fold):
            keys *= base
            shift = min(step * width, len(rank))
            keys[: len(rank) - shift] += rank[shift:]
        order: Integers = np.argsort(keys)
        width *= fold
        ordered = keys[order]
        rank[order] = np.cumsum(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        if width >= longest or rank[order[-1]] == len(rank):
            return order
