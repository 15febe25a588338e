"""Writes a parsed HTML page as Markdown."""

from __future__ import annotations

import re
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from retrivex.loading.html_parts import children_of, text_of
from retrivex.loading.limits import Allowance
from retrivex.loading.markdown import fenced
from retrivex.loading.tables import Cell, pipe_table

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCK_TAGS = (
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure "
    "footer form header hgroup hr legend li main menu ol optgroup option p section summary table tbody td tfoot th "
    "thead tr ul h1 h2 h3 h4 h5 h6"
)
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_BLOCK_SELECTOR = ", ".join(sorted(_BLOCKS | {"pre"}))
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_JOINING = _BLOCKS | {"sub", "sup", "wbr", "rt", "rp"}  # elements of which words may go on beside them, or cannot
_BRACKET = re.compile(r"(?<!\\)[\[\]]")
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_TO_QUOTE = re.compile(r"[\s()]")
_MAX_TARGET = 1000  # characters of a link's target that is kept
_LANGUAGE = re.compile(r"\blang(?:uage)?-([\w+#.-]+)")
_SPACES = re.compile(r"[ \t\n\r\f\u00a0]+")
# Text that would read as Markdown structure at the start of a line: it is text in the page and stays text.
_MARKUP = re.compile(
    r"#{1,6}(?=\s|$)|[-+*](?=\s|$)|>|`{3}|~{3}|\||<(?=[A-Za-z/!?])|(?:[-*_=:] *)+$|:?-+ *\||"
    r"(?P<number>\d{1,9})(?=[.)](?:\s|$))"
)


def write_markdown(root: LexborNode, allowance: Allowance, hidden: frozenset[int]) -> str:
    """Write what is under `root`, with one newline at the end; empty where that is nothing.

    Parameters
    ----------
    hidden : `mem_id` of the elements that are left out

    Raises
    ------
    LoadError
        If it has more characters than the page is allowed.
    """
    return _Writer(root, allowance, hidden).text()


@dataclass(slots=True)
class _Frame:
    """A list item or quotation that is being written, with the prefix of its lines."""

    first: str
    rest: str
    opening: bool  # no line of it is written yet


class _Writer:
    """Walks a page once, without recursion, and writes its blocks."""

    def __init__(self, root: LexborNode, allowance: Allowance, hidden: frozenset[int]) -> None:
        self._root = root
        self._allowance = allowance
        self._hidden = hidden
        self._pieces: list[str] = []  # the output, separators included
        self._inline: list[str] = []  # the paragraph being read
        self._is_closed = False  # an element within the line has just ended
        self._is_apart = False  # and another one begun: their words stay apart
        self._links: list[int] = []  # where in the paragraph each open link begins
        self._frames: list[_Frame] = []
        self._numbers: list[int | None] = []  # next number of each open list; None for bullets
        self._level = 0  # of the heading being read
        self._item_opened = False  # the last block was the first of a list item

    def text(self) -> str:
        """Return the page as Markdown, one newline at its end; empty where there is nothing to read."""
        waiting = [(self._root, False)]
        while waiting:
            node, is_read = waiting.pop()
            if is_read:
                self._leave(node)
            elif self._enter(node):
                waiting.append((node, True))
                waiting.extend((child, False) for child in reversed(children_of(node)))
        self._flush()
        return "".join(self._pieces) + "\n" if self._pieces else ""

    def _enter(self, node: LexborNode) -> bool:
        """Begin `node`; False where its children are not to be walked."""
        tag = node.tag or ""
        if node.is_text_node:
            self._add(_SPACES.sub(" ", (node.text_content or "").replace("\u00ad", "")))
            return False
        if node.is_comment_node or node.mem_id in self._hidden:
            return False
        self._is_apart |= tag == "img" or (self._is_closed and tag not in _JOINING)
        if tag in ("pre", "code", "table", "br", "img"):
            return self._enter_special(node, tag)
        if tag in _BLOCKS:
            self._flush()
        if tag == "a":
            self._links.append(len(self._inline))
        if tag in _HEADINGS:
            self._level = _HEADINGS[tag]
        elif tag in _LISTS:
            self._numbers.append(_number(node, "start", 1) if tag == "ol" else None)
        elif tag == "li":
            self._frames.append(self._item())
        elif tag == "blockquote":
            self._frames.append(_Frame("> ", "> ", opening=False))
        return True

    def _enter_special(self, node: LexborNode, tag: str) -> bool:
        if tag == "br":
            self._inline.append("\n")
        elif tag == "img":
            self._add(_SPACES.sub(" ", node.attributes.get("alt") or ""))
            self._is_apart = True
        elif tag == "pre":
            self._flush()
            self._write_code(node)
        elif tag == "code":
            # An unclosed <code> runs on through the page: then it is not inline code, and its blocks are kept.
            if node.css_first(_BLOCK_SELECTOR) is not None:
                return True
            self._add(_inline_code(_SPACES.sub(" ", text_of(node, self._hidden))))
            self._is_closed = True
        else:
            self._flush()
            rows = _table_rows(node, self._hidden, self._allowance.size)
            if rows is None:
                return True
            self._write_table(node, rows)
        return False

    def _leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag in _BLOCKS:
            self._flush()
        if tag in _HEADINGS:
            self._level = 0
        elif tag in _LISTS:
            self._numbers.pop()
        elif tag in ("li", "blockquote"):
            self._frames.pop()
        elif tag == "a":
            self._close_link(node)
        self._is_closed = tag not in _JOINING

    def _add(self, text: str) -> None:
        """Add to the paragraph; the words of neighbouring elements do not run together."""
        if not text:
            return
        if self._is_apart and self._inline and _is_edge(self._inline[-1][-1], ")") and _is_edge(text[0], "["):
            self._inline.append(" ")
        self._inline.append(text)
        self._is_closed = self._is_apart = False

    def _close_link(self, node: LexborNode) -> None:
        """Write what was read since the link began as a link, if it leads to a page and stands in a line."""
        start = self._links.pop()
        words = "".join(self._inline[start:])
        target = (node.attributes.get("href") or "").strip()
        label = " ".join(words.split())
        if target.startswith("#") and not any(map(str.isalnum, label)):
            del self._inline[start:]  # the sign at a heading that leads to itself
        if not label or not _is_page(target) or node.css_first(_BLOCK_SELECTOR) is not None:
            return
        before = " " * words[0].isspace()
        after = " " * words[-1].isspace()
        safe = f"<{target}>" if _TO_QUOTE.search(target) else target
        del self._inline[start:]
        self._inline.extend(filter(None, (before, f"[{_BRACKET.sub(_escape, label)}]({safe})", after)))

    def _item(self) -> _Frame:
        number = self._numbers[-1] if self._numbers else None
        if number is None:
            return _Frame("- ", "  ", opening=True)
        self._numbers[-1] = number + 1
        marker = f"{number}. "
        return _Frame(marker, " " * len(marker), opening=True)

    def _flush(self) -> None:
        """Write the paragraph read so far; two line breaks in a row part paragraphs, as on many old pages."""
        text = re.sub(r" *\n *", "\n", "".join(self._inline))
        self._inline.clear()
        text = re.sub(r" {2,}", " ", text).strip(" \n")
        if not text:
            return
        if self._level:
            self._write_heading(" ".join(text.split()))
            return
        for paragraph in re.split(r"\n{2,}", text):
            self._write("\n".join(map(_escape_start, paragraph.split("\n"))))

    def _write_heading(self, title: str) -> None:
        # Headings stand outside lists and quotations: they head what follows, wherever the page's author put them.
        frames, self._frames = self._frames, []
        closing = re.sub(r"(^|\s)(#+)$", r"\1\\\2", title)  # `# C #` would lose its last sign
        self._write(f"{'#' * self._level} {closing}")
        self._frames = frames

    def _write_code(self, node: LexborNode) -> None:
        if block := fenced(text_of(node, self._hidden).replace("\r\n", "\n"), _language(node)):
            self._write(block)

    def _write_table(self, node: LexborNode, rows: list[list[Cell]]) -> None:
        caption = node.css_first("caption")
        if caption is not None and (words := " ".join(text_of(caption, self._hidden).split())):
            self._write(_escape_start(words))
        if table := pipe_table(rows, Allowance(self._allowance.size)):
            self._write(table)

    def _write(self, block: str) -> None:
        opens_item = any(frame.opening for frame in self._frames)
        first = "".join(frame.first if frame.opening else frame.rest for frame in self._frames)
        rest = "".join(frame.rest for frame in self._frames)
        for frame in self._frames:
            frame.opening = False
        if self._pieces:
            self._pieces.append("\n" if opens_item and self._item_opened else "\n\n")
        head, *tail = block.split("\n")
        self._allowance.take(len(block) + len(first) + len(rest) * len(tail))
        self._pieces.append("\n".join([first + head, *((rest + line).rstrip() for line in tail)]))
        self._item_opened = opens_item


def _is_page(target: str) -> bool:
    """Whether a link leads to another page, and neither within its own, nor to a program or a mailbox."""
    scheme = _SCHEME.match(target)
    known = scheme is None or scheme[1].lower() in ("http", "https")
    return known and 0 < len(target) <= _MAX_TARGET and not target.startswith("#") and not set("<>\n") & set(target)


def _escape(found: re.Match[str]) -> str:
    return f"\\{found[0]}"


def _is_edge(character: str, bracket: str) -> bool:
    """Whether a word of a script that parts words with spaces, code or a link ends or begins with it."""
    spaced = character.isalnum() and (character < "\u2e80" or "\uac00" <= character <= "\ud7a3")
    return spaced or character in ("`", bracket)


def _table_rows(table: LexborNode, hidden: frozenset[int], size: int) -> list[list[Cell]] | None:
    """Cells of a data table of a page of `size` bytes; None for a table that is there for the layout."""
    if (table.attributes.get("role") or "") in ("presentation", "none"):
        return None
    nested = [node for node in table.css("table") if node.mem_id != table.mem_id]
    if nested or table.css_first("pre, " + ", ".join(_HEADINGS)) is not None:
        return None
    rows = [_cells(row, hidden, size) for row in table.css("tr") if row.mem_id not in hidden]
    return rows if any(len(row) > 1 for row in rows) else None


def _cells(row: LexborNode, hidden: frozenset[int], size: int) -> list[Cell]:
    in_head = row.parent is not None and row.parent.tag == "thead"
    return [
        Cell(
            text=" ".join(_Writer(cell, Allowance(size), hidden).text().split()),
            header=cell.tag == "th",
            in_head=in_head,
            columns=_number(cell, "colspan", 1),
            rows=_number(cell, "rowspan", 1),
        )
        for cell in children_of(row)
        if cell.tag in ("td", "th") and cell.mem_id not in hidden
    ]


def _number(node: LexborNode, attribute: str, otherwise: int) -> int:
    found = re.match(r"\s*(\d{1,8})(?!\d)", node.attributes.get(attribute) or "")
    return int(found[1]) if found else otherwise


def _language(node: LexborNode) -> str:
    named = [place.attributes.get("class") or "" for place in (node.css_first("code"), node) if place is not None]
    found = _LANGUAGE.search(" ".join(named))
    return found[1] if found else ""


def _inline_code(text: str) -> str:
    if not text.strip():
        return text
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{padding}{text.strip()}{padding}{fence}"


def _escape_start(line: str) -> str:
    found = _MARKUP.match(line)
    if found is None:
        return line
    place = found.end("number") if found["number"] else 0
    return f"{line[:place]}\\{line[place:]}"
