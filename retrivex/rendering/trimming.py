"""Cutting a text down to what fits, around its best sentence, without touching a character of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from retrivex.text.sentences import cut_places, sentence_ranges
from retrivex.text.word_overlap import word_signature

_WORD_END = re.compile(r"(?<=\S)(?=\s|$)")


def best_sentence(text: str, ranges: Sequence[tuple[int, int]], question: str | None) -> int:
    """Return the number of the sentence that shares most words with the question; the first one without a question."""
    if not question:
        return 0
    wanted = word_signature(question)
    shared = [(wanted & word_signature(text[start:end])).bit_count() for start, end in ranges]
    return shared.index(max(shared))


def trim(
    text: str,
    fits: Callable[[int, int], bool],
    question: str | None = None,
    within: tuple[int, int] | None = None,
    ranges: Sequence[tuple[int, int]] | None = None,
) -> tuple[int, int] | None:
    """Return the part of `text` to keep: whole sentences around the best one, as many as fit.

    Parameters
    ----------
    text : not empty
    fits : whether `text[start:end]` may be kept; smaller parts are expected to fit where larger ones do
    question : what the best sentence is chosen by; without it, it is the first
    within : part of `text` in which the best sentence is looked for; all of it by default
    ranges : where its sentences, rows and lines of code stand; None for those of `sentence_ranges`

    Returns
    -------
    tuple of int or None
        Start and end; part of a sentence where not even the best one fits, None where not one character does.
    """
    ranges = sentence_ranges(text) if ranges is None else ranges
    if not ranges:
        return None
    low_edge, high_edge = within or (0, len(text))
    inside = [n for n, (start, end) in enumerate(ranges) if start < high_edge and end > low_edge] or [0]
    best = inside[best_sentence(text, [ranges[n] for n in inside], question)]
    if not fits(*ranges[best]):
        return _cut_sentence(text, *ranges[best], fits)

    def interval(added: int) -> tuple[int, int]:
        """Sentences after and before in turn, on one side only where the other is used up."""
        before = min(best, max(added // 2, added - (len(ranges) - 1 - best)))
        after = min(len(ranges) - 1 - best, added - before)
        return ranges[best - before][0], ranges[best + after][1]

    low, high = 0, len(ranges) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if fits(*interval(middle)):
            low = middle
        else:
            high = middle - 1
    return interval(low)


def _cut_sentence(text: str, start: int, end: int, fits: Callable[[int, int], bool]) -> tuple[int, int] | None:
    """Beginning of a sentence that fits: whole words, or whole characters where the first word is too long."""
    words = [start + match.start() for match in _WORD_END.finditer(text[start:end])]
    stop = _longest(start, words, fits)
    if stop is None:
        longest_word = words[0] if words else end
        stop = _longest(start, [*cut_places(text, start, longest_word)], fits)
    return None if stop is None else (start, stop)


def _longest(start: int, stops: Sequence[int], fits: Callable[[int, int], bool]) -> int | None:
    low, high = -1, len(stops) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if fits(start, stops[middle]):
            low = middle
        else:
            high = middle - 1
    return None if low < 0 else stops[low]
