"""Takes running heads, feet and page numbers out of pages, and joins what goes on overleaf."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

PAGE_SEPARATOR = "\n\n"
"""Stands between the texts of two pages; it belongs to the page before it."""

OVERLEAF = "\n"
"""Stands in its place where a sentence goes on overleaf."""

DEPTH = 3
"""Lines at the top and at the foot of a page that may be running ones."""

MIN_PAGES = 3
"""Pages on which a line must stand to be a running one; in a document of two pages, both."""

_NUMBER = re.compile(r"\d{1,9}")
_ROMAN = re.compile(r"((?:[-–—|(\[] ?)?(?:(?:page|seite|p[aá]gina) )?)[ivxlcdm]{1,7}((?: ?[-–—|)\]])?)")  # of a page
_SENTENCE_END = re.compile(r"[.!?:;…。！？｡][\"'”’»)\]）】」』》]*$")
_GOES_ON = re.compile(r"[a-zß-öø-ÿ\d(,;–—]")
_FULL_LINE = 0.75  # share of the page's longest line from which on a line was broken by the margin


@dataclass(frozen=True, slots=True)
class Pages:
    """Pages without their running lines.

    Parameters
    ----------
    texts : of each page, empty for one without text
    removed : the running lines that were left out, of all pages
    """

    texts: tuple[str, ...]
    removed: tuple[str, ...] = ()


def remove_running_lines(pages: Sequence[str]) -> Pages:
    """Return the pages without the lines that stand at the same edge of several of them, numbers aside.

    The lines at each edge are compared without their numbers; a number must be the same on all pages, or go up with
    them as page numbers do. Where nothing else is on any page, all of it stays.

    Examples
    --------
    >>> pages = [f"ACME Corp\\nPart {word}.\\nPage {n} of 3" for n, word in enumerate(("one", "two", "three"), 1)]
    >>> remove_running_lines(pages).texts
    ('Part one.', 'Part two.', 'Part three.')
    """
    lines = [[line for line in page.splitlines() if line.strip()] for page in pages]
    needed = min(MIN_PAGES, max(2, sum(map(bool, lines))))
    tops = _repeated((line[:DEPTH] for line in lines), needed)
    feet = _repeated((line[: -DEPTH - 1 : -1] for line in lines), needed)
    edges = []
    for rows in lines:
        first = len(list(takewhile(lambda row: _key(row) in tops, rows[:DEPTH])))
        last = len(list(takewhile(lambda row: _key(row) in feet, rows[first:][: -DEPTH - 1 : -1])))
        edges.append((first, last))
    texts, removed = [], []
    for page, rows, (first, last) in zip(pages, lines, edges, strict=True):
        removed += [*rows[:first], *rows[len(rows) - last :]]
        texts.append(_without_lines(page, first, last))
    return Pages(tuple(texts), tuple(removed)) if any(texts) else Pages(tuple(pages))


def join_pages(pages: Sequence[str]) -> tuple[str, tuple[int, ...]]:
    """Return the text of all pages, and where each begins; one without text begins where the next one does.

    Examples
    --------
    >>> join_pages(["The rate is", "4.2 percent.", "", "Fees are none."])
    ('The rate is\\n4.2 percent.\\n\\nFees are none.', (0, 12, 26, 26))
    """
    starts, pieces, length = [], [], 0
    following: list[str] = [""] * len(pages)
    for number in range(len(pages) - 2, -1, -1):
        following[number] = pages[number + 1] or following[number + 1]
    for page, after in zip(pages, following, strict=True):
        starts.append(length)
        separator = (OVERLEAF if _goes_on(page, after) else PAGE_SEPARATOR) if page and after else ""
        pieces.append(page + separator)
        length += len(pieces[-1])
    return "".join(pieces), tuple(starts)


def _key(line: str) -> str:
    words = " ".join(line.split()).casefold()
    return f"{found[1]}#{found[2]}" if (found := _ROMAN.fullmatch(words)) else _NUMBER.sub("#", words)


def _repeated(edges: Iterable[Sequence[str]], needed: int) -> set[str]:
    """Return the keys of lines that stand at one edge of at least `needed` pages, with numbers as a page has them."""
    found: defaultdict[str, list[tuple[int, list[int]]]] = defaultdict(list)
    for page, edge in enumerate(edges):
        for key, line in {_key(line): line for line in edge}.items():
            found[key].append((page, [int(number) for number in _NUMBER.findall(line)]))
    return {key for key, places in found.items() if len(places) >= needed and _is_numbered_by_page(places)}


def _is_numbered_by_page(places: Sequence[tuple[int, list[int]]]) -> bool:
    """Whether each number stays, or goes up as the pages do; counting may begin anew in between."""
    if len({len(numbers) for _, numbers in places}) > 1:  # Roman numbers and others
        return True
    pages = [page for page, _ in places]
    return all(
        len(set(column)) == 1 or 2 * sum(_steps(pages, column)) >= len(pages) - 1
        for column in zip(*(numbers for _, numbers in places), strict=True)
    )


def _steps(pages: Sequence[int], numbers: Sequence[int]) -> Iterator[bool]:
    for (page, number), (next_page, next_number) in pairwise(zip(pages, numbers, strict=True)):
        yield next_number - number == next_page - page


def _without_lines(page: str, first: int, last: int) -> str:
    """Return a page without so many of its lines that are not blank, from the top and from the foot."""
    lines = page.split("\n")
    places = [number for number, line in enumerate(lines) if line.strip()]
    if first + last >= len(places):
        return ""
    return "\n".join(lines[places[first] : places[len(places) - last - 1] + 1]).strip()


def _goes_on(page: str, after: str) -> bool:
    """Whether the last sentence of a page goes on on the next one."""
    lines = page.splitlines()
    if _SENTENCE_END.search(lines[-1]):
        return False
    is_full = len(lines) > 1 and len(lines[-1]) >= _FULL_LINE * max(map(len, lines))
    return is_full or _GOES_ON.match(after) is not None
