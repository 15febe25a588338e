"""Texts that know where their evidence stands, however they are put together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class Marked:
    """A text and the ranges of it that matter.

    Parameters
    ----------
    text : any
    marks : ranges of characters, end exclusive, in order
    """

    text: str
    marks: tuple[tuple[int, int], ...] = ()

    @classmethod
    def whole(cls, text: str) -> Marked:
        """Return a text that is marked from end to end."""
        return cls(text, ((0, len(text)),))


def join(separator: str, parts: Iterable[Marked]) -> Marked:
    """Return the parts as one text, their marks moved along.

    Examples
    --------
    >>> join(" ", [Marked("Bees sleep."), Marked.whole("Ants count.")])
    Marked(text='Bees sleep. Ants count.', marks=((12, 23),))
    """
    listed = list(parts)
    offsets = accumulate((len(part.text) + len(separator) for part in listed), initial=0)
    marks = tuple(
        (offset + start, offset + end)
        for offset, part in zip(offsets, listed, strict=False)  # there is one offset more: the end
        for start, end in part.marks
    )
    return Marked(separator.join(part.text for part in listed), marks)
