"""Reads the rows of an Excel sheet as the sheet shows them; needs the `office` extra."""

from __future__ import annotations

import datetime as dt
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from retrivex.errors import install_hint
from retrivex.loading.limits import Allowance
from retrivex.loading.tables import Cell

try:
    from openpyxl.cell.read_only import ReadOnlyCell
    from openpyxl.worksheet._reader import WorkSheetParser
except ImportError as error:
    raise ImportError(f"reading Excel files needs openpyxl: {install_hint('office')}") from error

MAX_ROWS = 1_048_576
"""Rows of a sheet that Excel knows; a file may number them up to any number."""

_EXACT = 1e15  # larger numbers are shown with an exponent
_BESIDE = 3  # characters of a table beside each cell
_PART = re.compile(
    r'"(?P<quoted>[^"]*)"|\[\$(?P<money>[^\]-]*)[^\]]*\]|\[[^\]]*\]|\\(?P<escaped>.)|[_*].'
    r"|(?P<digits>[#0?,]*[#0?](?:\.[#0?]*)?,*)|(?P<plain>[-+$€£¥%() ])|(?P<other>.)"
)


def read_rows(sheet: Any, allowance: Allowance, left_out: Counter[str]) -> list[list[Cell]]:
    """Return the cells of a read-only sheet without the rows and columns that are hidden or hold nothing.

    Numbers and dates are written by their formats, dates as in ISO 8601. A merged cell holds for each row it covers,
    and stands in its first column. What is hidden or struck out is counted in `left_out`.

    Parameters
    ----------
    sheet : of a workbook that openpyxl opened with `read_only=True`
    allowance : of the sheet
    left_out : counts by kind, which are added to

    Raises
    ------
    LoadError
        If the cells have more characters than the file is allowed.
    """
    # the parser below openpyxl's rows: those do not say what is hidden or merged, unless the whole sheet is in memory
    book = sheet.parent
    rows: dict[int, dict[int, str]] = {}
    hidden_rows: set[int] = set()
    with sheet._get_source() as source:
        parser = WorkSheetParser(
            source,
            sheet._shared_strings,
            data_only=True,
            epoch=book.epoch,
            date_formats=book._date_formats,
            timedelta_formats=book._timedelta_formats,
        )
        formats = _Formats(sheet)
        for number, cells in parser.parse():
            texts = {cell["column"]: text for cell in cells if (text := formats.show(cell, left_out))}
            if not texts or number > MAX_ROWS:
                continue
            allowance.take(sum(map(len, texts.values())))
            rows[number] = texts
            if _is_hidden(parser.row_dimensions.pop(str(number), {})):
                hidden_rows.add(number)
    hidden = [
        range(int(columns["min"]), int(columns["max"]) + 1)
        for columns in parser.column_dimensions.values()
        if _is_hidden(columns)
    ]
    hidden_columns = {column for texts in rows.values() for column in texts if _in_any(column, hidden)}
    for merged in parser.merged_cells.mergeCell if parser.merged_cells is not None else ():
        _fill(rows, merged, hidden, allowance)
    left_out.update({"hidden row": len(hidden_rows), "hidden column": len(hidden_columns)})
    shown = [texts for number, texts in sorted(rows.items()) if number not in hidden_rows]
    columns = sorted({column for texts in shown for column in texts} - hidden_columns)
    allowance.take(len(shown) * len(columns))  # a cell for each is made before the table counts them
    cells_of = ([Cell(texts.get(column, "")) for column in columns] for texts in shown)
    return [cells for cells in cells_of if any(cell.text for cell in cells)]


def _is_hidden(dimension: dict[str, str]) -> bool:
    """Whether a row or column is hidden, or too narrow to be seen."""
    return dimension.get("hidden") not in (None, "0", "false") or any(
        float(dimension.get(size) or 1) == 0 for size in ("width", "ht")
    )


def _in_any(column: int, hidden: Sequence[range]) -> bool:
    return any(column in columns for columns in hidden)


def _fill(rows: dict[int, dict[int, str]], merged: Any, hidden: Sequence[range], allowance: Allowance) -> None:
    """Write the text of a merged cell into each row that it covers, in the first column that is shown."""
    text = rows.get(merged.min_row, {}).get(merged.min_col)
    column = next((at for at in range(merged.min_col, merged.max_col + 1) if not _in_any(at, hidden)), None)
    if text is None or column is None:
        return
    numbers = sorted(rows)
    for number in numbers[bisect_left(numbers, merged.min_row) : bisect_right(numbers, merged.max_row)]:
        allowance.take(len(text) + _BESIDE)
        rows[number][column] = text


class _Formats:
    """The formats of a sheet's cells, each looked up once."""

    def __init__(self, sheet: Any) -> None:
        self._sheet = sheet
        self._known: dict[int, tuple[str, bool]] = {}

    def show(self, cell: dict[str, Any], left_out: Counter[str]) -> str:
        """Return the text of a cell in one line; empty where it shows none."""
        value = cell["value"]
        if value is None:
            return ""
        style = cell["style_id"]
        if style not in self._known:
            styled = ReadOnlyCell(self._sheet, 1, 1, None, style_id=style)
            self._known[style] = (styled.number_format or "General", bool(styled.font.strike))
        number_format, is_struck = self._known[style]
        if is_struck:
            left_out["struck-out cell"] += 1
            return ""
        shown = format_value(value, number_format)
        if not shown and value != "":
            left_out["hidden cell"] += 1
        return " ".join(shown.split())


def format_value(value: object, number_format: str) -> str:
    """Return a value as a sheet shows it.

    Dates are written as in ISO 8601, whatever their format; a format that is none of a plain number, percentage or
    amount of money shows the value itself. An empty section of a format hides what it is for.

    Examples
    --------
    >>> format_value(0.25, "0%"), format_value(1234.5, "#,##0.00 [$€-407]"), format_value(7, "00000")
    ('25%', '1,234.50 €', '00007')
    >>> format_value(dt.datetime(2024, 3, 12), "yyyy-mm-dd"), format_value(0.1 + 0.2, "General")
    ('2024-03-12', '0.3')
    """
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, dt.datetime | dt.date | dt.time | dt.timedelta):
        return _format_time(value, number_format)
    # for positive numbers, negative ones, zero and text
    sections = number_format.split(";")
    if not isinstance(value, int | float):
        return "" if sections[3:] == [""] else str(value)
    used = 2 if value == 0 and len(sections) > 2 else 1 if value < 0 and len(sections) > 1 else 0
    if len(sections) > 1 and not sections[used]:
        return ""
    return _format_number(-value if used == 1 else value, sections[used]) or _plain(value)


def _plain(value: float) -> str:
    # the 15 digits that a sheet keeps
    return str(value) if isinstance(value, int) else f"{value:.15g}"


def _format_number(value: float, section: str) -> str | None:
    """Return a number by one section of its format; None where that is no plain one."""
    parts = [(found.lastgroup, found) for found in _PART.finditer(section)]
    percent = sum(kind == "plain" and found[0] == "%" for kind, found in parts)
    plain = not any(kind == "other" for kind, _ in parts) and sum(kind == "digits" for kind, _ in parts) == 1
    if not plain or abs(value) >= _EXACT:
        return None
    shown = []
    for kind, found in parts:
        if kind == "digits":
            shown.append(_format_digits(Decimal(str(abs(value))) * 100**percent, found["digits"]))
        elif kind is not None:
            shown.append(found[kind])
    return ("-" if value < 0 else "") + "".join(shown).strip()


def _format_digits(value: Decimal, digits: str) -> str:
    scaled = value / 1000 ** (len(digits) - len(digits.rstrip(",")))
    whole, _, fraction = digits.rstrip(",").partition(".")
    rounded = scaled.quantize(Decimal(1).scaleb(-len(fraction)), rounding=ROUND_HALF_UP)
    before, _, after = f"{rounded:f}".partition(".")
    after = after[: fraction.count("0")] + after[fraction.count("0") :].rstrip("0")
    before = before.zfill(whole.count("0")) if "," not in whole else f"{int(before):,}"
    return f"{before}.{after}" if after else before


def _format_time(value: dt.date | dt.time | dt.timedelta, number_format: str) -> str:
    plain = re.sub(r'"[^"]*"|\[(?![hms]+\])[^\]]*\]|\\.', "", number_format).lower()
    if isinstance(value, dt.timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}" + (f":{seconds:02}" if seconds or "s" in plain else "")
    if isinstance(value, dt.time):
        return value.isoformat("seconds" if value.second or "s" in plain else "minutes")
    if not isinstance(value, dt.datetime):
        return value.isoformat()
    if "h" not in plain and not ("s" in plain and "y" not in plain):
        return value.date().isoformat()
    return value.isoformat(" ", "seconds" if "s" in plain else "minutes")
