"""Lead-ins: the head of a table and the line in front of a list, which its rows and items are read with."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from retrivex.text.sentences import sentence_ranges

MAX_LEAD = 400
"""Characters; a longer line in front of a list is not repeated, nor is wider white space before a passage skipped."""

_MARKER = r"(?:[-*+•]|\d{1,3}[.)])[ \t]"
_DELIMITER = re.compile(r"[ \t]*\|(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*(?:\n|\Z)")
_ROWS = re.compile(r"(?:[ \t]*\|[^\n]*(?:\n|\Z))+")
_COLON = re.compile(r"[:：](?:\*\*)?\n")
_LIST = re.compile(rf"(?:[ \t]*\n)?(?=[ \t]*{_MARKER})")
_ITEM = rf"[ \t]*{_MARKER}[^\n]*(?:\n|\Z)"
_WRAPPED = rf"(?![ \t]*{_MARKER})(?![ \t]*(?:#|\||```|~~~))[ \t]*\S[^\n]*(?:\n|\Z)"
_ITEMS = re.compile(rf"(?:{_ITEM}(?:{_WRAPPED})*(?:[ \t]*\n(?=[ \t]+\S|{_MARKER}))?)+")
_MARK = re.compile(r"[^\S\n]*(\||```|~~~)?")
_BEGINS = re.compile(rf"[ \t]*(?:\||{_MARKER})")


_LONGEST_MARKER = 5  # characters: of "100. "


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
    # looked for by single letters first, in a tenth of the time of strings: most texts have none of them
    if "\n" not in text:
        return []
    tables = _tables(text) if "|" in text and "|\n" in text else ()
    colons = (":" in text and ":\n" in text) or "：\n" in text or ("*" in text and "**\n" in text)
    lists = _lists(text) if colons else ()
    return sorted([*tables, *lists], key=lambda lead: lead.start) if tables or lists else []


def _lists(text: str) -> Iterator[Lead]:
    end = 0
    for colon in _COLON.finditer(text):
        behind = _LIST.match(text, colon.end())
        if behind is None:
            continue
        # a list that begins in another one ends where that one ends
        if behind.end() >= end:
            items = _ITEMS.match(text, behind.end())
            end = items.end() if items else 0
        if behind.end() < end:
            yield Lead(behind.end(), end)


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
                at = rows.end() - 1  # among its rows no table begins
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
    begins = at + len(ahead := text[at : at + MAX_LEAD]) - len(ahead.lstrip())
    nearby = max(0, begins - MAX_LEAD)
    line = max(nearby, text.rfind("\n", nearby, begins) + 1)
    if text[line:begins].strip() or not _BEGINS.match(text, line, begins + _LONGEST_MARKER):
        return None
    known = leads_of(text) if leads is None else leads
    number = bisect_right(known, line, key=lambda lead: lead.start) - 1
    if number < 0 or line >= known[number].end:
        return None
    lead = known[number]
    return _line_before(text, lead.start) if lead.head is None else text[lead.head : lead.start]


def may_have_lead(text: str, at: int) -> bool:
    """Whether a passage at a place may begin with a row or an item; quickly."""
    return text[at : at + 1] in "|-*+•0123456789 \t\r\n"


class Prefixes:
    """What the passages of one text are shown behind; what is found in the text is kept.

    Parameters
    ----------
    text : any text
    leads : of the text, where they are known
    """

    def __init__(self, text: str, leads: Sequence[Lead] | None = None) -> None:
        self.text = text
        self._leads = leads
        self._read: dict[tuple[int, str], tuple[int, int | None]] = {}

    def at(self, chunk: int, at: int, prefix: str | None) -> str | None:
        """Return what is shown in front of a passage: what its chunk brings, or what stands before it in the text.

        Parameters
        ----------
        chunk, at : where its chunk begins, and where it begins itself
        prefix : of its chunk; the head of a table and the mark of a fence hold up to the end of the table or fence
        """
        if prefix and self._holds(chunk, at, prefix.strip()[:3]):
            return prefix
        if not may_have_lead(self.text, at):
            return None
        if self._leads is None:
            self._leads = leads_of(self.text)
        return lead_at(self.text, at, self._leads)

    def _holds(self, chunk: int, at: int, mark: str) -> bool:
        """Whether the table or fence that a chunk begins in, given by its mark, reaches to a place in it."""
        if mark not in ("```", "~~~") and not mark.startswith("|"):
            return True
        # each line that begins before `read` is known; the first that is not of the table or fence begins at `over`
        read, over = self._read.get((chunk, mark), (chunk, None))
        while read < at and over is None:
            line = chunk if read == chunk else self.text.find("\n", read - 1, at - 1) + 1
            if line < read:
                read = at
            else:
                read, over = line + 1, line if self._is_over(line, mark) else None
        self._read[chunk, mark] = read, over
        return over is None or at <= over

    def _is_over(self, line: int, mark: str) -> bool:
        found = _MARK.match(self.text, line)
        begins = found[1] if found else None
        return begins != "|" if mark.startswith("|") else begins == mark


def _line_before(text: str, end: int) -> str | None:
    """Return the sentence that ends at a place with a colon, as a line; None where it is too long to be repeated."""
    paragraph = text[max(0, end - 2 * MAX_LEAD) : end].rstrip().rsplit("\n\n", 1)[-1]
    start, stop = sentence_ranges(paragraph)[-1]
    lead = paragraph[start:stop]
    block = max((lead.rfind(mark) for mark in ("\n#", "\n|", "\n- ", "\n* ")), default=-1)
    lead = lead[block + 1 :]
    return f"{lead}\n" if len(lead) <= MAX_LEAD else None
