"""Converts reStructuredText to Markdown; needs the `rst` extra."""

from __future__ import annotations

import re
from collections import Counter
from html import escape
from typing import Any

from retrivex.errors import LoadError, describe_cause, install_hint
from retrivex.loading.html import html_to_markdown
from retrivex.loading.markdown import make_loaded
from retrivex.loading.report import Loaded
from retrivex.loading.text import decode, require_text

try:
    from docutils import nodes
    from docutils.core import publish_doctree, publish_from_doctree
except ImportError as error:
    raise ImportError(f"reading reStructuredText needs docutils: {install_hint('rst')}") from error

_SETTINGS = {
    "_disable_config": True,  # a file beside the document must not change how it is read
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "report_level": 5,  # errors stand in the tree, where they are read below; nothing is printed
    "halt_level": 6,
    "line_length_limit": 2**31,
    "syntax_highlight": "none",
    "smart_quotes": False,
    "math_output": "LaTeX",
    "doctitle_xform": False,  # a title and a subtitle are headings like others
    "docinfo_xform": False,  # which needs the former
    "initial_header_level": 1,
    "embed_stylesheet": False,
    "stylesheet_path": None,
}
_MAX_DEPTH = 16  # of directives in one another
# roles and directives of Sphinx, which docutils does not know
_ROLE = re.compile(r"^(?::[\w:+.-]+:)?`~?!?(.*?)(?:\s*<[^<>]*>)?`(?::[\w:+.-]+:)?$", re.DOTALL)
_DIRECTIVE = re.compile(r"^\.\. ([\w:+.-]+)::[ \t]*(.*)$", re.MULTILINE)
_OPTION = re.compile(r"^:[\w-]+:(?:\s|$)")
_CODE = frozenset({"code", "code-block", "sourcecode", "parsed-literal", "prompt", "ipython", "doctest", "testcode"})
_LEADS = {
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "seealso": "See also",
}
_STRUCK = re.compile(r"^:(?:strike(?:through)?|line-through|del(?:eted)?|s):`")
_STRUCK_PARTS = "struck-out parts"  # among the directives that are counted; none has a blank in its name
_STRUCK_CLASSES = frozenset({"strike", "strikethrough", "line-through", "del", "deleted"})
# what they show stands elsewhere: in other files, or in a program
_REFERRING = re.compile(
    r"(?:\w+:)?auto\w*|toctree|include|literalinclude|raw|index|currentmodule|py:currentmodule|module|py:module"
    r"|highlight|plot|graphviz|digraph|only|meta|csv-table|bibliography|nbsphinx\S*|tabularcolumns"
)


def load_rst(raw: bytes, doc_id: str, source: str | None = None) -> Loaded:
    r"""Read reStructuredText as Markdown; offsets count in that Markdown.

    Sections are headings, literal blocks are code. Of directives that only Sphinx knows, the content stays; those that
    bring in other files or the documentation of a program are left out, with a note. No file is opened.

    Raises
    ------
    LoadError
        If it is empty, not text, in an unknown encoding, or docutils cannot read it.
    """
    decoded = decode(raw)
    require_text(decoded.text)
    left_out: Counter[str] = Counter()
    try:
        tree = _parse(decoded.text, left_out, 0)
        page = publish_from_doctree(tree, writer="html5", settings_overrides=_SETTINGS)
    except (MemoryError, LoadError):
        raise
    except Exception as error:  # RecursionError, and what directives raise for values that they did not expect
        raise LoadError(f"docutils cannot read it ({describe_cause(error, 200)}); save it as plain text") from error
    text = html_to_markdown(page.decode("utf-8"))
    if not text.strip():
        raise LoadError("it is empty: it holds only comments, targets and directives that show other files")
    struck = left_out.pop(_STRUCK_PARTS, 0)
    notes = [f"left out: {struck:,} struck-out part{'s' * (struck > 1)}"] if struck else []
    if left_out:
        listed = ", ".join(f"{name} ({count})" for name, count in left_out.most_common(5))
        notes.append(f"directives left out: {listed}")
    return make_loaded(doc_id, text, source, decoded=decoded, notes=notes)


def _parse(text: str, left_out: Counter[str], depth: int) -> Any:
    tree = publish_doctree(text, settings_overrides=_SETTINGS)
    for block in list(tree.findall(nodes.literal_block)):
        if isinstance(block.parent, nodes.system_message):
            _replace(block.parent, _contents(block.astext(), left_out, depth))
        else:
            _replace(block, [_code_block(block)])
    for literal in list(tree.findall(nodes.literal)):
        _replace(literal, [_html(f"<code>{escape(literal.astext())}</code>")])
    for kind in list(tree.findall(nodes.classifier)):  # `name : kind` in a list of definitions
        term: Any = kind.parent.children[0]
        term.append(nodes.Text(f" : {kind.astext()}"))
        _replace(kind, [])
    for message in list(tree.findall(nodes.system_message)):
        _replace(message, [])
    for struck in list(tree.findall(_is_struck)):
        left_out[_STRUCK_PARTS] += 1
        _replace(struck, [])
    for problem in list(tree.findall(nodes.problematic)):
        found = _ROLE.match(problem.astext())
        _replace(problem, [nodes.Text(found[1]) if found else nodes.Text(problem.astext())])
    return tree


def _is_struck(node: Any) -> bool:
    if isinstance(node, nodes.problematic):  # of a role that is declared elsewhere
        return _STRUCK.match(node.astext()) is not None
    return isinstance(node, nodes.inline) and not _STRUCK_CLASSES.isdisjoint(node["classes"])


def _replace(node: Any, others: list[Any]) -> None:
    if node.parent is not None:
        node.parent.replace(node, others)


def _contents(directive: str, left_out: Counter[str], depth: int) -> list[Any]:
    """Return the argument and the text of a directive that docutils does not know."""
    found = _DIRECTIVE.match(directive)
    if found is None:
        return [nodes.literal_block(directive, directive)]
    name, argument = found[1], found[2].strip()
    body = _body(directive[found.end() :])
    if name in _CODE:
        block = nodes.literal_block(body, body, classes=["code", argument] if argument else [])
        return [_code_block(block)] if body else []
    if _REFERRING.fullmatch(name) or depth >= _MAX_DEPTH:
        left_out[name] += 1
        return []
    lead = " ".join(filter(None, [_LEADS.get(name), argument]))
    said = [nodes.paragraph(lead, lead)] if lead else []
    return [*said, *(_parse(body, left_out, depth + 1).children if body else [])]


def _body(text: str) -> str:
    """Return the lines of a directive behind its options, without their indentation."""
    lines = text.lstrip("\n").expandtabs(8).split("\n")
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    lines = [line[indent:] for line in lines]
    while lines and (_OPTION.match(lines[0]) or (lines[0].startswith(" ") and lines[0].strip())):
        lines.pop(0)
    return "\n".join(lines).strip("\n")


def _code_block(block: Any) -> Any:
    # written here, as versions of docutils differ in where they say the language
    language = next((name for name in block["classes"] if name != "code"), None)
    named = f' class="language-{escape(language, quote=True)}"' if language else ""
    return _html(f"<pre><code{named}>{escape(block.astext())}</code></pre>")


def _html(markup: str) -> Any:
    return nodes.raw("", markup, format="html")
