"""Reads AsciiDoc, which is Markdown but for a few lines: headings, blocks of code, attributes and comments.

No library for Python that is kept up reads it. Lists, tables and links stay as they are written, which models read
well; what tells where a text may be cut becomes Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from retrivex.loading.limits import Allowance
from retrivex.loading.markdown import fenced, make_loaded, timestamp_of
from retrivex.loading.report import Loaded
from retrivex.loading.text import decode, require_text

_HEADING = re.compile(r"^(={1,6})(?=[ \t]+\S)")
_UNDERLINE = re.compile(r"([=\-~^+])\1{2,}[ \t]*$")
_UNDERLINES = "=-~^+"  # of a title over two lines, by level
_ATTRIBUTE = re.compile(r":(!?[\w-]+)!?:(?:[ \t]+(.*))?$")
_CODE = re.compile(r"(-{4,}|\.{4,}|\+{4,}|`{3,}|/{4,})(?:(?<=`)([\w+#.-]+))?[ \t]*$")
_SOURCE = re.compile(r"\[source,[ \t]*([\w+#.-]+)[^\]\n]*\][ \t]*$")
# comments, anchors, and what frames a block; Markdown would read some of them as headings
_GONE = re.compile(r"//|(?:\[\[[^\]\n]*\]\]|={4,}|\*{4,}|_{4,}|--|\+|'''|<<<|toc::\[\])[ \t]*$")
_REFERRING = re.compile(r"(include|ifdef|ifndef|ifeval|endif)::\S*\[.*\][ \t]*$")
_STRUCK = re.compile(
    r"\[[^\]]{0,100}\b(?:line-through|strike(?:through)?|del)\b[^\]]{0,100}\](#{1,2})[^#]{1,300}\1"
    r"|(?:\+{3}|pass:[\w,]{0,9}\[)<(del|s|strike)>.{1,300}?</\2>(?:\+{3}|\])"
)
_NAME = re.compile(r"\{([\w-]{1,100})\}")
_LONGEST_VALUE = 1_000  # characters of an attribute that are put in wherever the text names it
_SHOWN = ("author", "revdate", "date", "description", "keywords", "lang")


def load_asciidoc(raw: bytes, doc_id: str, source: str | None = None) -> Loaded:
    r"""Read AsciiDoc as Markdown; offsets count in that Markdown.

    Attributes (author, revdate) go to the metadata. Files that the text includes are not opened, which leaves a note.

    Raises
    ------
    LoadError
        If it is empty, not text, in an unknown encoding, or its attributes make a far longer text of it.

    Examples
    --------
    >>> text = b"= Bees\n:author: Ann\n\n== Sleep\n\n[source,python]\n----\nsleep(5)\n----\n"
    >>> document = load_asciidoc(text, "bees.adoc").document
    >>> document.text, document.metadata
    ('# Bees\n\n## Sleep\n\n```python\nsleep(5)\n```\n', {'author': 'Ann'})
    """
    decoded = decode(raw)
    attributes: dict[str, str] = {}
    lines, struck = [], 0
    allowance = Allowance(len(raw))
    for line in _markdown_lines(decoded.text, attributes):
        kept, count = (line, 0) if line.startswith("```") else _STRUCK.subn("", line)
        allowance.take(len(kept))
        lines.append(kept)
        struck += count
    text = re.sub(r"\n{3,}", "\n\n", require_text("\n".join(lines)).strip("\n")) + "\n"
    metadata = {name: attributes[name] for name in _SHOWN if attributes.get(name)}
    timestamp = timestamp_of(metadata.get("revdate") or metadata.get("date"))
    followed = len(re.findall(r"^include::", decoded.text, re.MULTILINE))
    notes = [f"left out: {struck:,} struck-out part{'s' * (struck > 1)}"] if struck else []
    notes += [f"not followed: include ({followed})"] if followed else []
    return make_loaded(doc_id, text, source, decoded=decoded, timestamp=timestamp, metadata=metadata, notes=notes)


def _markdown_lines(text: str, attributes: dict[str, str]) -> Iterator[str]:
    """Yield the lines as Markdown, blocks of code as one, and take up attributes."""
    lines = iter(text.splitlines())
    before, language = "", ""
    for line in lines:
        if _is_underline(line, before):
            yield f"{'#' * (_UNDERLINES.index(line[0]) + 1)} {before}"
            before = ""
            continue
        if before:
            yield before
        before = ""
        if found := _CODE.match(line):
            code = _until(found[1], lines)
            if found[1][0] != "/":  # a comment
                yield fenced(code, found[2] or language)
        elif found := _SOURCE.match(line):
            language = found[1]
            continue
        elif found := _ATTRIBUTE.match(line):
            attributes[found[1].lstrip("!")] = found[2] or ""
        elif not line.strip():
            yield ""
        elif not _GONE.match(line) and not _REFERRING.match(line):
            named = _NAME.sub(lambda name: attributes.get(name[1], name[0])[:_LONGEST_VALUE], line)
            before = _HEADING.sub(lambda found: "#" * len(found[1]), named)
        language = ""
    if before:
        yield before


def _until(fence: str, lines: Iterator[str]) -> str:
    return "\n".join(takewhile(lambda line: line.rstrip() != fence, lines))


def _is_underline(line: str, above: str) -> bool:
    return bool(_UNDERLINE.match(line)) and above[:1].isalnum() and abs(len(above) - len(line.rstrip())) <= 1
