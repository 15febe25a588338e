"""The blocks of a document (headings, paragraphs, lists, tables, code), each with its range of characters."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from typing import Literal, TypeAlias

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from retrivex.model.document import Document

BlockKind: TypeAlias = Literal["heading", "paragraph", "list", "item", "quote", "table", "row", "code", "line"]


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a document; the children of a block, and the blocks of a document, tile it without a gap.

    Parameters
    ----------
    kind : what it is; a `row` is never cut
    start, end : range of characters in the document, end exclusive; white space after a block belongs to it
    children : where it may be cut, best places first; empty for text
    prefix : of the rows of a table its header, of the lines of a fence its first line
    body : offset from which on `prefix` belongs in front; the first row holds the header itself
    level, title : of a heading
    """

    kind: BlockKind
    start: int
    end: int
    children: tuple[Block, ...] = ()
    prefix: str | None = None
    body: int = 0
    level: int = 0
    title: str = ""

    @property
    def lead(self) -> str | None:
        """The lines that belong in front of a chunk beginning here."""
        return self.prefix if self.start >= self.body else None


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading and the headings above it.

    Parameters
    ----------
    start : offset of its line
    path : titles, outermost first; the last is its own
    bare : whether a deeper heading follows at once, without any text between
    """

    start: int
    path: tuple[str, ...]
    bare: bool = False


def document_blocks(document: Document) -> list[Block]:
    """Return the blocks of a document, read as its `format` says."""
    return markdown_blocks(document.text) if document.format == "markdown" else text_blocks(document.text)


# A line break is taken whole: half of a CRLF would look like a blank line.
_BREAK = r"(?>\r\n|\r|\n)"
_BLANK_LINES = re.compile(rf"{_BREAK}(?:[^\S\r\n]*{_BREAK})+")


def text_blocks(text: str) -> list[Block]:
    r"""Return the paragraphs of plain text, which blank lines part.

    Examples
    --------
    >>> [(block.start, block.end) for block in text_blocks("One.\n\nTwo,\nstill two.")]
    [(0, 6), (6, 21)]
    """
    cuts = [0, *(match.end() for match in _BLANK_LINES.finditer(text)), len(text)]
    return [Block("paragraph", start, end) for start, end in pairwise(cuts) if start < end]


def headings(blocks: Iterable[Block]) -> list[Heading]:
    r"""Return the headings among `blocks`, each with its path.

    Examples
    --------
    >>> [heading.path for heading in headings(markdown_blocks("# Bees\n## Food\n# Ants"))]
    [('Bees',), ('Bees', 'Food'), ('Ants',)]
    """
    found: list[Heading] = []
    above: list[Block] = []
    for block, following in pairwise((*blocks, None)):
        if block and block.kind == "heading":
            above = [*(heading for heading in above if heading.level < block.level), block]
            bare = following is not None and following.kind == "heading" and following.level > block.level
            found.append(Heading(block.start, tuple(heading.title for heading in above), bare))
    return found


def path_of(outline: Sequence[Heading], start: int, end: int) -> tuple[str, ...]:
    r"""Return the headings that stand above all the text from `start` to `end`, outermost first.

    Where the range begins with headings that have no text of their own, the deepest of them counts.

    Parameters
    ----------
    outline : the headings of the document, ascending

    Examples
    --------
    >>> outline = headings(markdown_blocks("# Bees\n## Food\nNectar.\n## Sleep\nAt night."))
    >>> path_of(outline, 0, 22), path_of(outline, 0, 40)
    (('Bees', 'Food'), ('Bees',))
    """
    following = bisect_right(outline, start, key=lambda heading: heading.start)
    while 0 < following < len(outline) and outline[following - 1].bare and outline[following].start < end:
        following += 1
    path = outline[following - 1].path if following else ()
    # by position: a slice would copy all later headings for each chunk
    while path and following < len(outline) and outline[following].start < end:
        shared = takewhile(lambda pair: pair[0] == pair[1], zip(path, outline[following].path, strict=False))
        path = tuple(title for title, _ in shared)
        following += 1
    return path


_KINDS: dict[str, BlockKind] = {
    "heading": "heading",
    "paragraph": "paragraph",
    "html_block": "paragraph",
    "hr": "paragraph",
    "bullet_list": "list",
    "ordered_list": "list",
    "list_item": "item",
    "blockquote": "quote",
    "table": "table",
    "fence": "code",
    "code_block": "code",
}

# Lines are counted as markdown-it counts them; str.splitlines would also count form feeds and U+2028.
_LINE_BREAK = re.compile(_BREAK)

_FRONT_MATTER = re.compile(
    rf"---[ \t]*{_BREAK}[\w.-]+[ \t]*:[^\r\n]*{_BREAK}(?:[^\r\n]*{_BREAK})*?(?:---|\.\.\.)[ \t]*(?:{_BREAK}|\Z)"
)

_BLOCK_PARSER = MarkdownIt("commonmark").enable("table")
_BLOCK_PARSER.core.ruler.disable(["inline", "text_join"])  # only the line numbers of blocks are wanted
_INLINE_PARSER = MarkdownIt("commonmark")


@dataclass(slots=True)
class _Node:
    """A block as markdown-it reports it, in lines, not characters; `end_line` is exclusive."""

    kind: BlockKind
    line: int
    end_line: int
    fenced: bool = False
    level: int = 0
    title: str = ""
    children: list[_Node] = field(default_factory=list)


def markdown_blocks(text: str) -> list[Block]:
    r"""Return the top-level blocks of Markdown (CommonMark and tables), which tile `text`.

    Lines that make no block of their own, such as link definitions, belong to the block before them. YAML front matter
    is one paragraph: read as Markdown, its last line would be a heading.

    Examples
    --------
    >>> [(block.kind, block.start) for block in markdown_blocks("Set\n===\n```\n# no heading\n```\n- a\n- b")]
    [('heading', 0), ('code', 8), ('list', 29)]
    """
    line_starts = [0, *(match.end() for match in _LINE_BREAK.finditer(text))]
    front = _FRONT_MATTER.match(text)
    skipped = front.end() if front else 0
    nodes = _nodes(_parse_blocks(text[skipped:]), bisect_right(line_starts, skipped) - 1)
    if front or not nodes or nodes[0].line > 0:
        nodes.insert(0, _Node("paragraph", 0, 0))
    return _tile(text, line_starts, nodes, 0, len(text)) if text else []


class _BlockTokens(list[Token]):
    """Tokens as markdown-it finds them, without the insides of tables: eight for a row of four bytes, 1 kB each."""

    _table = False

    def append(self, token: Token) -> None:
        if token.type == "table_close":
            self._table = False
        if not self._table:
            super().append(token)
        if token.type == "table_open":
            self._table = True


def _parse_blocks(text: str) -> _BlockTokens:
    tokens = _BlockTokens()
    state = StateCore(text, _BLOCK_PARSER, {})
    state.tokens = tokens
    _BLOCK_PARSER.core.process(state)
    return tokens


def _nodes(tokens: Iterable[Token], first_line: int) -> list[_Node]:
    """Turn markdown-it's flat tokens into a tree of the blocks we know; a table's insides are left out."""
    root = _Node("paragraph", 0, 0)
    stack = [root]
    for token in tokens:
        kind = _KINDS.get(token.type.removesuffix("_open").removesuffix("_close"))
        if token.type == "inline" and stack[-1].kind == "heading":
            stack[-1].title = _plain(token.content)
        elif kind and token.nesting < 0:
            stack.pop()
        elif kind and token.map:
            line, end_line = (first_line + number for number in token.map)
            level = int(token.tag[1:]) if kind == "heading" else 0
            node = _Node(kind, line, end_line, fenced=token.type == "fence", level=level)
            stack[-1].children.append(node)
            stack += [node] * token.nesting
    return root.children


def _plain(markdown: str) -> str:
    """Return a heading's words without emphasis, code marks and link targets."""
    inline = _INLINE_PARSER.parseInline(markdown)[0].children or []
    words = [" " if part.type.endswith("break") else part.content for part in inline if part.type != "html_inline"]
    return " ".join("".join(words).split())


def _tile(text: str, line_starts: list[int], nodes: Sequence[_Node], start: int, end: int) -> list[Block]:
    """Turn siblings into blocks: each reaches to the next one, the first and the last to the edges of the parent."""
    edges = [start, *(line_starts[node.line] for node in nodes[1:]), end]
    return [
        _block(text, line_starts, node, first, last) for node, (first, last) in zip(nodes, pairwise(edges), strict=True)
    ]


def _block(text: str, line_starts: list[int], node: _Node, start: int, end: int) -> Block:
    if node.kind == "heading":
        return Block("heading", start, end, level=node.level, title=node.title)
    if node.kind in ("table", "code"):
        return Block(node.kind, start, end, tuple(_lines(text, line_starts, node, start, end)))
    children = _tile(text, line_starts, node.children, start, end) if node.children else ()
    return Block(node.kind, start, end, tuple(children))


def _lines(text: str, line_starts: list[int], node: _Node, start: int, end: int) -> Iterator[Block]:
    """Yield the lines of a table or of code; the first holds what the later ones get in front."""
    table = node.kind == "table"
    # lines of the head (header and delimiter row, opening fence), and of the foot (closing fence)
    head, foot = (2, 0) if table else (1, 1) if node.fenced else (0, 0)
    body_line = node.line + head
    body = line_starts[body_line] if body_line < len(line_starts) else end
    prefix = text[line_starts[node.line] : body] if head > 0 and body < end else None
    cuts = [start, *line_starts[body_line + 1 : node.end_line - foot], end]
    for first, last in pairwise(cuts):
        if first < last:
            # Text right under a table is a row to CommonMark's table rule, though it has no cells: it may be cut.
            kind: BlockKind = "row" if table and "|" in text[first:last] else "line"
            yield Block(kind, first, last, prefix=prefix, body=body)
