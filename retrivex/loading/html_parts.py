"""Finds the parts of an HTML page that are left out: what a reader does not see, and what is not about its subject."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

_NO_TEXT = (
    "script, style, noscript, template, svg, canvas, iframe, object, embed, audio, video, map, "
    "annotation, annotation-xml"
)
_STYLES = ("display:none", "display: none", "visibility:hidden", "visibility: hidden")
# by the name that a note has for them
_PARTS = {
    "navigation": "nav, [role=navigation], [role=search], .skip-link, .skip-to-content",
    "form controls": "button, select, input, textarea, datalist",
    "hidden parts": ", ".join(
        ['[hidden], [aria-hidden="true" i], dialog:not([open])', *(f'[style*="{rule}" i]' for rule in _STYLES)]
    ),
    "deleted text": 'del, s, strike, [style*="line-through" i]',
}
_FOOTERS = "footer, [role=contentinfo], #footer, .footer, .site-footer, .page-footer"
_COOKIE_CANDIDATES = ", ".join(
    f"[{attribute}*={word} i]" for attribute in ("id", "class") for word in ("cookie", "consent", "gdpr")
)
# A section about cookies is named "cookies"; a notice is named as what it is, too.
_COOKIE_NOTICE = re.compile(
    r"(?:cookie|consent|gdpr)s?[-_]?(?:law[-_]?|policy[-_]?|info[-_]?)?"
    r"(?:banner|notice|bar|popup|dialog|modal|overlay|message|wall|box|alert|sdk|container|wrapper)\b",
    re.IGNORECASE,
)
_SECTIONS = frozenset({"article", "section", "main", "blockquote", "figure", "details", "li", "td"})
_MAIN = "main, [role=main]"
_MAIN_SHARE = 0.2  # of the page's text; a smaller <main> is not what its name says


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What is not read of a page.

    Parameters
    ----------
    nodes : `mem_id` of the elements
    names : of their kinds, in the order of the page's reading, for a note
    """

    nodes: frozenset[int]
    names: tuple[str, ...] = ()


def find_left_out(root: LexborNode) -> LeftOut:
    """Return what is left out under `root`; a hidden `root` itself is shown by a script later on, and stays."""
    found = {name: root.css(selector) for name, selector in _PARTS.items()}
    found["cookie notices"] = [node for node in root.css(_COOKIE_CANDIDATES) if _is_cookie_notice(node)]
    found["footers"] = [node for node in root.css(_FOOTERS) if not _lies_in_section(node)]
    nodes = {node.mem_id for node in root.css(_NO_TEXT)}
    names = []
    for name, parts in found.items():
        if _has_text([node for node in parts if node.mem_id != root.mem_id], nodes):
            names.append(name)
        nodes |= {node.mem_id for node in parts} - {root.mem_id}
    outside, has_text = _outside_main(root, frozenset(nodes))
    if has_text:
        names.append("what is outside its main part")
    return LeftOut(frozenset(nodes | {node.mem_id for node in outside}), tuple(names))


def _is_cookie_notice(node: LexborNode) -> bool:
    names = f"{node.attributes.get('id') or ''} {node.attributes.get('class') or ''}"
    return node.tag not in ("html", "body") and _COOKIE_NOTICE.search(names) is not None


def _has_text(parts: Sequence[LexborNode], hidden: Iterable[int]) -> bool:
    known = frozenset(hidden)
    return any(text_of(node, known).strip() for node in parts if node.mem_id not in known)


def text_of(node: LexborNode, hidden: frozenset[int] = frozenset()) -> str:
    """Return the text under `node` as it stands, less the nodes whose `mem_id` is in `hidden`; `<br>` is a newline."""
    pieces: list[str] = []
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if current.is_text_node:
            pieces.append(current.text_content or "")
        elif current.tag == "br":
            pieces.append("\n")
        elif current.mem_id not in hidden:
            child = current.last_child
            while child is not None:
                waiting.append(child)
                child = child.prev
    return "".join(pieces)


def children_of(node: LexborNode) -> list[LexborNode]:
    """Return the nodes right under `node`, texts and comments included."""
    children = []
    child = node.first_child
    while child is not None:
        children.append(child)
        child = child.next
    return children


def _lies_in_section(node: LexborNode) -> bool:
    """Whether a footer belongs to a part of the page, as the source of a quotation does, and not to all of it."""
    parent = node.parent
    while parent is not None and parent.tag not in _SECTIONS:
        parent = parent.parent
    return parent is not None


def _outside_main(root: LexborNode, hidden: frozenset[int]) -> tuple[list[LexborNode], bool]:
    """Return what is beside the main part of a page that has exactly one, and whether that has text.

    The title of the page stays, wherever it stands.
    """
    mains = [node for node in root.css(_MAIN) if node.mem_id not in hidden]
    if len(mains) != 1:
        return [], False
    (main,) = mains
    outside: list[LexborNode] = []
    has_title = main.css_first("h1") is not None
    node = main
    while node.mem_id != root.mem_id and node.parent is not None:
        siblings = [sibling for sibling in children_of(node.parent) if sibling.mem_id != node.mem_id]
        outside += (sibling for sibling in siblings if has_title or not _holds_title(sibling))
        node = node.parent
    length = sum(len(text_of(node, hidden).strip()) for node in outside)
    shown = len(text_of(main, hidden).strip())
    return (outside, length > 0) if shown > 0 and shown >= _MAIN_SHARE * (shown + length) else ([], False)


def _holds_title(node: LexborNode) -> bool:
    return node.is_element_node and (node.tag == "h1" or node.css_first("h1") is not None)
