"""Where many parts stand in many texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

BLOCK = 12
"""Characters of the blocks by which texts are searched that are known not to hold a part."""


class TextIndex:
    """Texts in which parts are looked for.

    A part of two blocks or more holds one of the blocks that a text is cut into: where it holds none, the text is not
    read.

    Parameters
    ----------
    texts : any number

    Examples
    --------
    >>> index = TextIndex(["Bees sleep.", "Do bees sleep? Bees sleep."])
    >>> index.holds("Bees"), index.holds("sleep.Do"), [*places_of(index.texts, "Bees sleep")]
    (True, False, [(0, 0), (1, 15)])
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self._blocks = {text[at : at + BLOCK] for text in texts for at in range(0, len(text), BLOCK)}

    def holds(self, part: str) -> bool:
        """Whether a part stands in any of the texts."""
        if len(part) >= 2 * BLOCK and not any(part[at : at + BLOCK] in self._blocks for at in range(BLOCK)):
            return False
        return any(part in text for text in self.texts)


def places_of(texts: Sequence[str], part: str) -> Iterator[tuple[int, int]]:
    """Yield where a part, which is not empty, stands, from left to right and without overlap.

    Each as the number of the text and the offset there.
    """
    for number, text in enumerate(texts):
        at = text.find(part)
        while at != -1:
            yield number, at
            at = text.find(part, at + len(part))
