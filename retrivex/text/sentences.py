"""Sentence boundaries with exact offsets."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import accumulate

import sentencex  # type: ignore[import-untyped]  # a compiled module without stubs

# sentencex turns byte offsets into character offsets from the start of its input for every sentence: quadratic in the
# length of a text that is not ASCII. Windows of this many characters keep it linear.
_WINDOW = 1000

LONG = 400
"""Characters; longer "sentences" are tables, logs, or a quotation that never closes."""

MAX_CLUSTER = 32
"""Characters that are kept together as one letter at most: no writing has more than 30 marks on a letter (Unicode's
Stream-Safe Text Format, UAX #15), and no emoji as many parts."""

# White space of several bytes next to a full stop makes sentencex panic, and lone surrogates cannot be handed to it.
# Both are replaced one for one, so offsets stay.
_WIDE_SPACE = re.compile("[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_SURROGATE = re.compile("[\ud800-\udfff]")

_CLOSERS = "\"'”’»)\\]）】」』》"
_STRONG = re.compile(rf"[。！？｡…]+[{_CLOSERS}]*|[.!?]++[{_CLOSERS}]*+(?=\s)|[\r\n]+")
_WEAK = re.compile(r"；|;(?=\s)")


def trim_range(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the range without the white space at its two ends; empty at `start` where nothing is left.

    Examples
    --------
    >>> trim_range("  Bees sleep. ", 0, 14)
    (2, 13)
    """
    part = text[start:end]
    length = len(part.strip())
    if not length:
        return start, start
    start += len(part) - len(part.lstrip())
    return start, start + length


def sentence_ranges(text: str, language: str = "en") -> list[tuple[int, int]]:
    """Return the sentences of `text` as ranges of characters, in order and without overlap.

    Every character that is not white space lies in exactly one range; no range begins or ends with white space. The
    boundaries are those of `sentencex`; a "sentence" of more than 400 characters (a table, a log, a quotation that
    never closes) is cut at full stops and line breaks inside it, and where that is not enough at semicolons.

    Parameters
    ----------
    text : any text; Chinese and Japanese full stops end a sentence whatever `language` is
    language : ISO 639-1 code; decides which abbreviations do not end a sentence. Unknown codes follow general rules

    Examples
    --------
    >>> text = "Dr. Lee came. 她走了。Then?"
    >>> [text[start:end] for start, end in sentence_ranges(text)]
    ['Dr. Lee came.', '她走了。', 'Then?']
    """
    text = as_plain_spaces(text)
    ranges: list[tuple[int, int]] = []
    for start, end in _between(0, len(text), sentence_ends(text, language)):
        if end - start > LONG:
            ranges += _shorter(text, start, end)
        else:
            ranges.append((start, end))
    trimmed_ranges = (trim_range(text, start, end) for start, end in ranges)
    return [(start, end) for start, end in trimmed_ranges if start < end]


def as_plain_spaces(text: str) -> str:
    """Return a text of the same length that the segmenter can read."""
    return text if text.isascii() else _SURROGATE.sub("?", _WIDE_SPACE.sub(" ", text))


def sentence_ends(text: str, language: str = "en") -> Iterator[int]:
    """Yield the offset at which each sentence ends, in ascending order; for texts of `as_plain_spaces`."""
    begin = 0
    while begin < len(text):
        window = text[begin : begin + _WINDOW]
        # they tile the window; its own offsets take the segmenter three times as long
        ends = [*accumulate(map(len, sentencex.segment(language, window)), initial=begin)][1:]
        if begin + _WINDOW < len(text):
            # The last one may have been cut by the window's edge: the next window begins where it begins. A lone one is
            # longer than the window and ends at a space.
            last = begin + (max(window.rfind(" "), window.rfind("\n")) + 1 or len(window))
            ends = ends[:-1] or [last]
        yield from ends
        begin = ends[-1]


def _shorter(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a long range at full stops and line breaks, and what is still long at semicolons."""
    for part_start, part_end in _between(start, end, (m.end() for m in _STRONG.finditer(text, start, end))):
        if part_end - part_start <= LONG:
            yield part_start, part_end
        else:
            yield from _between(part_start, part_end, (m.end() for m in _WEAK.finditer(text, part_start, part_end)))


def _between(start: int, end: int, cuts: Iterator[int]) -> Iterator[tuple[int, int]]:
    """Yield the ranges that ascending `cuts` divide `start` to `end` into."""
    for cut in cuts:
        if cut > start:
            yield start, cut
            start = cut
    if start < end:
        yield start, end


def cut_places(text: str, start: int, end: int) -> Iterator[int]:
    r"""Yield the places behind `start` at which a text may be cut, ascending; the last is `end`.

    None parts a letter from its accents, or the parts of an emoji, unless more than `MAX_CLUSTER` characters in a row
    belong together: nobody reads those as one.

    Examples
    --------
    >>> [*cut_places("ne\u0301e", 0, 4)], [*cut_places("\u0301" * 70, 0, 70)]
    ([1, 3, 4], [32, 64, 70])
    """
    for at in range(start + 1, end):
        if at - start >= MAX_CLUSTER or _may_cut(text, at):
            yield at
            start = at
    if start < end:
        yield end


def _may_cut(text: str, at: int) -> bool:
    if at >= len(text):
        return True
    after, before = text[at], text[at - 1]
    joins = unicodedata.combining(after) or after in "\u200d\ufe0f" or "\U0001f3fb" <= after <= "\U0001f3ff"
    return not joins and before != "\u200d"
