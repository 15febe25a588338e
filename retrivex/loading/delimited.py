"""Reads CSV and TSV files as one table of Markdown."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable
from io import StringIO
from itertools import islice

from retrivex.errors import LoadError
from retrivex.loading.limits import Allowance
from retrivex.loading.markdown import make_loaded
from retrivex.loading.report import Loaded
from retrivex.loading.tables import Cell, pipe_table
from retrivex.loading.text import decode, load_text, require_text

DELIMITERS = ",;\t|"
"""What may part the cells of a row; where several would do, the first."""

_PROBED_ROWS = 50
_PROBED_CHARACTERS = 64 * 1024
_MIN_REGULAR = 0.5  # share of the rows with as many cells as most of them have, below which it is no table
_NAMED_DELIMITER = re.compile(r'"?sep=(.)"?\r?\n')  # as Excel writes it
_NUMBER = re.compile(r"[^\w]*\d[\d\W]*")
_YEAR = re.compile(r"[12]\d{3}")


def load_delimited(raw: bytes, doc_id: str, source: str | None = None) -> Loaded:
    r"""Read a CSV or TSV file as a table; offsets count in that Markdown.

    Line breaks within a cell become spaces. The first row is the head, unless it holds numbers as a row of values does:
    then the head is blank, with a note. Lines with one cell only before the head become a paragraph. A file without a
    second column is read as plain text.

    Raises
    ------
    LoadError
        If it is empty, not text, or its rows would make a far longer text of it.

    Examples
    --------
    >>> print(load_delimited(b'sku;name\n7;"Pump,\nlarge"\n', "parts.csv").document.text)
    | sku | name |
    | --- | --- |
    | 7 | Pump, large |
    <BLANKLINE>
    """
    decoded = decode(raw)
    text = require_text(decoded.text)
    named = _NAMED_DELIMITER.match(text)
    delimiter = named[1] if named else _find_delimiter(text)
    if delimiter is None:
        return load_text(raw, doc_id, source)
    rows, notes = _read_rows(text[named.end() :] if named else text, delimiter)
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
    above = []
    while len(rows) > 1 and width > 1 and sum(map(bool, rows[0])) == 1:
        above.append(" ".join(filter(None, rows.pop(0))))
    if not rows:
        raise LoadError("it is empty: there is no text to index")
    has_head = not any(_is_value(cell) for cell in rows[0])
    if not has_head:
        notes.append("its first row holds numbers: its columns have no names")
    cells = [[Cell(cell) for cell in row] for row in rows]
    if not has_head:
        cells[0][0] = Cell(rows[0][0], header=True)
    table = pipe_table(cells, Allowance(len(raw)))
    markdown = "\n\n".join(filter(None, ("\n".join(above), table))) + "\n"
    return make_loaded(doc_id, markdown, source, decoded=decoded, notes=notes)


def _read_rows(text: str, delimiter: str) -> tuple[list[list[str]], list[str]]:
    """Return the rows that hold anything, and notes."""
    try:
        return _parse(csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)), []
    except csv.Error:
        pass  # a quote that is not closed would swallow the rows behind it
    try:
        rows = _parse(csv.reader(StringIO(text, newline=""), delimiter=delimiter, quoting=csv.QUOTE_NONE))
    except csv.Error as error:
        raise LoadError(f"its rows cannot be read ({error}); save it anew, or as plain text") from error
    return rows, ["a quotation mark in it is not closed: all of them were read as text"]


def _parse(reader: Iterable[list[str]]) -> list[list[str]]:
    return [cells for row in reader if any(cells := [" ".join(cell.split()) for cell in row])]


def _find_delimiter(text: str) -> str | None:
    """Return what parts the cells most regularly; None where nothing does."""
    best, delimiter = (_MIN_REGULAR, 1), None
    for candidate in DELIMITERS:
        reader = csv.reader(StringIO(text[:_PROBED_CHARACTERS], newline=""), delimiter=candidate)
        try:
            widths = Counter(len(row) for row in islice(reader, _PROBED_ROWS) if row)
        except csv.Error:
            continue
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]))
        found = (count / widths.total(), width)
        if width > 1 and found > best:
            best, delimiter = found, candidate
    return delimiter


def _is_value(cell: str) -> bool:
    """Whether it is a number or date, and no year: those are names of columns, too."""
    return _NUMBER.fullmatch(cell) is not None and _YEAR.fullmatch(cell) is None
