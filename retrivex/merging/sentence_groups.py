"""A chunk's text -> groups of whole sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from retrivex.text.sentences import may_cut, sentence_ranges
from retrivex.tokens.cache import TokenCache

UNIT_TOKENS = 50
"""Tokens of a group of sentences, about; a longer sentence is a unit of its own, up to two groups long."""


class Cuts(NamedTuple):
    """Where a chunk's text may be cut.

    Parameters
    ----------
    ends : end of each group of sentences, ascending; the last is the length of the text
    tokens : of each group
    """

    ends: tuple[int, ...]
    tokens: tuple[int, ...]


def group_sentences(text: str, cache: TokenCache, size: int = UNIT_TOKENS) -> Cuts:
    """Group the sentences of a text, as many as have some `size` tokens together.

    White space belongs to the group that it follows.

    Examples
    --------
    >>> from retrivex.tokens.tokenizer import CallableTokenizer
    >>> words = TokenCache(CallableTokenizer(lambda text: len(text.split()), name="words"))
    >>> group_sentences("Bees sleep. Ants work. They never rest.", words, size=5)
    Cuts(ends=(23, 39), tokens=(4, 3))
    """
    # as many characters as have `size` tokens on average in this text: each group is then counted once, exactly
    room = size * len(text) / max(1, cache.count(text))
    starts = [start for start, _ in sentence_ranges(text)]
    edges = _bearable([*starts[1:], len(text)], text, int(room) + 1)
    ends: list[int] = []
    begun = 0
    for end in edges:
        if ends and end - begun <= room:
            ends[-1] = end
        else:
            begun = ends[-1] if ends else 0
            ends.append(end)
    counts = cache.tokenizer.count_many([text[low:high] for low, high in zip([0, *ends], ends, strict=False)])
    return Cuts(tuple(ends), tuple(counts))


def _bearable(edges: Sequence[int], text: str, room: int) -> list[int]:
    """Cut sentences that are longer than two groups: some scripts end none with a mark, and tables have none."""
    made: list[int] = []
    begun = 0
    for end in edges:
        while end - begun > 2 * room:
            space = max(text.rfind(" ", begun, begun + room), text.rfind("\n", begun, begun + room)) + 1
            begun = space if space > begun else next(at for at in range(begun + room, end + 1) if may_cut(text, at))
            made.append(begun)
        if end > begun:
            made.append(end)
        begun = end
    return made
