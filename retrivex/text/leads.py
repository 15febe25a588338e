"""Lead-ins: the head of a table and the line in front of a list, which its rows and items are read with."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from retrivex.text.sentences import sentence_ranges

MAX_LEAD = 400
"""Characters; a longer line in front of a list is not repeated."""

_MARKER = r"(?:[-*+•]|\d{1,3}[.)])[ \t]"
_DELIMITER = re.compile(r"[ \t]*\|(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*(?:\n|\Z)")
_ROWS = re.compile(r"(?:[ \t]*\|[^\n]*(?:\n|\Z))+")
_LIST = re.compile(rf"(?:[ \t]*\n)?(?=[ \t]*{_MARKER})")
_ITEM = rf"[ \t]*{_MARKER}[^\n]*(?:\n|\Z)"
_WRAPPED = rf"(?![ \t]*{_MARKER})(?![ \t]*(?:#|\||```|~~~))[ \t]*\S[^\n]*(?:\n|\Z)"
_ITEMS = re.compile(rf"(?:{_ITEM}(?:{_WRAPPED})*(?:[ \t]*\n(?=[ \t]+\S|{_MARKER}))?)+")
_BEGINS = re.compile(rf"[ \t]*(?:\||{_MARKER})")


class Lead(NamedTuple):
    """Rows or items, and what belongs in front of whatever begins at one of their lines.

    Parameters
    ----------
    start, end : offsets of the rows or items
    head : where the head of the table begins, which ends at `start`; None for the line in front of a list
    """

    start: int
    end: int
    head: int | None = None


def leads_of(text: str) -> list[Lead]:
    r"""Return the tables that have a head, and the lists behind a line that ends with a colon, ascending.

    Examples
    --------
    >>> leads_of("| a | b |\n|---|---|\n| c | d |\n\nThey need:\n- wax\n- pollen")
    [Lead(start=20, end=30, head=0), Lead(start=42, end=56, head=None)]
    """
    # looked for by fixed strings: patterns take many times as long, and most texts have neither
    made = [*_tables(text)] if "|\n" in text else []
    for colon in (":\n", "：\n", ":**\n"):
        at = text.find(colon)
        while at >= 0:
            behind = _LIST.match(text, at + len(colon))
            if behind and (items := _ITEMS.match(text, behind.end())):
                made.append(Lead(*items.span()))
            at = text.find(colon, at + 1)
    return sorted(made, key=lambda lead: lead.start)


def _tables(text: str) -> Iterator[Lead]:
    at = text.find("--")
    while at >= 0:
        line = text.rfind("\n", 0, at) + 1
        delimiter = _DELIMITER.match(text, line)
        head = text.rfind("\n", 0, max(0, line - 1)) + 1
        if delimiter and line and text[head:line].lstrip(" \t").startswith("|"):
            rows = _ROWS.match(text, delimiter.end())
            if rows:
                yield Lead(*rows.span(), head)
        line_end = text.find("\n", at)
        at = -1 if line_end < 0 else text.find("--", line_end)


def lead_at(text: str, at: int, leads: Sequence[Lead] | None = None) -> str | None:
    """Return what belongs in front of a passage that begins at a place; None where nothing does.

    Parameters
    ----------
    text : any text
    at : offset, white space in front of the passage included or not
    leads : of the text, where they are known
    """
    if not may_have_lead(text, at):
        return None
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
        lead = known[number]
        if line < lead.end:
            return _line_before(text, lead.start) if lead.head is None else text[lead.head : lead.start]
        number -= 1
    return None


def may_have_lead(text: str, at: int) -> bool:
    """Whether a passage at a place may begin with a row or an item; quickly."""
    return text[at : at + 1] in "|-*+•0123456789 \t\r\n"


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
