"""Lead-ins: the head of a table and the line in front of a list, which its rows and items are read with."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from retrivex.text.sentences import sentence_ranges

MAX_LEAD = 400
"""Characters; a longer line in front of a list is not repeated."""

_MARKER = r"(?:[-*+•]|\d{1,3}[.)])[ \t]"
_HEAD = re.compile(r"^[ \t]*\|[^\n]*\n[ \t]*\|(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*(?:\n|\Z)", re.MULTILINE)
_ROWS = re.compile(r"(?:[ \t]*\|[^\n]*(?:\n|\Z))+")
_COLON = re.compile(rf"[:：][*_]{{0,3}}[ \t]*\n(?:[ \t]*\n)?(?=[ \t]*{_MARKER})")
_ITEM = rf"[ \t]*{_MARKER}[^\n]*(?:\n|\Z)"
_WRAPPED = rf"(?![ \t]*{_MARKER})(?![ \t]*(?:#|\||```|~~~))[ \t]*\S[^\n]*(?:\n|\Z)"
_ITEMS = re.compile(rf"(?:{_ITEM}(?:{_WRAPPED})*(?:[ \t]*\n(?=[ \t]+\S|{_MARKER}))?)+")
_BEGINS = re.compile(rf"[ \t]*(?:\||{_MARKER})")


class Lead(NamedTuple):
    """Text that belongs in front of whatever begins in a range, at one of its lines.

    Parameters
    ----------
    start, end : offsets of the rows or items behind it
    text : with a line break at its end
    """

    start: int
    end: int
    text: str


def leads_of(text: str) -> list[Lead]:
    r"""Return the heads of tables and the lines in front of lists, ascending.

    Examples
    --------
    >>> leads_of("| a | b |\n|---|---|\n| c | d |\n\nThey need:\n- wax\n- pollen")
    [Lead(start=20, end=30, text='| a | b |\n|---|---|\n'), Lead(start=42, end=56, text='They need:\n')]
    """
    made: list[Lead] = []
    if "|\n" in text:
        for head in _HEAD.finditer(text):
            rows = _ROWS.match(text, head.end())
            if rows:
                made.append(Lead(*rows.span(), head[0]))
    if ":" in text or "：" in text:
        for colon in _COLON.finditer(text):
            items, line = _ITEMS.match(text, colon.end()), _line_before(text, colon.end())
            if items and line:
                made.append(Lead(*items.span(), line))
    return sorted(made)


def lead_at(text: str, at: int, leads: Sequence[Lead] | None = None) -> str | None:
    """Return what belongs in front of a passage that begins at a place; None where nothing does.

    Parameters
    ----------
    text : any text
    at : offset, white space in front of the passage included or not
    leads : of the text, where they are known
    """
    begins = at
    while begins < len(text) and text[begins].isspace():
        begins += 1
    line = text.rfind("\n", 0, begins) + 1
    if text[line:begins].strip() or not _BEGINS.match(text, line):
        return None
    known = leads_of(text) if leads is None else leads
    number = bisect_right(known, line, key=lambda lead: lead.start) - 1
    # a list in an item ends before the list around it
    while number >= 0:
        if line < known[number].end:
            return known[number].text
        number -= 1
    return None


def prefix_at(text: str, chunk: int, at: int, prefix: str | None, leads: Sequence[Lead] | None = None) -> str | None:
    """Return what is shown in front of a passage: what its chunk brings, or what stands before it in the text.

    Parameters
    ----------
    text : any text
    chunk, at : where its chunk begins, and where it begins itself
    prefix : of its chunk; the head of a table and the mark of a fence hold up to the end of the table or fence
    leads : of the text, where they are known
    """
    if prefix:
        before, mark = text[chunk:at], prefix.strip()[:3]
        is_over = mark in ("```", "~~~") and any(line.strip().startswith(mark) for line in before.splitlines())
        if mark.startswith("|"):
            is_over = any(not line.lstrip().startswith("|") for line in before.splitlines())
        if not is_over:
            return prefix
    return lead_at(text, at, leads)


def _line_before(text: str, end: int) -> str | None:
    """Return the sentence that ends at a place with a colon, as a line; None where it is too long to be repeated."""
    paragraph = text[max(0, end - 2 * MAX_LEAD) : end].rstrip().rsplit("\n\n", 1)[-1]
    start, stop = sentence_ranges(paragraph)[-1]
    lead = paragraph[start:stop]
    block = max((lead.rfind(mark) for mark in ("\n#", "\n|", "\n- ", "\n* ")), default=-1)
    lead = lead[block + 1 :]
    return f"{lead}\n" if len(lead) <= MAX_LEAD else None
