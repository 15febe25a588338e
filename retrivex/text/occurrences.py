"""Where many parts stand in many texts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate

BLOCK = 12
"""Characters of the blocks that texts are cut into, to know soon what they do not hold."""

_SEPARATOR = "\0"  # no letter of any text: a part that has one is not found


class TextIndex:
    """Texts in which parts are looked for.

    A part of two blocks or more consists of blocks that the texts are cut into, but for its ends: where it does not,
    the texts are not read.

    Parameters
    ----------
    texts : any number

    Examples
    --------
    >>> index = TextIndex(["Bees sleep.", "Do bees sleep? Bees sleep."])
    >>> index.holds("Bees"), index.holds("sleep.Do"), [*index.places("Bees sleep")]
    (True, False, [(0, 0), (1, 15)])
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._text = _SEPARATOR.join(texts)
        self._starts = [*accumulate((len(text) + 1 for text in texts), initial=0)]

    @cached_property
    def _blocks(self) -> set[str]:
        return {self._text[at : at + BLOCK] for at in range(0, len(self._text), BLOCK)}

    def holds(self, part: str) -> bool:
        """Whether a part stands in any of the texts."""
        if len(part) >= 2 * BLOCK and not any(self._has_blocks(part, start) for start in range(BLOCK)):
            return False
        return _SEPARATOR not in part and part in self._text

    def _has_blocks(self, part: str, start: int) -> bool:
        return all(part[at : at + BLOCK] in self._blocks for at in range(start, len(part) - BLOCK + 1, BLOCK))

    def places(self, part: str) -> Iterator[tuple[int, int]]:
        """Yield where a part, which is not empty, stands, from left to right and without overlap.

        Each as the number of the text and the offset there.
        """
        at = -1 if _SEPARATOR in part else self._text.find(part)
        while at != -1:
            number = bisect_right(self._starts, at) - 1
            yield number, at - self._starts[number]
            at = self._text.find(part, at + len(part))
