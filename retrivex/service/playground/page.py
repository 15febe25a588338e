"""The files of the page: one by one for a service, or as a single file that opens on a recorded answer."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from retrivex.model.serialization import escape_halves

STATIC = Path(__file__).with_name("static")
"""The folder of the page's files, with `index.html` among them."""

_STYLE = "page.css"
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([\w.]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_LAST_EXPORT = re.compile(r"export\{([^}]*)\};?\s*$")  # as minifiers write it


@cache
def read_files() -> Mapping[str, bytes]:
    """Return every file of the page by its name."""
    return {file.name: file.read_bytes() for file in STATIC.iterdir()}


def write_recording(view: Mapping[str, Any]) -> str:
    """Return one HTML file that shows a recorded answer, with no service and nothing from elsewhere.

    Parameters
    ----------
    view : as `write_view` returns it
    """
    style, script = read_files()[_STYLE].decode(), bundle_modules("app.js")
    question = str(view["answers"][0]["question"])
    policy = f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data:"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}; base-uri 'none'; form-action 'none'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
        f"<title>{html.escape(question)} - RetriVex</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<div id="app"><noscript>This page needs JavaScript.</noscript></div>\n'
        f'<script type="application/json" id="recorded">{write_safe_json(view)}</script>\n'
        f'<script type="module">{script}</script>\n<!--\n{_read_licences()}\n-->\n</body>\n</html>\n'
    )


def write_safe_json(value: Any) -> str:
    r"""Return JSON that a page can carry: no text in it can end the element that holds it, or begin another.

    Examples
    --------
    >>> write_safe_json({"text": "</script><!--"})
    '{"text":"\\u003c/script\\u003e\\u003c!--"}'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return escape_halves(text)


def bundle_modules(entry: str) -> str:
    """Return a module and all that it imports as one script: each module a function of its own, in the order of need.

    Parameters
    ----------
    entry : name of a file of the page
    """
    found: dict[str, str] = {}
    _collect(entry, found)
    return "\n".join(found.values())


def _collect(name: str, found: dict[str, str]) -> None:
    """Put a module behind those that it imports, which therefore must not import it."""
    source = read_files()[name].decode()
    for needed in dict.fromkeys(match[2] for match in _IMPORT.finditer(source)):
        if needed not in found:
            _collect(needed, found)
    exported = {public: public for public in _EXPORT.findall(source)}
    if last := _LAST_EXPORT.search(source):
        pairs = [pair.split(" as ") for pair in last[1].split(",")]
        exported = {public: own for own, public in pairs}
    body = _LAST_EXPORT.sub("", _EXPORT.sub("", _IMPORT.sub(_read_module, source)))
    returned = ", ".join(f"{public}: {own}" for public, own in exported.items())
    found[name] = f"const {_variable(name)} = (() => {{\n{body}\nreturn {{ {returned} }};\n}})();"


def _read_module(found: re.Match[str]) -> str:
    return f"const {found[1]} = {_variable(found[2])};"


def _variable(name: str) -> str:
    return "module_" + re.sub(r"\W", "_", name)


def _read_licences() -> str:
    """Return the licences of what is vendored: a recording is a copy of it, and goes from hand to hand."""
    texts = (text.decode().strip() for name, text in sorted(read_files().items()) if name.startswith("LICENSE-"))
    return "\n\n".join(texts)


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
