"""The words of chunks, found once and remembered."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from retrivex.merging.offsets import RUN_SEPARATOR_CHARS, OffsetIndex
from retrivex.model.run import Run
from retrivex.text.cache import TextCache
from retrivex.text.terms import TermIndex, TermPositions, index_words, is_in_word, join_rows
from retrivex.text.words import cut_words, is_letter, read

_MAX_CHARS = 32_000_000  # characters of chunk text whose words are remembered
_PER_TEXT = 200  # that a text counts beside its own, as short texts take memory too
_WINDOW = 16  # characters in which a word is read anew: twice as many as are kept, as what follows can change a letter


def _size(text: str) -> int:
    return len(text) + _PER_TEXT


class TermIndexer:
    """Remembers the words of the chunks it has seen, up to `_MAX_CHARS` characters. Safe for several threads."""

    def __init__(self) -> None:
        self._known = TextCache[str, TermPositions](_MAX_CHARS, _size)

    def pool(self, axis: OffsetIndex) -> TermIndex:
        """Return where the words of all runs begin."""
        known = self._index(axis.texts)
        tiled = _tile(axis, known)
        if tiled.all():
            readings = [one.reading for one in known]
            return TermIndex(known, axis.starts, lambda: join_rows(axis.rows(readings), axis.starts))
        boundaries = _Boundaries(axis, known, (~tiled).nonzero()[0].tolist(), self._index)
        pool = TermIndex(
            boundaries.parts, axis.starts, lambda: join_rows([[read(run.text)] for run in axis.runs], axis.bases)
        )
        pool.repair(boundaries.dropped, boundaries.split, boundaries.windows)
        return pool

    def stretches(self, texts: Sequence[str]) -> tuple[TermIndex, NDArray[np.int64]]:
        """Return where words begin in texts that stand apart, and where on its axis each text begins."""
        known = self._index(texts)
        sizes = np.array([len(text) + RUN_SEPARATOR_CHARS for text in texts], dtype=np.int64)
        starts = sizes.cumsum() - sizes
        return TermIndex(known, starts, lambda: join_rows([[one.reading] for one in known], starts)), starts

    def read(self, texts: Sequence[str]) -> list[str]:
        """Return texts as they are read."""
        return [one.reading.text for one in self._index(texts)]

    def _index(self, texts: Sequence[str]) -> list[TermPositions]:
        """Return the words of each text, those met for the first time all at once."""
        return self._known.find(texts, index_words)


def _tile(axis: OffsetIndex, words: Sequence[TermPositions]) -> NDArray[np.bool_]:
    """Per run, whether its words are those of its chunks: none overlap, and no word goes on across their borders."""
    begins = np.frombuffer(bytes([one.begins for one in words]), dtype=np.bool_)
    ends = np.frombuffer(bytes([one.ends for one in words]), dtype=np.bool_)
    is_open = np.frombuffer(bytes([one.is_open for one in words]), dtype=np.bool_)
    apart = (axis.starts[1:] != axis.ends[:-1]) | (ends[:-1] & begins[1:]) | is_open[:-1]
    apart &= axis.goes_on
    tiled = np.ones(len(axis.runs), dtype=np.bool_)
    tiled[axis.run[1:][apart]] = False
    return tiled


class _Boundaries:
    """What changes among the words of chunks where they overlap, or part words.

    Parameters
    ----------
    axis : the chunks
    known : what is remembered of each
    numbers : of the runs with such chunks
    index : finds the words of texts

    Attributes
    ----------
    parts : words of each chunk
    dropped : ranges of numbers of words that are none, or that an earlier chunk has too
    split, windows : numbers of words that go on across a border, and the text from their beginning
    """

    def __init__(
        self,
        axis: OffsetIndex,
        known: Sequence[TermPositions],
        numbers: Sequence[int],
        index: Callable[[Sequence[str]], list[TermPositions]],
    ) -> None:
        self.axis = axis
        self.parts = list(known)
        self.dropped: list[tuple[int, int]] = []
        self.split: list[int] = []
        self.windows: list[str] = []
        firsts = axis.firsts.tolist()
        whole = [
            number for number in numbers if cut_words(axis.runs[number].text) or _has_worded_joiner(axis.runs[number])
        ]
        for number in whole:  # read as they are, as if all were in the first chunk
            run = axis.runs[number]
            self.parts[firsts[number] : firsts[number] + len(run)] = index([run.text, *[""] * (len(run) - 1)])
        self.begins = list(itertools.accumulate([len(words.offsets) for words in self.parts], initial=0))
        for number in sorted(set(numbers).difference(whole)):
            self._repair(axis.runs[number], firsts[number])

    def _repair(self, run: Run, chunk: int) -> None:
        """Go through the borders of a run, whose first chunk has a number."""
        reached, in_word, last, start = 0, False, 0, 0
        for at, (low, high) in enumerate(run.ranges, start=chunk):
            words, begin, end = self.parts[at], self.begins[at], self.begins[at + 1]
            if high <= reached:
                self.dropped.append((begin, end))
                continue
            over = max(0, reached - low)
            first = begin + (int(words.offsets.searchsorted(over)) if over else 0)
            if in_word and low <= reached and (is_in_word(self.axis.texts[at][over]) if over else words.begins):
                if not over:  # the chunk takes the rest of the word for one
                    first += int(words.offsets.searchsorted(1))
                if not self.split or self.split[-1] != last:
                    self.split.append(last)
                    self.windows.append(run.text[start : start + _WINDOW])
            if begin < first:
                self.dropped.append((begin, first))
            if first < end:
                last, start = end - 1, low + int(words.offsets[-1])
            reached, in_word = high, words.ends


def _has_worded_joiner(run: Run) -> bool:
    edges = itertools.accumulate([high for _, high in run.ranges], max)
    gaps = [run.text[reached:low] for reached, (low, _) in zip(edges, run.ranges[1:], strict=False) if reached < low]
    return any(map(is_letter, "".join(gaps)))
