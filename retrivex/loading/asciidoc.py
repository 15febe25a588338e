"""Converts AsciiDoc to Markdown: headings, blocks of code, lists, tables and quotations keep their structure.

No library for Python that is kept up reads AsciiDoc: this reader knows the language's blocks by their lines.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from textwrap import dedent

from retrivex.loading.limits import Allowance
from retrivex.loading.markdown import first_heading, timestamp_of
from retrivex.loading.report import Loaded
from retrivex.loading.tables import Cell, pipe_table
from retrivex.loading.text import decode, encoding_metadata, notes_of, require_text
from retrivex.model.document import Document

_HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+\1)?[ \t]*$")
_ATTRIBUTE = re.compile(r":(!?[\w-]+)!?:(?:[ \t]+(.*))?$")
_BLOCK_LINE = re.compile(r"\[(?!\[)([^\]\n]*)\][ \t]*$")
_ANCHOR_LINE = re.compile(r"\[\[[^\]\n]*\]\][ \t]*$")
_TITLE_LINE = re.compile(r"\.(?![ .])(\S.*)$")
_FENCE = re.compile(r"(-{4,}|\.{4,}|\+{4,}|`{3,}|/{4,}|={4,}|\*{4,}|_{4,}|--)(?:(?<=`)([\w+#.-]+))?[ \t]*$")
_TABLE = re.compile(r"[|,:!]={3,}[ \t]*$")
_ITEM = re.compile(r"[ \t]*(\*{1,6}|-|\.{1,6}|\d{1,9}\.)[ \t]+(\S.*)$")
_CHECK = re.compile(r"\[([ x*])\][ \t]+")
_TERM = re.compile(r"[ \t]*(\S.*?)(:{2,4}|;;)(?:[ \t]+(.*))?$")
_REFERRING = re.compile(r"(include|ifdef|ifndef|ifeval|endif)::\S*\[.*\][ \t]*$")
_ADMONITION = re.compile(r"(NOTE|TIP|IMPORTANT|WARNING|CAUTION)(?::[ \t]+|$)")
_UNDERLINE = re.compile(r"([=\-~^+])\1{2,}[ \t]*$")
_UNDERLINES = "=-~^+"  # of a title over two lines, by level
_CELL = re.compile(
    r"(?:(?<!\S)(?:(?P<columns>\d{1,3})?(?:\.(?P<rows>\d{1,3}))?(?P<sign>[+*]))?[<^>.]{0,4}[a-z]?)?(?<!\\)\|",
    re.IGNORECASE,
)
_COLUMNS = re.compile(r"cols=(?:\"([^\"]*)\"|([^,\]]*))")
# listings, literal text and what is passed through stand as they are; comments go
_SIGN = re.compile(r"(?:-|\d+\.) ")
_INDENT = 4  # of what belongs to an item; enough for numbers of two digits
_VERBATIM = "-.+`"
_INLINE: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r"\bimage::?[^\s\[\]]{0,2000}\[\"?([^\],\"]{0,300})[^\]]{0,300}\]"), r"\1"),
    (re.compile(r"\[\[[^\]]{0,300}\]\]|\(\(\([^()]{0,300}\)\)\)|indexterm:\[[^\]]{0,300}\]"), ""),
    (re.compile(r"\(\(([^()]{1,300})\)\)"), r"\1"),
    (re.compile(r"<<[^<>,]{1,300},\s*([^<>]{1,300})>>"), r"\1"),
    (re.compile(r"<<#?([^<>,]{1,300})>>"), r"\1"),
    (re.compile(r"\bxref:[^\s\[\]]{1,300}\[([^\]]{1,300})\]"), r"\1"),
    (re.compile(r"\b(?:link:|xref:|mailto:|(?=https?://))([^\s\[\]<>]{1,2000})\[\]"), r"\1"),
    (
        re.compile(r"\b(?:link:|(?=mailto:|https?://))([^\s\[\]<>]{1,2000})\[\"?([^\],^]{1,300})[^\]]{0,300}\]"),
        r"[\2](\1)",
    ),
    (re.compile(r"\b(?:kbd|btn|footnote|pass|stem|latexmath|asciimath):[^\s\[\]]{0,300}\[([^\]]{0,2000})\]"), r"\1"),
    (re.compile(r"\[[^\]]{0,300}\](#{1,2})([^#]{1,300})\1"), r"\2"),
    (re.compile(r"``([^`]{1,300})``|`\+([^`]{1,300})\+`"), r"`\1\2`"),
    (re.compile(r"[ \t]\+$"), ""),
)
_STRUCK = re.compile(
    r"\[[^\]]{0,100}\b(?:line-through|strike(?:through)?|del)\b[^\]]{0,100}\](#{1,2})[^#]{1,300}\1"
    r"|(?:\+{3}|pass:[\w,]{0,9}\[)<(del|s|strike)>.{1,300}?</\2>(?:\+{3}|\])"
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_NAME = re.compile(r"\{([\w-]{1,100})\}")
_LONGEST_VALUE = 1_000  # characters of an attribute that are put in wherever the text names it
_MAX_REPEATED = 100  # cells that one with a number stands for


def load_asciidoc(raw: bytes, doc_id: str, source: str | None = None) -> Loaded:
    r"""Read AsciiDoc as Markdown; offsets count in that Markdown.

    Attributes of the head (author, revdate) go to the metadata. Files that the text includes are not opened, and
    conditions are not decided: all their branches stay. Both leave a note.

    Raises
    ------
    LoadError
        If it is empty, not text, in an unknown encoding, or its tables make a far longer text of it.

    Examples
    --------
    >>> text = b"= Bees\n:author: Ann\n\n== Sleep\n\n[source,python]\n----\nsleep(5)\n----\n"
    >>> document = load_asciidoc(text, "bees.adoc").document
    >>> document.text, document.metadata
    ('# Bees\n\n## Sleep\n\n```python\nsleep(5)\n```\n', {'author': 'Ann'})
    """
    decoded = decode(raw)
    reader = _Reader(decoded.text.expandtabs(4).splitlines(), Allowance(len(raw)))
    text = require_text(reader.read())
    document = Document(
        doc_id,
        text,
        format="markdown",
        title=first_heading(text),
        source=source,
        timestamp=timestamp_of(reader.metadata.get("revdate") or reader.metadata.get("date")),
        metadata={**reader.metadata, **encoding_metadata(decoded)},
    )
    notes = [f"not followed: {name} ({count})" for name, count in reader.left_out.items()]
    if reader.struck:
        notes.append(f"left out: {reader.struck:,} struck-out part{'' if reader.struck == 1 else 's'}")
    return Loaded(document, (*notes_of(decoded), *notes))


class _Reader:
    """Goes through the lines once and writes their blocks."""

    def __init__(self, lines: list[str], allowance: Allowance) -> None:
        self._lines = lines
        self._allowance = allowance
        self._at = 0
        self._blocks: list[str] = []
        self._paragraph: list[str] = []
        self._style = ""  # of the block that follows: `source,python`
        self._markers: list[str] = []  # of the lists that are open, outermost first
        self._numbers: dict[str, int] = {}  # of the last item, by marker
        self._in_list = False  # the paragraph is an item
        self._attached = False  # a line of `+` said that what follows belongs to the last item
        self._quotes: list[str] = []  # fences of the quotations and examples that are open
        self._attributes: dict[str, str] = {}
        self._item_before = False  # the last block was an item of a list
        self.metadata: Mapping[str, str] = {}
        self.left_out: Counter[str] = Counter()
        self.struck = 0

    def read(self) -> str:
        """Return the whole text as Markdown."""
        self._read_head()
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            self._read_line(line)
        self._flush()
        return "".join(self._blocks).lstrip("\n") + "\n" if self._blocks else ""

    def _read_head(self) -> None:
        """Read the title, and the lines of the author and of attributes under it."""
        while self._at < len(self._lines) and not self._lines[self._at].strip():
            self._at += 1
        if self._at < len(self._lines) and self._lines[self._at].startswith("= "):
            self._write_heading(1, self._lines[self._at][2:])
            self._at += 1
            head = []
            while self._at < len(self._lines) and self._lines[self._at].strip():
                if not self._take_attribute(self._lines[self._at]) and not self._lines[self._at].startswith("//"):
                    head.append(self._lines[self._at])
                self._at += 1
            # the first two lines that are no attributes are the author and the revision
            self._attributes.update(zip(("author", "revision"), head, strict=False))
        else:
            while self._at < len(self._lines) and self._take_attribute(self._lines[self._at]):
                self._at += 1
        shown = ("author", "revision", "revdate", "revnumber", "date", "description", "keywords", "lang")
        if dated := _DATE.search(self._attributes.get("revision", "")):
            self._attributes.setdefault("revdate", dated[0])
        self.metadata = {name: self._attributes[name] for name in shown if self._attributes.get(name)}

    def _take_attribute(self, line: str) -> bool:
        found = _ATTRIBUTE.match(line)
        if found is None:
            return False
        self._attributes[found[1].lstrip("!")] = found[2] or ""
        return True

    def _read_line(self, line: str) -> None:
        if not line.strip():
            self._flush()
            return
        if self._read_block(line):
            return
        if line.strip() == "+":
            self._flush()
            self._attached = True
            return
        if (not self._paragraph or self._in_list) and self._read_list(line):
            return
        # an indented paragraph is code, and behind an item a part of it
        if not self._paragraph and not line.startswith(" "):
            self._end_list()
        self._paragraph.append(line)

    def _end_list(self) -> None:
        if not self._attached:
            self._markers.clear()
        self._attached = False

    def _read_block(self, line: str) -> bool:
        """Read a line that begins or ends a block, or stands for itself."""
        if (found := _HEADING.match(line)) and not self._paragraph:
            self._write_heading(len(found[1]), found[2])
        elif self._is_underline(line):
            self._write_heading(_UNDERLINES.index(line[0]) + 1, self._paragraph.pop())
        elif found := _FENCE.match(line):
            self._flush()
            self._read_fence(found[1], found[2] or "")
        elif _TABLE.match(line):
            self._flush()
            self._end_list()
            self._read_table(line[0])
        elif found := _REFERRING.match(line):
            if found[1] != "endif":
                self.left_out[found[1] if found[1] == "include" else "conditions"] += 1
        elif line.startswith("//") and not line.startswith("///"):
            pass  # a comment
        elif _ANCHOR_LINE.match(line) or (not self._paragraph and self._take_attribute(line)):
            pass
        elif (found := _BLOCK_LINE.match(line)) and not self._paragraph:
            self._style = found[1]
        elif (found := _TITLE_LINE.match(line)) and not self._paragraph:
            self._write(self._inline(found[1]))
        elif line.strip() in ("'''", "<<<", "toc::[]"):
            self._flush()
        else:
            return False
        return True

    def _is_underline(self, line: str) -> bool:
        above = self._paragraph[0] if len(self._paragraph) == 1 else " "
        return bool(_UNDERLINE.match(line)) and above[0].isalnum() and abs(len(above) - len(line.rstrip())) <= 1

    def _read_list(self, line: str) -> bool:
        if found := _ITEM.match(line):
            self._flush()
            marker = "1." if found[1][0].isdigit() else found[1]
            if marker in self._markers:
                del self._markers[self._markers.index(marker) + 1 :]
            else:
                self._markers.append(marker)
                self._numbers[marker] = 0
            self._numbers[marker] += 1
            sign = "-" if marker[0] in "*-" else f"{self._numbers[marker]}."
            self._paragraph = [f"{sign} {_CHECK.sub('', found[2])}"]
        elif found := _TERM.match(line):
            self._flush()
            self._markers.clear()
            self._paragraph = [f"**{found[1]}**: {found[3] or ''}"]
        else:
            return False
        self._in_list = True
        return True

    def _read_fence(self, fence: str, language: str) -> None:
        if fence[0] in _VERBATIM and fence != "--":
            self._end_list()
            code = self._until(fence)
            said = self._take_style()[1]
            self._write_code(code, language or said)
        elif fence[0] == "/":
            self._until(fence)
        elif fence in self._quotes:
            del self._quotes[self._quotes.index(fence) :]
        else:
            self._quotes.append(fence)
            if found := _ADMONITION.match(self._take_style()[0]):
                self._write(f"{found[1].capitalize()}:")

    def _until(self, fence: str) -> list[str]:
        end = next((at for at in range(self._at, len(self._lines)) if self._lines[at].rstrip() == fence), None)
        end = len(self._lines) if end is None else end
        lines = self._lines[self._at : end]
        self._at = end + 1
        return lines

    def _read_table(self, separator: str) -> None:
        lines = self._until(f"{separator}===")
        style, self._style = self._style, ""
        cells = [
            Cell(self._inline(" ".join(cell.text.split())), columns=cell.columns, rows=cell.rows)
            for cell in _cells(lines)
        ]
        if separator == ",":
            rows = [[Cell(" ".join(value.split())) for value in row] for row in csv.reader(lines) if row]
        else:
            rows = _rows(cells, _count_columns(style, lines))
        if table := pipe_table(rows, self._allowance):
            self._write(table)

    def _flush(self) -> None:
        """Write the paragraph that was read; a style above it may say that it is code."""
        if not self._paragraph:
            return
        lines, self._paragraph = self._paragraph, []
        self._in_list = False
        kind, language = self._take_style()
        if kind in ("source", "listing", "literal") or lines[0].startswith(" "):
            self._write_code(dedent("\n".join(lines)).split("\n"), language)
        else:
            text = "\n".join(self._inline(line.strip()) for line in lines)
            if _ADMONITION.match(kind):
                text = f"{kind.capitalize()}: {text}"
            self._write(_ADMONITION.sub(lambda found: f"{found[1].capitalize()}: ", text, count=1))

    def _take_style(self) -> tuple[str, str]:
        """Return the kind of the block that begins, and the language of its code; empty where they are not said."""
        kind, _, rest = self._style.partition(",")
        self._style = ""
        language = rest.partition(",")[0].strip()
        known = kind.partition("%")[0] in ("source", "") and re.fullmatch(r"[\w+#.-]+", language)
        return kind.strip(), language if known else ""

    def _write_heading(self, level: int, title: str) -> None:
        self._flush()
        self._quotes.clear()
        self._markers.clear()
        self._write(f"{'#' * level} {self._inline(title.strip())}")

    def _write_code(self, lines: Sequence[str], language: str) -> None:
        code = "\n".join(lines).strip("\n").rstrip()
        if code.strip():
            marks = "`" * max(3, 1 + max(map(len, re.findall(r"`+", code)), default=0))
            self._write(f"{marks}{language}\n{code}\n{marks}")

    def _write(self, block: str) -> None:
        prefix = "> " * sum(fence.startswith("_") for fence in self._quotes)
        is_item = bool(self._markers) and _SIGN.match(block) is not None
        first = " " * _INDENT * (len(self._markers) - is_item)
        rest = " " * _INDENT * len(self._markers)
        lines = [f"{prefix}{first if at == 0 else rest}{line}".rstrip() for at, line in enumerate(block.split("\n"))]
        self._allowance.take(sum(map(len, lines)))
        self._blocks.append(("\n" if is_item and self._item_before else "\n\n") + "\n".join(lines))
        self._item_before = is_item

    def _inline(self, text: str) -> str:
        text, struck = _STRUCK.subn("", text)
        self.struck += struck
        for pattern, by in _INLINE:
            text = pattern.sub(by, _NAME.sub(self._value, text) if by == "" else text)
        return text

    def _value(self, name: re.Match[str]) -> str:
        value = self._attributes.get(name[1], name[0])
        return value if len(value) <= _LONGEST_VALUE else name[0]


def _cells(lines: Sequence[str]) -> list[Cell]:
    text = "\n".join(lines)
    found = list(_CELL.finditer(text))
    before = text[: found[0].start()] if found else text
    cells = [Cell(before)] if before.strip() else []
    for mark, after in zip_longest(found, found[1:]):
        end = after.start() if after else len(text)
        columns, rows = int(mark["columns"] or 1), int(mark["rows"] or 1)
        said = text[mark.end() : end].replace("\\|", "|")
        if mark["sign"] == "*":
            cells += [Cell(said)] * min(columns, _MAX_REPEATED)
        else:
            cells.append(Cell(said, columns=columns, rows=rows) if mark["sign"] else Cell(said))
    return cells


def _count_columns(style: str, lines: Sequence[str]) -> int:
    """Return the columns of a table: as its style says, else as many as its first line has cells."""
    if found := _COLUMNS.search(style):
        parts = re.split(r"[,;]", found[1] or found[2])
        return sum(int(part[: part.index("*")]) if re.match(r"\d{1,3}\*", part.strip()) else 1 for part in parts)
    first = next((line for line in lines if line.strip()), "")
    return max(1, len(_cells([first])))


def _rows(cells: Sequence[Cell], width: int) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    covered: dict[int, int] = {}  # column -> rows that a cell from above still covers
    column = width
    for cell in cells:
        while column >= width or covered.get(column, 0):
            if column >= width:
                rows.append([])
                column = 0
            else:
                covered[column] -= 1
                column += 1
        rows[-1].append(cell)
        for at in range(column, min(column + cell.columns, width)):
            covered[at] = cell.rows - 1
        column += cell.columns
    return rows
