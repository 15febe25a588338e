"""The links of a document to other documents, as chunks have them."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote, urldefrag, urljoin

from retrivex.model.document import Document

MAX_NAME = 1000
"""Longest name of a document that is linked, in characters."""

# Code is matched to be passed over: what looks like a link there is none.
_LINK_OR_CODE = re.compile(
    r"""
    ^[ \t>]*(?P<fence>`{3,}|~{3,}).*?(?:^[ \t>]*(?P=fence)|\Z)
    | (?P<ticks>`+)(?!`)[^\n]{0,500}?(?<!`)(?P=ticks)(?!`)
    | (?:\]\( | ^[ ]{0,3}\[[^\]\n]{1,500}\]:) [ \t]* (?:<(?P<quoted>[^<>\n]+)> | (?P<target>[^\s<>()]+))
    """,
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")


def has_links(document: Document) -> bool:
    """Whether `document_links` may find any in a document."""
    return document.format == "markdown" and ("](" in document.text or "]:" in document.text)


def document_links(document: Document) -> list[tuple[int, str]]:
    """Return the links of a Markdown document to documents beside it, as offset and `doc_id`, ascending.

    A target is a path from the folder of the document that links, one with a slash in front a path from the folder that
    was given to the loader; where documents are named by their address, a target is an address, too. Other addresses of
    the web, links within the document and what stands in code are left out.

    Examples
    --------
    >>> page = Document("docs/bees.md", "See [food](food.md#nectar), [home](../index.md).", format="markdown")
    >>> document_links(page)
    [(9, 'docs/food.md'), (33, 'index.md')]
    """
    if not has_links(document):
        return []
    found = []
    for match in _LINK_OR_CODE.finditer(document.text):
        target = match["quoted"] or match["target"]
        doc_id = resolve_target(target, document.doc_id) if target else None
        if doc_id is not None:
            found.append((match.start(), doc_id))
    return found


def resolve_target(target: str, doc_id: str) -> str | None:
    """Return the document that a target names; None where it is another thing."""
    if _ADDRESS.match(doc_id):
        try:
            address = urldefrag(urljoin(doc_id, target)).url
        except ValueError:  # a bracket that is not closed
            return None
        return None if not address.startswith("http") or address == doc_id or len(address) > MAX_NAME else address
    if _ADDRESS.match(target):
        return None
    path = unquote(re.split(r"[#?]", target, maxsplit=1)[0])
    if not path:
        return None
    folder = "" if path.startswith("/") else posixpath.dirname(doc_id)
    name = posixpath.normpath(posixpath.join(folder, path.lstrip("/")))
    is_outside = name.startswith("..") or name == "."
    return None if is_outside or name == doc_id or len(name) > MAX_NAME else name
