"""Reads Markdown files: removes the front matter, finds the title, and keeps the text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from markdown_it import MarkdownIt

from retrivex.loading.report import Loaded
from retrivex.loading.text import decode, encoding_metadata, notes_of, require_text
from retrivex.model.document import Document

_OPENING = re.compile(r"---[ \t]*\r?\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_YAML_LINE = re.compile(r"[\w.-]+[ \t]*:(?:[ \t]|$)|[ \t]|- |-$|#|$")
_SCALAR = re.compile(r"^([\w.-]+)[ \t]*:[ \t]+(\S.*?)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ATX_H1 = re.compile(r" {0,3}#(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_SETEXT_H1 = re.compile(r" {0,3}=+[ \t]*$")
_INLINE = MarkdownIt("commonmark")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The block of `key: value` lines at the beginning of some Markdown files.

    Parameters
    ----------
    length : code points it takes, closing line and the blank lines after it included; 0 where there is none
    values : its top-level scalars, as strings; lists and nested values are left out
    """

    length: int = 0
    values: Mapping[str, str] = field(default_factory=dict)


def read_front_matter(text: str) -> FrontMatter:
    r"""Find the front matter `text` begins with.

    It is recognised by its lines, not parsed as YAML: a file that merely opens with a rule (`---`) keeps its text.

    Examples
    --------
    >>> found = read_front_matter("---\ntitle: 'Bees'\ntags: [a, b]\n---\n\n# Sleep\n")
    >>> found.length, found.values
    (36, {'title': 'Bees'})
    >>> read_front_matter("---\nJust a rule above.\n---\n").length
    0
    """
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return FrontMatter()
    lines = text[opening.end() : closing.start()].splitlines()
    if not lines or not all(_YAML_LINE.match(line) for line in lines):
        return FrontMatter()
    rest = text[closing.end() :]
    blank = len(rest) - len(rest.lstrip("\r\n"))
    return FrontMatter(closing.end() + blank, dict(filter(None, map(_scalar, lines))))


def _scalar(line: str) -> tuple[str, str] | None:
    found = _SCALAR.match(line)
    if found is None or found[2][0] in "[{|>&*!#":  # lists, mappings, blocks, anchors, comments: not plain values
        return None
    key, value = found[1], found[2]
    if value[0] in "'\"":
        quoted = re.match(r"(['\"])(.*)\1(?:\s+#.*)?$", value)
        return (key, quoted[2]) if quoted else None
    return key, re.sub(r"\s+#.*$", "", value)


def first_heading(text: str) -> str | None:
    r"""Return the first level-1 heading of Markdown `text`, as plain text; None without one.

    Examples
    --------
    >>> first_heading("```\n# a comment\n```\n# The *sleep* of `bees` #\n")
    'The sleep of bees'
    """
    fence = ""
    previous = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
            continue
        if mark:
            fence, previous = mark[1], ""
            continue
        if (found := _ATX_H1.match(line)) and found[1]:
            return plain(found[1])
        if _SETEXT_H1.match(line) and previous.strip():
            return plain(previous.strip())
        # four spaces are code, and a heading marker of another level ends a paragraph
        previous = "" if line.startswith(("    ", "\t", "#", ">")) else line
    return None


def plain(inline: str) -> str:
    """Return one line of Markdown without its marks: emphasis, links and code become their text.

    Examples
    --------
    >>> plain("The [sleep](https://example.org) of **bees**")
    'The sleep of bees'
    """
    tokens = _INLINE.parseInline(inline)[0].children or []
    text = "".join(" " if token.type.endswith("break") else token.content for token in tokens)
    return " ".join(text.split())


def timestamp_of(date: str | None) -> float | None:
    """Return an ISO 8601 date as Unix seconds (UTC where it names no zone); None where it is not one.

    Examples
    --------
    >>> timestamp_of("1970-01-02"), timestamp_of("spring")
    (86400.0, None)
    """
    if date is None:
        return None
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def load_markdown(raw: bytes, doc_id: str, source: str | None = None) -> Loaded:
    r"""Read a Markdown file.

    Front matter is cut off, and offsets count in what remains: left in, CommonMark would read its closing line as
    the underline of a heading. `metadata["text_start"]` is the number of code points cut, so that
    `text_start + offset` is the place in the file. Its top-level scalars become metadata (strings); `title` gives
    the title (else the first level-1 heading does) and `date` the timestamp.

    Raises
    ------
    LoadError
        If it is empty, not text, or in an unknown encoding.

    Examples
    --------
    >>> document = load_markdown(b"---\ndate: 1970-01-02\n---\n# Bees\n", "bees.md").document
    >>> document.title, document.text, document.timestamp
    ('Bees', '# Bees\n', 86400.0)
    """
    decoded = decode(raw)
    front = read_front_matter(decoded.text)
    text = require_text(decoded.text[front.length :])
    metadata: dict[str, object] = {**front.values, **encoding_metadata(decoded)}
    if front.length:
        metadata["text_start"] = front.length
    document = Document(
        doc_id,
        text,
        format="markdown",
        title=front.values.get("title") or first_heading(text),
        source=source,
        timestamp=timestamp_of(front.values.get("date")),
        metadata=metadata,
    )
    return Loaded(document, notes_of(decoded))
