"""Converts HTML pages to Markdown; headings, lists, tables and code keep their structure."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from retrivex.errors import LoadError
from retrivex.loading.html_parts import LeftOut, find_left_out, text_of
from retrivex.loading.html_writer import write_markdown
from retrivex.loading.limits import Allowance
from retrivex.loading.markdown import make_loaded
from retrivex.loading.report import Loaded
from retrivex.loading.text import decode
from retrivex.model.media import MAX_URI, Media, media_metadata

MAX_DEPTH = 1000
"""Deepest nesting of elements that is parsed; browsers stop at 512. The parser's time grows with its square."""

_CHARSET = re.compile(
    rb"""<meta[^>]+charset\s*=\s*["']?\s*([\w.:-]+)|<\?xml[^>]+encoding\s*=\s*["']([\w.:-]+)""", re.IGNORECASE
)
_MARK = re.compile("\ue0f0(\\d+)\ue0f1")
_CHARSET_WINDOW = 1024  # bytes; where the HTML standard looks for it
# What a depth count may skip or must not count: text-only elements, and tags that are closed by what follows.
_TAGS = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|textarea|title|xmp)\b.*?(?:</\1|\Z)|<(/?)([a-z][a-z0-9]*)",
    re.IGNORECASE | re.DOTALL,
)
_NOT_NESTING = (
    "a area base body br button col colgroup dd dt embed head hr html img input li link meta nobr option optgroup p "
    "param rp rt source tbody td tfoot th thead tr track wbr h1 h2 h3 h4 h5 h6"
)
_UNCOUNTED = frozenset(_NOT_NESTING.split())


def load_html(raw: bytes, doc_id: str, source: str | None = None) -> Loaded:
    r"""Read an HTML page as Markdown; offsets count in that Markdown.

    Raises
    ------
    LoadError
        If no text is left, it is nested deeper than `MAX_DEPTH`, its tables or indentation would make a far longer
        text of it, or it is not text.

    Examples
    --------
    >>> loaded = load_html(b"<title>Bees</title><h1>Sleep</h1><p>They <b>do</b> &amp; dream.", "bees.html")
    >>> loaded.document.title, loaded.document.text
    ('Bees', '# Sleep\n\nThey do & dream.\n')
    """
    decoded = decode(raw, declared=_declared_charset(raw))
    tree = _parse(decoded.text)
    text, left_out = _read(tree, len(raw))
    media = media_metadata(_pictures(tree, len(raw), text, left_out))
    if not text.strip():
        raise LoadError("no text is left without its scripts, navigation and hidden parts; leave it out")
    return make_loaded(
        doc_id, text, source, decoded=decoded, title=_title(tree), metadata=media, notes=_notes(left_out)
    )


def html_to_markdown(html: str) -> str:
    """Convert a page or a fragment to Markdown.

    Scripts, styles, navigation, form controls, footers, cookie notices, deleted text and what is marked hidden are
    left out, and so is what stands outside the `<main>` part of a page that has one. Emphasis becomes its text; links
    to pages, lists, tables (`|`), code (fenced) and headings keep their structure. Broken markup is read as a browser
    reads it.

    Raises
    ------
    LoadError
        If elements are nested deeper than `MAX_DEPTH`, or tables or indentation would make a far longer text of it.

    Examples
    --------
    >>> print(html_to_markdown("<ol><li>Wake<ul><li>Stretch</ul><li>Fly</ol>"))
    1. Wake
       - Stretch
    2. Fly
    """
    return read_html(html)[0]


def read_html(html: str) -> tuple[str, tuple[str, ...]]:
    """Convert as `html_to_markdown`, and return a note about what was left out as well."""
    text, left_out = _read(_parse(html), len(html))
    return text, _notes(left_out)


def html_with_pictures(html: str) -> tuple[str, list[Media]]:
    """Convert as `html_to_markdown`, and return the pictures with their places as well."""
    tree = _parse(html)
    text, left_out = _read(tree, len(html))
    return text, _pictures(tree, len(html), text, left_out)


def _read(tree: LexborHTMLParser, size: int) -> tuple[str, LeftOut]:
    if tree.body is None:
        return "", LeftOut(frozenset())
    left_out = find_left_out(tree.body)
    return write_markdown(tree.body, Allowance(size), left_out.nodes), left_out


def _pictures(tree: LexborHTMLParser, size: int, text: str, left_out: LeftOut) -> list[Media]:
    """Return the pictures that stand in the text of a page, with their places.

    The text is written a second time, with a mark in the description of each picture. Both differ in marks and white
    space alone, so that other characters are counted.
    """
    pictures = [] if tree.body is None else tree.body.css("img[src]")
    if not pictures or "\ue0f0" in text:
        return []
    for number, picture in enumerate(pictures):
        picture.attrs["alt"] = f"{picture.attributes.get('alt') or ''}\ue0f0{number}\ue0f1"
    assert tree.body is not None
    marked = write_markdown(tree.body, Allowance(2 * size + 12 * len(pictures)), left_out.nodes)
    offsets = [at for at, letter in enumerate(text) if not letter.isspace()]
    found, seen, end = [], 0, 0
    for mark in _MARK.finditer(marked):
        seen += len("".join(marked[end : mark.start()].split()))
        end = mark.end()
        attributes = pictures[int(mark[1])].attributes
        uri, alt = (attributes["src"] or "").strip(), _MARK.sub("", attributes["alt"] or "").strip()
        # a description stands in front of its mark
        at = offsets[max(0, min(seen, len(offsets)) - 1)] if offsets else 0
        if uri and not uri.startswith("data:") and len(uri) <= MAX_URI:
            found.append(Media(uri, None, " ".join(alt.split())[:500], at))
    return found


def _notes(left_out: LeftOut) -> tuple[str, ...]:
    return (f"left out: {', '.join(left_out.names)}",) if left_out.names else ()


def _parse(html: str) -> LexborHTMLParser:
    _check_depth(html)
    try:
        return LexborHTMLParser(html)
    except SelectolaxError as error:  # any markup can be parsed: what fails is to get memory
        raise MemoryError(f"its markup needs more memory than there is ({error})") from error


def _declared_charset(raw: bytes) -> str | None:
    found = _CHARSET.search(raw[:_CHARSET_WINDOW])
    if found is None:
        return None
    label = (found[1] or found[2]).decode("ascii", errors="replace").lower()
    # A page whose declaration could be read byte by byte is not in UTF-16, whatever it says (HTML standard).
    return "utf-8" if label.startswith("utf-16") else label


def _check_depth(html: str) -> None:
    depth = 0
    for found in _TAGS.finditer(html):
        if found[3] is None or found[3].lower() in _UNCOUNTED:
            continue
        depth = max(0, depth - 1) if found[2] else depth + 1
        if depth > MAX_DEPTH:
            raise LoadError(f"its elements are nested deeper than {MAX_DEPTH}; leave it out, or repair its markup")


def _title(tree: LexborHTMLParser) -> str | None:
    node = tree.head.css_first("title") if tree.head is not None else None
    return (" ".join(text_of(node).split()) or None) if node is not None else None
