"""Reads Markdown files: removes the front matter, finds the title, and keeps the text."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import yaml
from markdown_it import MarkdownIt

from retrivex.loading.data import YAML_LOADER
from retrivex.loading.report import Loaded
from retrivex.loading.text import Decoded, decode, encoding_metadata, notes_of, require_text
from retrivex.model.document import Document

_BLOCK = re.compile(r"(---|\+\+\+)[ \t]*\r?\n(.*?)^(?:\1|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_YAML_LINE = re.compile(r"[\w.-]+[ \t]*:(?:[ \t]|$)|[ \t]|- |-$|#|$")
_PLAIN_LINE = re.compile(r"^([\w.-]+)[ \t]*:[ \t]+([^\s\[{|>&*!#].*?)[ \t]*$")
_MAX_FRONT_MATTER = 64 * 1024  # characters; no list of tags is longer
# a fence is matched to be passed over: what looks like a heading there is none
_FENCE_OR_H1 = re.compile(
    r"""
    ^[ ]{0,3}(?P<fence>`{3,}|~{3,}).*?(?:^[ ]{0,3}(?P=fence)[`~]*[ \t]*$|\Z)
    | ^[ ]{0,3}\#[ \t]+(?P<title>\S[^\n]*)$
    | ^(?![ ]{4}|[ \t]*[\t#>])(?P<above>(?=[ ]*\S)[^\n]++)\n[ ]{0,3}=+[ \t\r]*$
    """,
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
_INLINE = MarkdownIt("commonmark")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The block of `key: value` (YAML) or `key = value` (TOML) lines at the beginning of some Markdown files.

    Parameters
    ----------
    length : code points it takes, closing line and the blank lines after it included; 0 where there is none
    values : its top-level values, as strings and lists of strings; nested values are left out, but for names
    note : what of it could not be read; None where all could
    """

    length: int = 0
    values: Mapping[str, str | list[str]] = field(default_factory=dict)
    note: str | None = None


def read_front_matter(text: str) -> FrontMatter:
    r"""Find the front matter `text` begins with: YAML between lines of `---`, TOML between lines of `+++`.

    YAML is recognised by its lines: a file that merely opens with a rule (`---`) keeps its text.

    Examples
    --------
    >>> found = read_front_matter("---\ntitle: 'Bees'\ntags: [a, b]\n---\n\n# Sleep\n")
    >>> found.length, found.values
    (36, {'title': 'Bees', 'tags': ['a', 'b']})
    >>> read_front_matter("+++\ndate = 2024-05-01\n+++\n").values
    {'date': '2024-05-01'}
    >>> read_front_matter("---\nJust a rule above.\n---\n").length
    0
    """
    found = _BLOCK.match(text, 0, _MAX_FRONT_MATTER)
    if found is None or not found[2].strip():
        return FrontMatter()
    rest = text[found.end() :]
    length = len(text) - len(rest.lstrip("\r\n"))
    if found[1] == "+++":
        try:
            return FrontMatter(length, _values(tomllib.loads(found[2].replace("\r\n", "\n"))))
        except (ValueError, RecursionError):  # TOMLDecodeError is a ValueError
            return FrontMatter(note="its front matter is not valid TOML: it was left in the text")
    lines = found[2].splitlines()
    if not all(_YAML_LINE.match(line) for line in lines):
        return FrontMatter()
    try:
        read = yaml.load(found[2], YAML_LOADER)
    except (yaml.YAMLError, ValueError, RecursionError):
        plain_lines: dict[str, str | list[str]] = {line[1]: line[2] for line in map(_PLAIN_LINE.match, lines) if line}
        return FrontMatter(length, plain_lines, "its front matter is not valid YAML: only its plain lines were read")
    return FrontMatter(length, _values(read)) if isinstance(read, dict) else FrontMatter()


def _values(read: Mapping[str, Any]) -> dict[str, str | list[str]]:
    values: dict[str, str | list[str]] = {}
    for key, value in read.items():
        if isinstance(value, list):
            if names := [name for name in map(_value, value) if name]:
                values[str(key)] = names
        elif name := _value(value):
            values[str(key)] = name
    return values


def _value(value: Any) -> str:
    """Return a value as it is written, of an author with a page or address the name; empty for other nested ones."""
    if isinstance(value, dict):
        value = value.get("name", "")
    if isinstance(value, dict | list):
        return ""
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def first_heading(text: str) -> str | None:
    r"""Return the first level-1 heading of Markdown `text`, as plain text; None without one.

    Examples
    --------
    >>> first_heading("```\n# a comment\n```\n# The *sleep* of `bees` #\n")
    'The sleep of bees'
    """
    for found in _FENCE_OR_H1.finditer(text):
        if title := found["title"] or found["above"]:
            bare = title.rstrip().rstrip("#")  # `# Bees #`
            return plain(bare if bare[-1:].isspace() else title)
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


def fenced(code: str, language: str = "") -> str:
    """Return code in a fence that none of its own ends; empty without any.

    Examples
    --------
    >>> print(fenced("pump.run()", "python"))
    ```python
    pump.run()
    ```
    """
    code = code.strip("\n").rstrip()
    marks = "`" * max(3, 1 + max(map(len, re.findall(r"`+", code)), default=0))
    return f"{marks}{language}\n{code}\n{marks}" if code else ""


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


def make_loaded(
    doc_id: str,
    text: str,
    source: str | None,
    *,
    decoded: Decoded | None = None,
    title: str | None = None,
    timestamp: float | None = None,
    metadata: Mapping[str, Any] | None = None,
    notes: Iterable[str] = (),
) -> Loaded:
    """Return what was read as Markdown; its title is its first level-1 heading unless it is given.

    Parameters
    ----------
    doc_id, text, source, timestamp : of the document
    decoded : how the file was decoded, which metadata and notes say where it was no plain UTF-8
    metadata, notes : further ones
    """
    document = Document(
        doc_id,
        text,
        format="markdown",
        title=title or first_heading(text),
        source=source,
        timestamp=timestamp,
        metadata={**(metadata or {}), **(encoding_metadata(decoded) if decoded else {})},
    )
    return Loaded(document, (*(notes_of(decoded) if decoded else ()), *notes))


def load_markdown(raw: bytes, doc_id: str, source: str | None = None) -> Loaded:
    r"""Read a Markdown file.

    Front matter is cut off, and offsets count in what remains: left in, CommonMark would read its closing line as
    the underline of a heading. `metadata["text_start"]` is the number of code points cut, so that
    `text_start + offset` is the place in the file. Its top-level values become metadata (strings, and lists of them);
    `title` gives the title (else the first level-1 heading does) and `date` the timestamp.

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
    metadata = {**front.values, **({"text_start": front.length} if front.length else {})}
    return make_loaded(
        doc_id,
        text,
        source,
        decoded=decoded,
        title=_single(front, "title"),
        timestamp=timestamp_of(_single(front, "date")),
        metadata=metadata,
        notes=filter(None, [front.note]),
    )


def _single(front: FrontMatter, key: str) -> str | None:
    value = front.values.get(key)
    return value if isinstance(value, str) else None
