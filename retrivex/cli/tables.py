"""Tables as wide as the screen at most, in which no word and no figure is cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.table import Column, Table
from rich.text import Text

from retrivex.cli.terminal import console

_GAPS = (2, 1)  # blanks between two columns, the first that leaves room enough


def print_table(table: Table, *, keys: int = 1) -> None:
    """Print a table to standard output; one too wide for the screen is continued below with its first columns.

    Columns that may wrap do so between words, the others only in their titles.

    Parameters
    ----------
    table : its header and cells are texts
    keys : columns at the left that say what a line is about
    """
    screen = console()
    for number, part in enumerate(_parts(table, screen.width, keys)):
        if number:
            screen.print()
        screen.print(part)


def _parts(table: Table, width: int, keys: int) -> Iterator[Table]:
    """Yield the table, or tables of the first columns with as many of the rest as have room, at least one."""
    first, rest = table.columns[:keys], table.columns[keys:]
    while rest:
        number = next((n for n in range(len(rest), 1, -1) if _has_room([*first, *rest[:n]], width)), 1)
        yield _drawn(table, [*first, *rest[:number]], width)
        rest = rest[number:]
    if len(first) == len(table.columns):
        yield _drawn(table, first, width)


def _has_room(columns: Sequence[Column], width: int) -> bool:
    return sum(map(_least, columns)) + _GAPS[-1] * (len(columns) - 1) <= width


def _drawn(table: Table, columns: Sequence[Column], width: int) -> Table:
    """Return some columns of a table as one of their own, with the widths that they have room for."""
    widths = [max(map(cell_len, _texts(column))) for column in columns]
    between = len(columns) - 1
    gap = next((gap for gap in _GAPS if sum(widths) + gap * between <= width), _GAPS[-1])
    least = [min(_least(column), width) for column in columns]
    while sum(widths) + gap * between > width and any(map(int.__gt__, widths, least)):
        widest = max(range(len(widths)), key=lambda at: (widths[at] > least[at], widths[at]))
        widths[widest] -= 1
    made = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style=table.header_style)
    for column, room in zip(columns, widths, strict=True):
        made.add_column(column.header, justify=column.justify, style=column.style, width=room, overflow="fold")
    for cells in zip(*(column.cells for column in columns), strict=True):
        made.add_row(*cells)
    return made


def _texts(column: Column) -> list[str]:
    return [str(column.header), *(cell.plain if isinstance(cell, Text) else str(cell) for cell in column.cells)]


def _least(column: Column) -> int:
    """Return the width below which a word of a column, or a cell that may not wrap, would be cut."""
    title, *cells = _texts(column)
    pieces = cells if column.no_wrap else [word for cell in cells for word in cell.split()]
    return max(map(cell_len, [*title.split(), *pieces]), default=0)
