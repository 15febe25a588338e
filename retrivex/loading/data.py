"""Reads JSON and YAML files as Markdown: keys become headings, plain values lines, lists of records tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from retrivex.errors import LoadError
from retrivex.loading.limits import Allowance
from retrivex.loading.report import Loaded
from retrivex.loading.tables import Cell, pipe_table
from retrivex.loading.text import decode, encoding_metadata, notes_of, require_text
from retrivex.model.document import Document

MAX_DEPTH = 100
"""Deepest nesting that is written."""

YAML_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""Reads values as they are written: `1.10` is no number, `no` no truth value, and no tag makes an object."""

_DEEPEST_HEADING = 6
_MAX_CELL = 100  # characters; longer values are read better as lines than in a table
_MAX_COLUMNS = 12
_MAX_LINE = 200  # characters of a list that stands on one line
_NAMES = ("title", "name", "id", "key")  # what a record is called by


def load_json(raw: bytes, doc_id: str, source: str | None = None) -> Loaded:
    r"""Read a JSON file as Markdown; offsets count in that Markdown. Numbers stay as they are written.

    Raises
    ------
    LoadError
        If it is empty, no JSON, nested deeper than `MAX_DEPTH`, or would make a far longer text.

    Examples
    --------
    >>> print(load_json(b'{"pump": {"size": 1.10, "seals": ["a", "b"]}}', "pump.json").document.text)
    # pump
    <BLANKLINE>
    - size: 1.10
    - seals: a, b
    <BLANKLINE>
    """
    decoded = decode(raw)
    text = require_text(decoded.text)
    try:
        value = json.loads(text, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        lines = "; if each line is an object of its own, call it .jsonl" if error.msg == "Extra data" else ""
        raise LoadError(f"it is not valid JSON ({error}): correct it{lines}") from error
    except RecursionError:
        raise LoadError(f"it is nested deeper than {MAX_DEPTH}: flatten it") from None
    document = _document(value, raw, doc_id, source, encoding_metadata(decoded))
    return Loaded(document, notes_of(decoded))


def load_yaml(raw: bytes, doc_id: str, source: str | None = None) -> Loaded:
    r"""Read a YAML file as Markdown; offsets count in that Markdown. Comments are left out, with a note.

    Raises
    ------
    LoadError
        If it is empty, no YAML, nested deeper than `MAX_DEPTH`, or its aliases would make a far longer text of it.

    Examples
    --------
    >>> print(load_yaml(b"pump:\n  size: 1.10\n  sealed: no\n", "pump.yaml").document.text)
    # pump
    <BLANKLINE>
    - size: 1.10
    - sealed: no
    <BLANKLINE>
    """
    decoded = decode(raw)
    text = require_text(decoded.text)
    try:
        values = list(yaml.load_all(text, YAML_LOADER))
    except (yaml.YAMLError, ValueError) as error:
        said = " ".join(str(error).split()).replace(' in "<unicode string>",', ":")
        raise LoadError(f"it is not valid YAML ({said}): correct it") from error
    except RecursionError:
        raise LoadError(f"it is nested deeper than {MAX_DEPTH}: flatten it") from None
    value = values[0] if len(values) == 1 else values
    document = _document(value, raw, doc_id, source, encoding_metadata(decoded))
    return Loaded(document, (*notes_of(decoded), *(("left out: comments",) if _has_comments(text) else ())))


def _has_comments(text: str) -> bool:
    """Whether a `#` stands between the tokens of a YAML text: one within a value is none of a comment."""
    end = 0
    for token in yaml.scan(text, YAML_LOADER):
        if "#" in text[end : token.start_mark.index]:
            return True
        end = max(end, token.end_mark.index)
    return "#" in text[end:]


def _document(value: Any, raw: bytes, doc_id: str, source: str | None, metadata: Mapping[str, Any]) -> Document:
    allowance = Allowance(len(raw))
    blocks = []
    for block in _blocks(value, (), allowance):
        allowance.take(len(block) + 2)
        blocks.append(block)
    text = "\n\n".join(blocks).encode("utf-8", errors="replace").decode("utf-8")
    if not text.strip():
        raise LoadError("it is empty: there is no text to index")
    title = value.get("title") if isinstance(value, dict) else None
    return Document(
        doc_id,
        f"{text}\n",
        format="markdown",
        title=(_line(title) or None) if isinstance(title, str) else None,
        source=source,
        metadata=metadata,
    )


def _blocks(value: Any, path: tuple[str, ...], allowance: Allowance) -> Iterator[str]:
    """Yield the blocks of Markdown that say `value`: of a mapping the plain values first, as they have no heading."""
    if len(path) > MAX_DEPTH:
        raise LoadError(f"it is nested deeper than {MAX_DEPTH}: flatten it")
    if isinstance(value, dict):
        plain = [f"- {_line(str(key))}: {_text(item)}".rstrip() for key, item in value.items() if _is_plain(item)]
        if plain:
            yield "\n".join(plain)
        sections = [(_line(str(key)), item) for key, item in value.items() if not _is_plain(item)]
    elif not isinstance(value, list):
        if text := _scalar(value):
            yield text
        return
    elif all(map(_is_plain, value)):
        yield "\n".join(f"- {_text(item)}" for item in value)
        return
    elif rows := _table(value):
        yield pipe_table(rows, Allowance(allowance.size))
        return
    else:
        sections = [(_name(item) or str(number), item) for number, item in enumerate(value, start=1)]
    for name, item in sections:
        below = (*path, name)
        level = min(len(below), _DEEPEST_HEADING)
        yield f"{'#' * level} {' / '.join(below[level - 1 :]) or '-'}"
        yield from _blocks(item, below, allowance)


def _is_plain(value: Any) -> bool:
    """Whether a value fits behind its key."""
    if isinstance(value, list):
        is_flat = not any(isinstance(item, dict | list) for item in value)
        return is_flat and sum(len(_scalar(item)) for item in value) <= _MAX_LINE
    return not isinstance(value, dict) or not value


def _text(value: Any) -> str:
    return ", ".join(map(_scalar, value)) if isinstance(value, list) else _scalar(value).replace("\n", "\n  ")


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return "\n".join(filter(None, map(str.rstrip, value.splitlines())))
    return "" if isinstance(value, dict | list) else json.dumps(value)


def _line(text: str) -> str:
    return " ".join(text.split())


def _name(record: Any) -> str:
    """Return what a record calls itself by; empty where it does not."""
    named = (record.get(key) for key in _NAMES) if isinstance(record, dict) else ()
    return next((_line(name) for name in named if isinstance(name, str) and 0 < len(name) <= _MAX_CELL), "")


def _table(records: Sequence[Any]) -> list[list[Cell]]:
    """Return the rows of records with short plain values and few keys; none for other lists."""
    if not all(isinstance(record, dict) and record for record in records):
        return []
    keys = list(dict.fromkeys(key for record in records for key in record))
    values = [value for record in records for value in record.values()]
    is_regular = len(keys) <= _MAX_COLUMNS and 2 * len(values) > len(keys) * len(records)
    if not is_regular or not all(map(_is_cell, values)):
        return []
    rows = [[Cell(_line(_text(record.get(key, "")))) for key in keys] for record in records]
    return [[Cell(_line(str(key))) for key in keys], *rows]


def _is_cell(value: Any) -> bool:
    return _is_plain(value) and len(_text(value)) <= _MAX_CELL
