"""The chunk map: each touched document as a row of cells, one cell per chunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from retrivex.cli.terminal import one_line
from retrivex.composition.composition import Composition
from retrivex.composition.trace import ChunkNote
from retrivex.expansion.guards import STOP_LETTERS

MAX_ROWS = 6
"""Rows of cells a document gets; what has no room is counted."""

_INDENT = 2


@dataclass(frozen=True, slots=True)
class CellStyle:
    """The glyph and colour of one kind of cell.

    Parameters
    ----------
    glyph : fills a shown cell, stands in the middle of any other
    plain : the same where only ASCII can be shown
    style : colour, in addition to the glyph
    word : for the legend
    """

    glyph: str
    plain: str
    style: str
    word: str


_CELL_STYLES = {
    ("seed", "selected"): CellStyle("█", "#", "bold green", "hit, shown"),
    ("neighbour", "selected"): CellStyle("▒", "=", "cyan", "neighbour, shown"),
    ("link", "selected"): CellStyle("▞", "+", "magenta", "linked, shown"),
    ("seed", "dropped"): CellStyle("○", "o", "bold yellow", "hit, left out"),
    ("neighbour", "dropped"): CellStyle("·", ".", "bright_black", "neighbour, left out"),
    ("link", "dropped"): CellStyle("◌", ":", "bright_black", "linked, left out"),
}
_REFUSED = "red"


@dataclass(frozen=True, slots=True)
class Cell:
    """One chunk of the map.

    Parameters
    ----------
    chunk_id : its number
    role, outcome : see `ChunkNote`
    reason : the guard, where it was refused
    label : citation numbers of the spans that begin here, `1` or `1,3`
    """

    chunk_id: int
    role: str
    outcome: str
    reason: str | None = None
    label: str = ""

    @property
    def shown(self) -> bool:
        """Whether its text, or a part of it, is in the context."""
        return self.outcome == "selected"


Row: TypeAlias = list[Cell | None]
"""Cells side by side; None stands for chunks that were not touched."""


@dataclass(frozen=True, slots=True)
class ChunkMap:
    """The touched chunks of one document, drawn to the width of the terminal.

    Parameters
    ----------
    doc_id : the document
    caption : what is shown of it, `shown: chunks 2-5 (12 in all)`
    cells : touched chunks, ascending
    """

    doc_id: str
    caption: str
    cells: tuple[Cell, ...]

    @property
    def shown(self) -> bool:
        """Whether anything of the document is in the context."""
        return any(cell.shown for cell in self.cells)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the title, and for each row of cells citation numbers, cells and chunk numbers."""
        yield self._title()
        cell_width = max(3, len(str(self.cells[-1].chunk_id)) + 1) if self.cells else 3
        per_row = max(1, (options.max_width - _INDENT) // cell_width)
        rows, left_out = _fit(self.cells, per_row)
        for row in rows:
            yield from _draw(row, cell_width, ascii_only=options.ascii_only)
        if left_out:
            yield Text(f"{' ' * _INDENT}and {left_out:,} more chunks", style="dim")

    def _title(self) -> Text:
        title = Text.assemble((one_line(self.doc_id), "bold"), "  ", (self.caption, "dim"), overflow="fold")
        title.rstrip()
        return title


def chunk_maps(composition: Composition) -> list[ChunkMap]:
    """Return one map per touched document: those with a shown chunk first, then by their best hit."""
    by_document: dict[str, list[ChunkNote]] = {}
    for note in composition.trace.notes:
        by_document.setdefault(note.doc_id, []).append(note)
    labels = _labels(composition)
    captions = {coverage.doc_id: f"shown: {coverage}" for coverage in composition.coverage}
    ranks = {doc_id: rank for rank, doc_id in enumerate(captions)}

    def rank(doc_id: str) -> tuple[float, float, str]:
        best = max((note.relevance or 0.0 for note in by_document[doc_id]), default=0.0)
        return ranks.get(doc_id, len(ranks)), -best, doc_id

    return [
        ChunkMap(
            doc_id,
            captions.get(doc_id, "nothing shown"),
            tuple(
                Cell(note.chunk_id, note.role, note.outcome, note.reason, labels.get((doc_id, note.chunk_id), ""))
                for note in sorted(by_document[doc_id], key=lambda note: note.chunk_id)
            ),
        )
        for doc_id in sorted(by_document, key=rank)
    ]


def legend(maps: Sequence[ChunkMap], width: int, *, ascii_only: bool) -> list[Text]:
    """Return what the glyphs that occur in `maps` mean, in lines of at most `width` columns where they fit."""
    cells = [cell for one in maps for cell in one.cells]
    kinds = {(cell.role, cell.outcome) for cell in cells}
    reasons = {cell.reason for cell in cells if cell.outcome == "refused"}
    entries = [
        Text.assemble((style.plain if ascii_only else style.glyph, style.style), f" {style.word}")
        for kind, style in _CELL_STYLES.items()
        if kind in kinds
    ]
    entries += [
        Text.assemble((letter, _REFUSED), f" stopped by {reason}")
        for reason, letter in STOP_LETTERS.items()
        if reason in reasons
    ]
    lines: list[Text] = []
    for entry in entries:
        if lines and len(lines[-1]) + 3 + len(entry) <= width:
            lines[-1] = Text.assemble(lines[-1], "   ", entry)
        else:
            lines.append(entry)
    return lines


def _labels(composition: Composition) -> dict[tuple[str, int], str]:
    made: dict[tuple[str, int], str] = {}
    for number, span in enumerate(composition.spans, start=1):
        key = (span.doc_id, span.chunk_ids[0])
        made[key] = f"{made[key]},{number}" if key in made else str(number)
    return made


def _rows(cells: Sequence[Cell], per_row: int) -> list[Row]:
    """Break cells into rows, with a None where chunk numbers jump."""
    rows: list[Row] = [[]] if cells else []
    before: int | None = None
    for cell in cells:
        jump = cell.chunk_id != 0 if before is None else cell.chunk_id != before + 1
        before = cell.chunk_id
        if jump and per_row > 1:
            # a jump at the end of a row is drawn with what follows it
            if len(rows[-1]) + 2 > per_row:
                rows.append([])
            rows[-1].append(None)
        if len(rows[-1]) >= per_row:
            rows.append([])
        rows[-1].append(cell)
    return rows


def _fit(cells: Sequence[Cell], per_row: int) -> tuple[list[Row], int]:
    """Return at most `MAX_ROWS` rows and the number of cells left out, the least telling first."""
    rows = _rows(cells, per_row)
    kept = list(cells)
    for dispensable in (("neighbour", "link", "beyond"), ("seed",)):
        if len(rows) <= MAX_ROWS:
            break
        kept = [cell for cell in kept if cell.shown or cell.role not in dispensable]
        rows = _rows(kept, per_row)
    rows = rows[:MAX_ROWS]
    return rows, len(cells) - sum(cell is not None for row in rows for cell in row)


def _draw(row: Row, width: int, *, ascii_only: bool) -> Iterator[Text]:
    if any(cell is not None and cell.label for cell in row):
        yield _labels_line(row, width)
    line = Text(" " * _INDENT)
    for cell in row:
        line.append_text(_cell(cell, width, ascii_only=ascii_only))
    line.rstrip()
    yield _no_wrap(line)
    numbers = "".join(("" if cell is None else str(cell.chunk_id)).center(width) for cell in row)
    yield _no_wrap(Text(" " * _INDENT + numbers.rstrip(), style="dim"))


def _labels_line(row: Row, width: int) -> Text:
    """Write `[1]` above the first chunk of span 1; a long one may reach over the cells behind it."""
    text = ""
    for place, cell in enumerate(row):
        if cell is not None and cell.label:
            start = _INDENT + place * width
            text = text.ljust(start) if len(text) <= start else text + " "
            text += f"[{cell.label}]"
    return _no_wrap(Text(text, style="bold"))


def _cell(cell: Cell | None, width: int, *, ascii_only: bool) -> Text:
    if cell is None:
        return Text(("..." if ascii_only else "⋯").center(width)[:width], style="dim")
    if cell.outcome == "refused":
        letter = STOP_LETTERS.get(cell.reason or "", "x")
        return Text(letter.center(width), style=_REFUSED)
    style = _CELL_STYLES[cell.role, cell.outcome]
    glyph = style.plain if ascii_only else style.glyph
    return Text(glyph * width if cell.shown else glyph.center(width), style=style.style)


def _no_wrap(text: Text) -> Text:
    text.no_wrap = True
    text.overflow = "crop"
    assert cell_len(text.plain) == len(text.plain)  # every glyph of the picture is one column wide
    return text
