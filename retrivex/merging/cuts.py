"""The cuts of a chunk's text: where its groups of sentences end, how many tokens they have, and how its edges look."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise
from struct import Struct
from typing import NamedTuple

from retrivex.text.sentences import cut_places
from retrivex.text.structure import WHOLE, Begin, Edges, End, Part, Structure, edges_of, structure_of

UNIT_TOKENS = 50
"""Tokens of a group of sentences, about; a longer sentence is a unit of its own."""

SHORT = 60
"""Characters; more are not few words."""

_FEW_WORDS = 6  # a shorter end of a text goes with what stands before it


_ONE = Struct("=q")
_UNREAD = Edges(Begin.WHOLE, End.DONE, punctuated=False, cased=None)


class Cuts(NamedTuple):
    """Where a chunk's text may be cut.

    Parameters
    ----------
    ends : end of each group of sentences, ascending; the last is the length of the text
    tokens : of each group
    """

    ends: tuple[int, ...]
    tokens: tuple[int, ...]


def group_sentences(text: str, tokens: int, size: int = UNIT_TOKENS) -> Cuts:
    """Group the sentences of a text, as many as have some `size` tokens together.

    White space belongs to the group that it follows. Each group has its share of the tokens, by its characters: that is
    a price to choose by; what is shown is counted.

    Parameters
    ----------
    text : of a chunk
    tokens : of all of it
    size : tokens of a group, about

    Examples
    --------
    >>> group_sentences("Bees sleep. Ants work. They never rest.", 7, size=5)
    Cuts(ends=(23, 39), tokens=(4, 3))
    """
    structure = structure_of(text)
    return _group(text, structure, edges_of(text, structure), tokens, size)


def _group(text: str, structure: Structure, edges: Edges, tokens: int, size: int) -> Cuts:
    ends = _group_by_size(text, structure, edges, size, tokens)
    before = [(tokens * end + len(text) // 2) // max(1, len(text)) for end in (0, *ends)]
    return Cuts(ends, tuple(high - low for low, high in pairwise(before)))


def _group_by_size(text: str, structure: Structure, edges: Edges, size: int, whole: int) -> tuple[int, ...]:
    """Return where groups end, as many characters each as have `size` tokens on average in this text."""
    room = size * len(text) / max(1, whole)
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
    if size >= UNIT_TOKENS:
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
    cuts : where it may be cut
    ends, tokens : the same as int64 in bytes, which are joined in a tenth of the time that arrays take
    edges : how it begins and ends
    fence : mark of the fence that is open at its end; empty without one
    begins, done : whether it seems to begin with a part, and ends with one
    """

    cuts: Cuts
    ends: bytes
    tokens: bytes
    edges: Edges
    fence: str
    begins: bool
    done: bool

    @classmethod
    def of(cls, cuts: Cuts, edges: Edges, fence: str) -> ChunkCuts:
        """Return the same with what follows from it."""
        ends, tokens = array("q", cuts.ends).tobytes(), array("q", cuts.tokens).tobytes()
        return cls(cuts, ends, tokens, edges, fence, edges.begin <= Begin.SUSPECT, edges.end is End.DONE)

    @classmethod
    def whole(cls, text: str, tokens: int) -> ChunkCuts:
        """Return the cuts of a text that is not read: it is one group, and seems to be finished."""
        # written out, as it is made for most of the candidates of every call
        cuts = Cuts((len(text),), (tokens,))
        return cls(cuts, _ONE.pack(len(text)), _ONE.pack(tokens), _UNREAD, "", True, True)

    @classmethod
    def read(cls, text: str, fence: str, tokens: int, size: int = UNIT_TOKENS) -> ChunkCuts:
        """Cut a text of so many tokens that begins inside a fence with that mark; an empty one stands for none."""
        structure = structure_of(text, fence)
        edges = edges_of(text, structure, fence)
        return cls.of(_group(text, structure, edges, tokens, size), edges, structure.fence)
