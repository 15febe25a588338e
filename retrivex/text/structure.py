"""Where a text may be cut: at its sentences, headings, rows, items and fences, not at every line break.

What is read in one piece is a part: a sentence, a heading, a row of a table, a fence of code. A heading, the head of a
table and a line that leads in what follows belong to the part behind them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import chain, pairwise
from typing import Literal, NamedTuple, TypeAlias

from retrivex.text.sentences import LONG, as_plain_spaces, sentence_ends, trim_range

Kind: TypeAlias = Literal["text", "heading", "head", "row", "code"]

WHOLE = 1600
"""Characters, some 400 tokens, up to which a sentence, a row or a fence of code is not cut."""

_NARROW = 40  # characters; text that is wrapped at a width has wider lines
_NEARBY = 2000  # characters of a paragraph that are looked at on each side of a line break
_BESIDE = 80  # characters on each side of a place, from which it is decided whether a sentence ends there

_BLOCK = re.compile(
    r"[ \t]*(?:(?P<heading>#{1,6}[ \t]+\S)|(?P<row>\|)|(?P<bullet>[-*+•][ \t]+\S)|(?P<number>\d{1,3}[.)][ \t]+\S)"
    r"|(?P<fence>`{3,}|~{3,}))"
)
_HAS_BLOCK = re.compile(r"^[ \t]*(?:#{1,6}[ \t]|\||[-*+•][ \t]|\d{1,3}[.)][ \t]|```|~~~)", re.MULTILINE)
_FIRST_NUMBER = re.compile(r"[ \t]*1[.)]")
_FENCE_LINE = re.compile(r"^[ \t]*(?P<mark>`{3,}|~{3,})(?P<info>[^\n`]*)$", re.MULTILINE)
_DELIMITER = re.compile(r"[ \t]*\|(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*$")

_INLINE_MARKS = ("*", "_", "`", "](")
_ON = r"(?!\n[ \t]*\n)"  # no blank line
_INLINE = re.compile(
    rf"`(?:{_ON}[^`]){{1,300}}`"
    rf"|!?\[(?:{_ON}[^\[\]]){{1,300}}\]\([^()\s]{{0,500}}\)"
    rf"|(?<![\w*])(\*{{1,3}})(?=[^\s*])(?:{_ON}[\s\S]){{0,800}}?(?<=[^\s*])\1(?![\w*])"
    rf"|(?<![\w_])(_{{1,2}})(?=[^\s_])(?:{_ON}[\s\S]){{0,800}}?(?<=[^\s_])\2(?![\w_])"
)
_CLOSING_MARK = re.compile(r"(?:\*{1,3}|_{1,3})(?=[\s.,;:!?)\]]|$)")
_OPENING_MARK = re.compile(r"[ \t]*(?:[-*+•][ \t]+|\d{1,3}[.)][ \t]+|>[ \t]*){0,9}")  # more are no nested items

_CLOSERS = "\"'”’»)\\]）】」』》*_`"
_FINISHED = re.compile(rf"[.!?。！？｡…][.!?。！？｡…{_CLOSERS}]*(?:\s*\[\d+\])*\Z")
_ABBREVIATED = re.compile(r"(?:\d|\b[A-Z]|\b(?:[Dd]r|Mrs?|Ms|Prof|St|vs|No|[Ff]igs?|al|e\.g|i\.e|cf|ca|pp?))\.\Z")
_NEVER_LAST = re.compile(
    r"\b(?:[Dd]r|Mrs?|Ms|Prof|vs|[Ff]igs?|e\.g|i\.e|cf|ca)\.\Z"
)  # a sentence ends in none of these
_STRONG = re.compile(rf"[。！？｡…]+[{_CLOSERS}]*|[.!?]+[{_CLOSERS}]*(?=\s)|[\r\n]+")
_WEAK = re.compile(r"；|;(?=\s)")
_PUNCTUATED = re.compile(rf"[.!?](?=[\s{_CLOSERS}]|\Z)|[。！？]")
_GOES_ON = re.compile(r"[,;:.!?%](?=\s|$)|[)\]}»”’，、；：。！？」』]")
_ENDS_LOOSELY = frozenset(".!?。！？｡…:;：；\"'”’»)）]】」』》|`")
_LETTER = re.compile(r"[^\W\d_]")
_TAIL = 8  # characters in which the end of a text without punctuation is looked for


class Part(NamedTuple):
    """A stretch that is not cut, with the white space behind it.

    Parameters
    ----------
    start, end : offsets in the text
    kind : what it is; `head` is the head of a table
    binds : whether it belongs to the part behind it
    """

    start: int
    end: int
    kind: Kind = "text"
    binds: bool = False


class Structure(NamedTuple):
    """The parts of a text, which tile it, and the mark of the fence that is open at its end; empty without one."""

    parts: list[Part]
    fence: str = ""


def structure_of(text: str, fence: str = "", language: str = "en") -> Structure:
    r"""Return the parts of a text.

    Parameters
    ----------
    text : any text
    fence : the mark of the fence that it begins in; empty where it begins in none
    language : ISO 639-1 code, see `sentence_ranges`

    Examples
    --------
    >>> text = "# Bees\n**At night.** They sleep in\nhives.\n| a | b |\n|---|---|\n| c | d |"
    >>> for part in structure_of(text).parts:
    ...     print(repr(text[part.start : part.end]), part.kind)
    '# Bees\n' heading
    '**At night.** They sleep in\nhives.\n' text
    '| a | b |\n|---|---|\n' head
    '| c | d |' row
    """
    safe = as_plain_spaces(text)
    found: list[tuple[int, Kind]] = []
    open_fence = ""
    if fence or (_HAS_BLOCK.search(safe) if "\n" in safe else _HAS_BLOCK.match(safe)):
        blocks, open_fence = _blocks(safe, fence)
        for kind, start, end in blocks:
            if kind == "text":
                found += [(at, kind) for at in _sentence_starts(safe, start, end, language)]
            elif kind == "code" and end - start > WHOLE:
                found += [(line, kind) for line, _ in _lines(safe, start, end)]
            else:
                found.append((start, kind))
    else:
        found = [(at, "text") for at in _sentence_starts(safe, 0, len(safe), language)]
    if not found:
        return Structure([Part(0, len(text))] if text else [])
    starts = [0, *[start for start, _ in found[1:]], len(text)]
    may_lead_in = ":" in text or "：" in text
    parts = [
        Part(
            start,
            end,
            kind,
            kind in ("heading", "head") or (may_lead_in and kind == "text" and _leads_in(safe, start, end)),
        )
        for start, end, (_, kind) in zip(starts, starts[1:], found, strict=False)
    ]
    return Structure(parts, open_fence)


def line_ranges(text: str) -> list[tuple[int, int]]:
    """Return where the parts of a text stand, without white space at their ends; of code its lines."""
    parts = structure_of(text).parts
    found = [
        line
        for part in parts
        for line in (_lines(text, part.start, part.end) if part.kind in ("code", "head") else [part[:2]])
    ]
    return [(start, end) for start, end in (trim_range(text, *line) for line in found) if start < end]


# ---- the two ends of a text


class Begin(IntEnum):
    """How a text begins: with a sentence, perhaps inside one, in lower case, or surely inside a part."""

    WHOLE = 0
    SUSPECT = 1
    LOWER = 2
    TORN = 3


class End(IntEnum):
    """How a text ends.

    With a finished part, with a line that may go on, inside a part (surely, or perhaps where nothing is
    punctuated), with a part that binds, inside a fence, or with white space that does not tell.
    """

    DONE = 0
    LINE = 1
    OPEN = 2
    LOOSE = 3
    BINDS = 4
    FENCE = 5
    BLANK = 6
    ABBREVIATED = 7


class Edges(NamedTuple):
    """How a text begins and ends.

    Parameters
    ----------
    begin, end : see there
    punctuated : whether it has marks that end a sentence
    cased : whether its sentences begin with capital letters; None where it has none that tells
    """

    begin: Begin
    end: End
    punctuated: bool
    cased: bool | None


def edges_of(text: str, structure: Structure, fence: str = "") -> Edges:
    """Return how a text begins and ends; the other arguments are those of `structure_of`, and its result.

    Examples
    --------
    >>> for text in ("in the hive. They sleep", "Bees sleep. They rest."):
    ...     edges = edges_of(text, structure_of(text))
    ...     print(edges.begin.name, edges.end.name)
    LOWER OPEN
    WHOLE DONE
    """
    punctuated = _PUNCTUATED.search(text) is not None
    end = _end(text, structure, punctuated)
    begin = Begin.TORN if fence else _begin(text, structure.parts, punctuated, end)
    return Edges(begin, end, punctuated, _is_cased(text, structure.parts) if begin or end else None)


def _begin(text: str, parts: Sequence[Part], punctuated: bool, end: End) -> Begin:
    solid = text.lstrip()
    if not solid:
        return Begin.WHOLE
    lines = solid.split("\n", 2)
    row_follows = len(lines) > 1 and lines[1].lstrip().startswith("|")
    if solid[0] == "|":
        if _DELIMITER.match(lines[0].rstrip()):
            return Begin.TORN
        return Begin.TORN if row_follows and lines[0].count("|") < lines[1].count("|") else Begin.WHOLE
    if row_follows and lines[0].rstrip().endswith("|"):
        return Begin.TORN
    if _BLOCK.match(solid):
        return Begin.WHOLE
    if _CLOSING_MARK.match(solid) or _GOES_ON.match(solid):
        return Begin.TORN
    if solid[0].islower():
        return Begin.LOWER
    if not punctuated:
        return Begin.WHOLE
    starts_line = text[: len(text) - len(solid)].count("\n") > 1
    return Begin.SUSPECT if end == End.OPEN and not starts_line else Begin.WHOLE


def _end(text: str, structure: Structure, punctuated: bool) -> End:
    solid = text.rstrip()
    if structure.fence:
        return End.FENCE
    if not solid:
        return End.BLANK if len(text) < _TAIL else End.DONE
    last = structure.parts[-1]
    breaks = text.count("\n", len(solid))
    if last.kind in ("heading", "head"):
        return End.BINDS
    if last.kind == "code":
        return End.DONE
    if last.kind == "row":
        row = solid[solid.rfind("\n") + 1 :]
        before = structure.parts[-2:-1]
        shorter = before and before[0].kind in ("row", "head") and row.count("|") < _bars(text, before[0])
        return End.OPEN if not breaks and (shorter or not row.endswith("|")) else End.DONE
    if breaks > 1:
        return End.DONE
    if not punctuated:
        return End.DONE if breaks or solid[-1] in _ENDS_LOOSELY else End.LOOSE
    if text.count("**", last.start) % 2 or text.count("`", last.start) % 2:
        return End.OPEN
    if _FINISHED.search(solid[-_BESIDE:]):
        if _NEVER_LAST.search(solid[-_TAIL:]):
            return End.OPEN
        return End.ABBREVIATED if _ABBREVIATED.search(solid[-_TAIL:]) else End.DONE
    return End.LINE if breaks and not _is_wrapped_end(solid, last) else End.OPEN


def is_finished(text: str) -> bool:
    """Whether a sentence or block ends with a text, as far as its last characters say."""
    solid = text.rstrip()
    if not solid or text.count("\n", len(solid)) > 1:
        return True
    tail = solid[-_TAIL:]
    return bool(_FINISHED.search(solid[-_BESIDE:])) and not _NEVER_LAST.search(tail) and not _ABBREVIATED.search(tail)


def _is_wrapped_end(solid: str, last: Part) -> bool:
    """Whether the last line of a text is one of a paragraph that is wrapped at a width, not its last."""
    lines = solid.rsplit("\n\n", 1)[-1].splitlines()
    if len(lines) < 2 or _BLOCK.match(lines[-1]) or _BLOCK.match(solid, last.start):
        return False
    return 2 * len(lines[-1]) >= max(map(len, lines)) >= _NARROW


def _bars(text: str, part: Part) -> int:
    return text[part.start : part.end].split("\n", 1)[0].count("|")


def _is_cased(text: str, parts: Sequence[Part]) -> bool | None:
    firsts = [_LETTER.search(text, part.start, part.end) for part in parts[1:] if part.kind == "text"]
    letters = [found[0] for found in firsts if found]
    if any(letter.isupper() for letter in letters):
        return True
    return False if any(letter.islower() for letter in letters) else None


def ends_sentence(text: str, at: int) -> bool:
    """Whether a sentence ends at a place behind a full stop: an abbreviation ends none."""
    low, high = max(0, at - _BESIDE), _skip_space(text, at)
    if text[at - 2 : at - 1].isdigit():
        return high > at or not text[at : at + 1].isdigit()
    nearby = as_plain_spaces(text[low : high + _BESIDE])
    return any(at <= low + end <= high for end in sentence_ends(nearby))


def begins_block(text: str, at: int) -> bool:
    """Whether a heading, row, item or fence begins at a place."""
    return _BLOCK.match(text, at) is not None


def fence_at_start(text: str) -> str:
    """Return the mark of the fence that a text seems to begin in: its first fence closes one; empty without one."""
    fences = [*_FENCE_LINE.finditer(text)] if "```" in text or "~~~" in text else []
    if not fences or fences[0]["info"].strip():
        return ""
    if len(fences) > 1:
        return fences[0]["mark"] if fences[1]["info"].strip() or len(fences) % 2 else ""
    before = text[: fences[0].start()].rstrip(" \t").endswith("\n\n") or not text[: fences[0].start()].strip()
    after = text[fences[0].end() :].lstrip(" \t")
    return fences[0]["mark"] if not before and (not after or after.startswith("\n\n")) else ""


# ---- blocks


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end:
        stop = text.find("\n", start, end) + 1 or end
        yield start, stop
        start = stop


def _blocks(text: str, fence: str) -> tuple[list[tuple[Kind, int, int]], str]:
    """Divide a text into fences, headings, rows and stretches of text; each item of a list begins a stretch."""
    lines = [*_lines(text, 0, len(text))]
    made: list[tuple[Kind, int, int]] = []
    at = begun = 0
    is_open = in_list = after_blank = False
    if fence:
        at, is_open = _past_fence(text, lines, 0, fence)
        begun = lines[at - 1][1]
        made.append(("code", 0, begun))
    while at < len(lines):
        start, end = lines[at]
        found = _BLOCK.match(text, start, end)
        block = found.lastgroup if found else None
        if block == "number" and not (in_list or after_blank or not start or _FIRST_NUMBER.match(text, start)):
            block = None  # a wrapped line that begins with a number
        first, at = at, at + 1
        if block is None or found is None:
            is_blank = not text[start:end].strip()
            in_list = in_list and (is_blank or not after_blank or text[start] in " \t")
            after_blank = is_blank
            continue
        if begun < start:
            made.append(("text", begun, start))
        begun, after_blank = start, False
        in_list = block in ("bullet", "number") or (in_list and block == "fence")
        if block == "fence":
            fence = found["fence"]
            at, is_open = _past_fence(text, lines, at, fence)
            made.append(("code", start, lines[at - 1][1]))
        elif block == "heading":
            made.append(("heading", start, end))
        elif block == "row":
            at = _past_rows(text, lines, at)
            made += _table(text, lines[first:at])
        else:
            continue
        begun = lines[at - 1][1]
    if begun < len(text):
        made.append(("text", begun, len(text)))
    return made, fence if is_open else ""


def _past_fence(text: str, lines: Sequence[tuple[int, int]], at: int, mark: str) -> tuple[int, bool]:
    """Return the number of the line behind a fence whose inside begins at a line, and whether it is never closed."""
    for number in range(at, len(lines)):
        line = text[slice(*lines[number])].strip()
        if line.startswith(mark) and not line.strip(mark[0]):
            return number + 1, False
    return len(lines), True


def _past_rows(text: str, lines: Sequence[tuple[int, int]], at: int) -> int:
    while at < len(lines) and text[slice(*lines[at])].lstrip(" \t").startswith("|"):
        at += 1
    return at


def _table(text: str, rows: Sequence[tuple[int, int]]) -> Iterator[tuple[Kind, int, int]]:
    """Yield the head of a table, if it is there, as one, and its rows."""
    rules = [_DELIMITER.match(text[start:end].rstrip()) is not None for start, end in rows[:2]]
    head = 2 if rules[1:] == [True] else 1 if rules[0] else 0
    if head:
        yield "head", rows[0][0], rows[head - 1][1]
    for start, end in rows[head:]:
        yield "row", start, end


def _leads_in(text: str, start: int, end: int) -> bool:
    """Whether a stretch ends with a colon, in front of an item, a table or a fence."""
    if end >= len(text) or not text[start:end].rstrip().endswith((":", "：")):
        return False
    found = _BLOCK.match(text, text.rfind("\n", 0, end) + 1)
    return found is not None and found.lastgroup != "heading"


# ---- sentences


def _sentence_starts(text: str, start: int, end: int, language: str) -> list[int]:
    """Return where the sentences of a stretch begin; line breaks in wrapped text and in emphasis are no boundaries."""
    stretch = text[start:end]
    starts: list[int] = []
    low = 0
    for high in chain(sentence_ends(stretch, language), (len(stretch),)):
        if high <= low:
            continue
        if high - low > LONG:
            trimmed = (trim_range(stretch, *part) for part in _shorter(stretch, low, high))
            starts += [begin for begin, stop in trimmed if begin < stop]
        elif not stretch[low].isspace():
            starts.append(low)
        else:
            begin, stop = trim_range(stretch, low, high)
            if begin < stop:
                starts.append(begin)
        low = high
    if len(starts) > 1 and (any(mark in stretch for mark in _INLINE_MARKS) or _BLOCK.match(stretch)):
        starts = _outside_marks(stretch, starts)
    return [start + begin for begin in starts]


def _shorter(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a long range, which may be several sentences, at full stops and at line breaks that are none of wrapping."""
    strong = [
        found.end()
        for found in _STRONG.finditer(text, start, end)
        if text[found.start()] not in "\r\n" or not is_wrapped(text, found.start())
    ]
    for low, high in pairwise((start, *(at for at in strong if at < end), end)):
        weak = [found.end() for found in _WEAK.finditer(text, low, high)] if high - low > WHOLE else []
        yield from pairwise((low, *(at for at in weak if at < high), high))


def is_wrapped(text: str, at: int) -> bool:
    r"""Whether a line goes on behind its break, at an offset: the next word found no place in it.

    Examples
    --------
    >>> title, wrapped = "Bees\nThey sleep in the hive at night.", "They sleep in the hive at\nnight."
    >>> is_wrapped(title, 4), is_wrapped(wrapped, 25)
    (False, True)
    """
    above = text[max(0, at - _NEARBY) : at].rstrip("\r").rsplit("\n\n", 1)[-1].splitlines()
    below = text[at : at + _NEARBY].lstrip("\r")[1:].split("\n\n", 1)[0].splitlines()
    if not above or not below or not below[0].strip():
        return False
    line, following = above[-1].rstrip(), below[0].strip()
    width = max(map(len, (*above, *below)))
    if 2 * len(line) < width:
        return False
    if following[0].islower():
        return True
    return width >= _NARROW and len(line) + 1 + len(following.split(maxsplit=1)[0]) > width


def _outside_marks(text: str, starts: Sequence[int]) -> list[int]:
    """Move or leave out starts inside emphasis, code, links and behind markers: a bold lead-in is in its sentence."""
    marked = [found.span() for found in _INLINE.finditer(text)]
    known = set(starts)
    made = [starts[0]]
    behind_marker = _skip_marker(text, made[-1])
    for at in starts[1:]:
        if behind_marker == at:
            continue  # the number of an item is no sentence
        nearest = bisect_left(marked, (at,)) - 1
        low, high = marked[nearest] if nearest >= 0 else (0, 0)
        if at >= high:
            closing = _CLOSING_MARK.match(text, at)
            moved = at if closing is None else _skip_space(text, closing.end())
        elif text[at:high].strip("*_") or low <= behind_marker:
            continue
        else:
            moved = _skip_space(text, high)
        if made[-1] < moved < len(text) and (moved == at or moved not in known):
            made.append(moved)
            behind_marker = _skip_marker(text, moved)
    return made


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _skip_marker(text: str, at: int) -> int:
    found = _OPENING_MARK.match(text, at)
    return found.end() if found else at
