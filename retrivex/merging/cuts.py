"""The cuts of a chunk's text: where its groups of sentences end, and how its edges look."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import NamedTuple

from retrivex.text.sentences import cut_places
from retrivex.text.structure import WHOLE, Begin, Edges, End, Part, Structure, edges_of, structure_of

UNIT_BYTES = 216
"""Bytes of a group of sentences, some 50 tokens; a longer sentence is a unit of its own."""

SHORT = 60
"""Characters; more are not few words."""

_FEW_WORDS = 6  # a shorter end of a text goes with what stands before it


_ONE = Struct("=q")
_UNREAD = Edges(Begin.WHOLE, End.DONE, punctuated=False, cased=None)


def group_sentences(text: str, size: int = UNIT_BYTES) -> tuple[int, ...]:
    """Group the sentences of a text, as many as have some `size` bytes together; return where the groups end.

    White space belongs to the group that it follows.

    Parameters
    ----------
    text : of a chunk
    size : UTF-8 bytes of a group, about: texts of all scripts have some four for each token

    Examples
    --------
    >>> group_sentences("Bees sleep. Ants work. They never rest.", size=24)
    (23, 39)
    """
    structure = structure_of(text)
    return _group(text, structure, edges_of(text, structure), size)


def _group(text: str, structure: Structure, edges: Edges, size: int) -> tuple[int, ...]:
    """Return where groups end, as many characters each as have `size` bytes on average in this text."""
    room = size if text.isascii() else size * len(text) / max(1, len(text.encode("utf-8", "surrogatepass")))
    parts = structure.parts
    # what the chunk before, or behind, may hold the rest of is a group of its own
    head = parts[0].end if parts and edges.begin and (edges.punctuated or edges.begin is Begin.TORN) else 0
    tail = _tail_start(parts) if edges.end in PARTED else len(text)
    ends: list[int] = []
    begun = 0
    for end in _split_long(text, parts, int(room) + 1, punctuated=edges.punctuated):
        if ends and end - begun <= room and begun >= head and not begun < tail < end:
            ends[-1] = end
        else:
            begun = ends[-1] if ends else 0
            ends.append(end)
    if size >= UNIT_BYTES:
        ends = _without_short(text, ends, head, tail)
    return tuple(ends)


def _without_short(text: str, ends: Sequence[int], head: int, tail: int) -> list[int]:
    """Join groups of a few words with the one before them, or behind them where there is none."""
    kept: list[int] = []
    begun = 0
    for end in ends:
        if end != ends[-1] and end > head and kept and kept[-1] <= head and is_short(text[begun:end]) and end < tail:
            continue  # the first that is no part of another chunk's sentence
        if not kept and end != ends[-1] and head == 0 and end < tail and is_short(text[:end]):
            continue
        if kept and kept[-1] > head and begun < tail and is_short(text[begun:end]):
            kept.pop()
        kept.append(end)
        begun = end
    return kept


PARTED = frozenset((End.OPEN, End.BINDS, End.FENCE))


def _tail_start(parts: Sequence[Part]) -> int:
    """Return where the last part of a text begins, with those that belong to it."""
    at = len(parts) - 1
    while at and parts[at - 1].binds:
        at -= 1
    return parts[at].start


def is_short(text: str, words: int = _FEW_WORDS) -> bool:
    """Whether a text has fewer than so many words; each character of a script without spaces counts as one."""
    if len(text) >= SHORT:
        return False
    sizes = (len(word.encode("utf-8", "surrogatepass")) for word in text.split())
    return sum(1 + max(0, size // 3 - 3) for size in sizes) < words


def _split_long(text: str, parts: Sequence[Part], room: int, *, punctuated: bool) -> Iterator[int]:
    """Yield where parts end that do not bind; cut those that are longer than two groups and no sentences.

    Some scripts end no sentence with a mark, and lists of names and logs have none.
    """
    begun = 0
    for part in parts:
        if part.binds and part.end < len(text) and part.end - begun <= WHOLE:
            continue
        is_whole = part.end - begun <= WHOLE and (punctuated or part.kind != "text")
        while not is_whole and part.end - begun > 2 * room:
            space = max(text.rfind(" ", begun, begun + room), text.rfind("\n", begun, begun + room)) + 1
            begun = space if space > begun else next(cut_places(text, begun + room - 1, part.end), part.end)
            yield begun
        if part.end > begun:
            yield part.end
        begun = part.end


class ChunkCuts(NamedTuple):
    """The cached cuts of a chunk's text.

    Parameters
    ----------
    ends : end of each group of sentences, ascending; the last is the length of the text
    packed : the same as int64 in bytes, which are joined in a tenth of the time that arrays take
    edges : how it begins and ends
    fence : mark of the fence that is open at its end; empty without one
    begins, done : whether it seems to begin with a part, and ends with one
    """

    ends: tuple[int, ...]
    packed: bytes
    edges: Edges
    fence: str
    begins: bool
    done: bool

    @classmethod
    def of(cls, ends: tuple[int, ...], edges: Edges, fence: str) -> ChunkCuts:
        """Return the same with what follows from it."""
        return cls(ends, array("q", ends).tobytes(), edges, fence, edges.begin <= Begin.SUSPECT, edges.end is End.DONE)

    @classmethod
    def whole(cls, text: str) -> ChunkCuts:
        """Return the cuts of a text that is not read: it is one group, and seems to be finished."""
        return cls((len(text),), _ONE.pack(len(text)), _UNREAD, "", True, True)

    @classmethod
    def read(cls, text: str, fence: str, size: int = UNIT_BYTES) -> ChunkCuts:
        """Cut a text that begins inside a fence with that mark; an empty one stands for none."""
        structure = structure_of(text, fence)
        edges = edges_of(text, structure, fence)
        return cls.of(_group(text, structure, edges, size), edges, structure.fence)
