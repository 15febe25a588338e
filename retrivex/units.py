"""Runs -> units: groups of whole sentences, small enough to be worth or not worth their tokens as a whole."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from retrivex.scoring.words import WordPool, Words, index_words, lowered
from retrivex.sentences import sentence_ranges
from retrivex.stitching import Run
from retrivex.tokens import TokenCache
from retrivex.trimming import may_cut

UNIT_TOKENS = 50
"""Tokens of a group of sentences, about; a longer sentence is a unit of its own, up to two groups long."""

_ENDS_SENTENCE = frozenset(".!?。！？｡…:;：；\"'”’»)）]】」』》|`")
_MAX_CHARS = 32_000_000  # characters of chunk text whose cuts are remembered, and of those whose words are


class Cuts(NamedTuple):
    """Where a chunk's text may be cut.

    Parameters
    ----------
    ends : end of each group of sentences, ascending; the last is the length of the text
    tokens : of each group
    """

    ends: tuple[int, ...]
    tokens: tuple[int, ...]


class _Indexed(NamedTuple):
    """A chunk's text in lower case, and where its words begin."""

    lowered: str
    words: Words


class Unit(NamedTuple):
    """A stretch of a run that is valued and picked as a whole.

    Parameters
    ----------
    run : number of the run
    first, last : positions in the run of the chunks it touches, inclusive
    start, end : offsets in the run's text
    tokens : of its text
    """

    run: int
    first: int
    last: int
    start: int
    end: int
    tokens: int


_unit: Callable[[tuple[int, ...]], Unit] = partial(tuple.__new__, Unit)  # a third of the time; there are hundreds


def group_sentences(text: str, cache: TokenCache, size: int = UNIT_TOKENS) -> Cuts:
    """Group the sentences of a text, as many as have some `size` tokens together.

    White space belongs to the group that it follows.

    Examples
    --------
    >>> from retrivex.tokens import CallableTokenizer
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


class UnitCutter:
    """Cuts runs into units; remembers cuts and words of the texts it has seen. Safe for several threads.

    Parameters
    ----------
    cache : counts tokens
    size : tokens of a group of sentences, about
    """

    def __init__(self, cache: TokenCache, size: int = UNIT_TOKENS) -> None:
        self.cache = cache
        self.size = size
        self._known: dict[str, Cuts] = {}
        self._chars = 0
        self._indexed: dict[str, _Indexed] = {}
        self._indexed_chars = 0
        self._lock = threading.Lock()

    def cuts(self, text: str) -> Cuts:
        """Return where a chunk's text may be cut."""
        found = self._known.get(text)
        if found is None:
            found = group_sentences(text, self.cache, self.size)
            with self._lock:
                if self._chars > _MAX_CHARS:
                    self._known.clear()
                    self._chars = 0
                self._known[text] = found
                self._chars += len(text)
        return found

    def units(self, runs: Sequence[Run]) -> list[Unit]:
        """Return the units of all runs, in order; those of a run tile what its chunks say, each character once.

        Sentences that a chunk's end cuts through are mended: the two parts become one unit.
        """
        made: list[Unit] = []
        for number, run in enumerate(runs):
            self._cut_run(number, run, made)
        return made

    def words(self, runs: Sequence[Run]) -> WordPool:
        """Return where the words of runs begin; two characters between runs."""
        indexed = self._index(dict.fromkeys([chunk.text for run in runs for chunk in run.chunks]))
        parts: list[Words] = []
        bases: list[int] = []
        texts: list[list[str]] = []
        base = 0
        for run in runs:
            known = _tiling(run, indexed) or [_index([run.text])[0]]
            parts += [one.words for one in known]
            texts.append([one.lowered for one in known])
            bases += [base + low for low, _ in run.ranges] if len(known) > 1 else [base]
            base += len(run.text) + 2
        return WordPool(parts, bases, lambda: "\n\n".join(["".join(row) for row in texts]))

    def _index(self, texts: Collection[str]) -> dict[str, _Indexed]:
        """Return the words of each text, those met for the first time all at once."""
        remembered = self._indexed  # replaced as a whole by other threads, never emptied
        known = {text: remembered[text] for text in texts if text in remembered}
        fresh = [text for text in texts if text not in known]
        if fresh:
            found = dict(zip(fresh, _index(fresh), strict=True))
            with self._lock:
                if self._indexed_chars > _MAX_CHARS:
                    self._indexed = {}
                    self._indexed_chars = 0
                self._indexed.update(found)
                self._indexed_chars += sum(map(len, fresh))
            known.update(found)
        return known

    def _cut_run(self, number: int, run: Run, made: list[Unit]) -> None:
        reached = 0
        for position, (chunk, (low, high)) in enumerate(zip(run.chunks, run.ranges, strict=True)):
            if high <= reached and position:
                self._note_inside(made, number, position, low, high)
                continue
            if low < reached:
                self._note_inside(made, number, position, low, reached)
            cuts = self.cuts(chunk.text)
            mend = bool(position) and self._torn(run.text, reached, low, cuts)
            start = max(low, reached)
            if start == low and not mend:
                edges = [low, *[low + end for end in cuts.ends]]
                made += [
                    _unit((number, position, position, begin, end, tokens))
                    for begin, end, tokens in zip(edges, edges[1:], cuts.tokens, strict=False)
                ]
                reached = max(reached, high)
                continue
            for end, tokens in zip(cuts.ends, cuts.tokens, strict=True):
                end += low
                if end <= start:
                    continue
                whole = start == low or start - low in cuts.ends
                count = tokens if whole else self.cache.count(run.text[start:end])
                if mend and made[-1].tokens + count <= 2 * self.size:
                    torn = made.pop()
                    count = self.cache.count(run.text[torn.start : end])
                    made.append(torn._replace(last=position, end=end, tokens=count))
                else:
                    made.append(Unit(number, position, position, start, end, count))
                mend = False
                start = end
            reached = max(reached, high)

    @staticmethod
    def _note_inside(made: list[Unit], number: int, position: int, low: int, high: int) -> None:
        """Let the units that show the beginning of a chunk, or all of it, before its turn say so."""
        for at in range(len(made) - 1, -1, -1):
            unit = made[at]
            if unit.run != number or unit.end <= low:
                break
            if unit.start < high:
                made[at] = unit._replace(last=max(unit.last, position))

    @staticmethod
    def _torn(text: str, reached: int, low: int, cuts: Cuts) -> bool:
        """Whether a sentence goes on across the place where the text of earlier chunks ends."""
        if low < reached:  # the chunk overlaps: it knows where its own sentences end
            return reached - low not in cuts.ends
        before = text[max(0, reached - 8) : low]
        solid = before.rstrip()
        return bool(solid) and solid[-1] not in _ENDS_SENTENCE and "\n" not in before[len(solid) :]


def _index(texts: Sequence[str]) -> list[_Indexed]:
    low = [lowered(text) for text in texts]
    return [_Indexed(text, words) for text, words in zip(low, index_words(low), strict=True)]


def _tiling(run: Run, indexed: Mapping[str, _Indexed]) -> list[_Indexed]:
    """Words of a run's chunks; none where chunks overlap, or where the border of two cuts through a word."""
    edges = [0, *[high for _, high in run.ranges]]
    if edges[:-1] != [low for low, _ in run.ranges] or edges[-1] != len(run.text):
        return []
    found = [indexed[chunk.text] for chunk in run.chunks]
    torn = any(left.words.ends and right.words.begins for left, right in itertools.pairwise(found))
    return [] if torn else found
