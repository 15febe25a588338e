"""Writes rows of cells, spans included, as tables of GitHub-flavoured Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from retrivex.loading.limits import Allowance

_MAX_SPAN = 100  # a cell that claims to span a million columns or rows must not make a million of them
_BARS = 3  # characters beside each cell


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table on a page.

    Parameters
    ----------
    text : one line
    header : whether it heads a row or a column
    in_head : whether its row stands in the table's head
    columns, rows : how many it spans
    """

    text: str
    header: bool = False
    in_head: bool = False
    columns: int = 1
    rows: int = 1


def pipe_table(rows: Sequence[Sequence[Cell]], allowance: Allowance) -> str:
    r"""Write rows as a pipe table; empty where all cells are.

    The first row is the header, unless it is a row with its own heading in front (a table of names and values):
    then the header is left blank. A cell over several rows is repeated in each, so that every row reads alone; a
    cell over several columns stands in the first.

    Raises
    ------
    LoadError
        If it has more characters than the file is allowed; it is not written then.

    Examples
    --------
    >>> print(pipe_table([[Cell("bee", True), Cell("sleeps", True)], [Cell("honey"), Cell("5|8 h")]], Allowance(99)))
    | bee | sleeps |
    | --- | --- |
    | honey | 5\|8 h |
    """
    rows = [row for row in rows if row]
    grid = _grid(rows, allowance)
    width = max(map(len, grid), default=0)
    allowance.take(sum(width - len(row) for row in grid) * _BARS)
    if not any(text for row in grid for text in row):
        return ""
    padded = [row + [""] * (width - len(row)) for row in grid]
    if not _is_header(rows[0]):
        padded.insert(0, [""] * width)
    padded.insert(1, ["---"] * width)
    return "\n".join("| " + " | ".join(row) + " |" for row in padded)


def _is_header(row: Sequence[Cell]) -> bool:
    return any(cell.in_head for cell in row) or all(cell.header for cell in row) or not row[0].header


def _grid(rows: Sequence[Sequence[Cell]], allowance: Allowance) -> list[list[str]]:
    grid: list[list[str]] = []
    reaching: dict[int, tuple[str, int]] = {}  # column -> text of a cell from above, rows it still covers
    for row in rows:
        line: list[str] = []
        for cell in row:
            _fill(line, reaching)
            text = cell.text.replace("|", "\\|")
            for column in range(max(1, min(cell.columns, _MAX_SPAN))):
                shown = text if column == 0 else ""
                if cell.rows > 1:
                    reaching[len(line)] = (shown, min(cell.rows, _MAX_SPAN) - 1)
                line.append(shown)
        _fill(line, reaching)
        allowance.take(sum(len(text) + _BARS for text in line))
        grid.append(line)
    return grid


def _fill(line: list[str], reaching: dict[int, tuple[str, int]]) -> None:
    """Put in the cells from above that come next, and count them down."""
    while len(line) in reaching:
        column = len(line)
        text, left = reaching.pop(column)
        if left > 1:
            reaching[column] = (text, left - 1)
        line.append(text)
