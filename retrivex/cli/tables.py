"""Tables of the command line, in which no word and no figure is cut."""

from __future__ import annotations

from rich.measure import Measurement
from rich.table import Table

from retrivex.cli.terminal import console

_WIDEST = 10_000


def print_table(table: Table) -> None:
    """Print a table to standard output: as wide as the screen, or wider where its words need it."""
    table.box = None
    table.pad_edge = False
    screen = console()
    least = Measurement.get(screen, screen.options.update(max_width=_WIDEST), table).minimum
    screen.width = max(screen.width, least)
    screen.print(table)
