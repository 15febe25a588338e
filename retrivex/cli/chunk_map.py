"""The chunk map: each touched document as a row of cells, one cell per chunk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from rich.columns import Columns
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from retrivex.cli.terminal import one_line
from retrivex.composition.composition import Composition
from retrivex.composition.trace import ChunkNote
from retrivex.expansion.guards import stop_letter

MAX_ROWS = 6
"""Rows of cells a document gets; what has no room is counted."""

_INDENT = "  "


class CellStyle(NamedTuple):
    """The glyph and colour of one kind of cell.

    Parameters
    ----------
    glyph : fills a shown cell, stands in the middle of any other
    style : colour, in addition to the glyph
    word : for the legend
    """

    glyph: str
    style: str
    word: str


_CELL_STYLES = {
    ("seed", "selected"): CellStyle("█", "bold green", "hit, shown"),
    ("neighbour", "selected"): CellStyle("▒", "cyan", "neighbour, shown"),
    ("link", "selected"): CellStyle("▞", "magenta", "linked, shown"),
    ("seed", "dropped"): CellStyle("○", "bold yellow", "hit, left out"),
    ("neighbour", "dropped"): CellStyle("·", "bright_black", "neighbour, left out"),
    ("link", "dropped"): CellStyle("◌", "bright_black", "linked, left out"),
}
_REFUSED = "red"

Row: TypeAlias = Sequence[ChunkNote | None]
"""Chunks side by side; None stands for those that were not touched."""


@dataclass(frozen=True, slots=True)
class ChunkMap:
    """The touched chunks of one document, drawn to the width of the terminal.

    Parameters
    ----------
    doc_id : the document
    caption : what is shown of it, `shown: chunks 2-5 (12 in all)`
    notes : touched chunks, ascending
    labels : citation numbers of the passages that begin at a chunk, `1` or `1,3`, by its number
    """

    doc_id: str
    caption: str
    notes: tuple[ChunkNote, ...]
    labels: Mapping[int, str] = field(default_factory=dict)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the title, and for each row of cells citation numbers, cells and chunk numbers."""
        title = Text.assemble((one_line(self.doc_id), "bold"), "  ", (self.caption, "dim"), overflow="fold")
        title.rstrip()
        yield title
        width = max(3, *(len(str(note.chunk_id)) + 1 for note in self.notes[-1:]), 0)
        per_row = max(1, (options.max_width - len(_INDENT)) // width)
        rows = _rows(self.notes, per_row)
        if len(rows) > MAX_ROWS:
            rows = _rows([note for note in self.notes if note.outcome == "selected"], per_row)[:MAX_ROWS]
        for row in rows:
            yield from self._draw(row, width)
        left_out = len(self.notes) - sum(note is not None for row in rows for note in row)
        if left_out:
            yield Text(f"{_INDENT}and {left_out:,} more chunks", style="dim")

    def _draw(self, row: Row, width: int) -> Iterator[Text]:
        places = [
            (at, self.labels[note.chunk_id]) for at, note in enumerate(row) if note and note.chunk_id in self.labels
        ]
        above = ""
        for at, label in places:  # a long one may reach over the cells behind it
            above = f"{above} ".ljust(at * width) if len(above) > at * width else above.ljust(at * width)
            above += f"[{label}]"
        if above:
            yield _line(Text(above, style="bold"))
        yield _line(Text.assemble(*(_cell(note, width) for note in row)))
        numbers = "".join(("" if note is None else str(note.chunk_id)).center(width) for note in row)
        yield _line(Text(numbers, style="dim"))


def chunk_maps(composition: Composition) -> list[ChunkMap]:
    """Return one map per touched document: those with a shown chunk first, then by their best hit."""
    by_document: dict[str, list[ChunkNote]] = {}
    for note in composition.trace.notes:
        by_document.setdefault(note.doc_id, []).append(note)
    labels: dict[str, dict[int, str]] = {}
    for number, span in enumerate(composition.spans, start=1):
        known = labels.setdefault(span.doc_id, {})
        first = span.chunk_ids[0]
        known[first] = f"{known[first]},{number}" if first in known else str(number)
    captions = {coverage.doc_id: f"shown: {coverage}" for coverage in composition.coverage}
    ranks = {doc_id: rank for rank, doc_id in enumerate(captions)}

    def rank(doc_id: str) -> tuple[float, float, str]:
        best = max((note.relevance or 0.0 for note in by_document[doc_id]), default=0.0)
        return ranks.get(doc_id, len(ranks)), -best, doc_id

    return [
        ChunkMap(
            doc_id,
            captions.get(doc_id, "nothing shown"),
            tuple(sorted(by_document[doc_id], key=lambda note: note.chunk_id)),
            labels.get(doc_id, {}),
        )
        for doc_id in sorted(by_document, key=rank)
    ]


def legend(maps: Sequence[ChunkMap]) -> Columns:
    """Return what the glyphs that occur in `maps` mean."""
    notes = [note for one in maps for note in one.notes]
    kinds = {(note.role, note.outcome) for note in notes}
    reasons = {note.reason for note in notes if note.outcome == "refused"}
    entries = [
        Text.assemble((style.glyph, style.style), f" {style.word}")
        for kind, style in _CELL_STYLES.items()
        if kind in kinds
    ]
    stops = [
        Text.assemble((stop_letter(reason), _REFUSED), f" stopped by {reason}")
        for reason in sorted(filter(None, reasons))
    ]
    return Columns([*entries, *stops], padding=(0, 3))


def _rows(notes: Sequence[ChunkNote], per_row: int) -> list[Row]:
    """Break chunks into rows, with a None where their numbers jump."""
    cells: list[ChunkNote | None] = []
    following = 0
    for note in notes:
        cells += [note] if note.chunk_id == following else [None, note]
        following = note.chunk_id + 1
    return [cells[start : start + per_row] for start in range(0, len(cells), per_row)]


def _cell(note: ChunkNote | None, width: int) -> Text:
    if note is None:
        return Text("⋯".center(width), style="dim")
    if note.outcome == "refused":
        return Text(stop_letter(note.reason).center(width), style=_REFUSED)
    style = _CELL_STYLES[note.role, note.outcome]
    shown = style.glyph * width if note.outcome == "selected" else style.glyph.center(width)
    return Text(shown, style=style.style)


def _line(text: Text) -> Text:
    """Return a line of the picture, which is cut where the terminal is narrower than a cell."""
    line = Text.assemble(_INDENT, text, no_wrap=True, overflow="crop")
    line.rstrip()
    return line
