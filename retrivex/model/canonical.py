"""A canonical form of a chunk: which of two that differ in nothing else comes first."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from retrivex.model.chunk import Chunk


def canonical_form(chunk: Chunk) -> tuple[str, str]:
    """Return metadata and embedding as texts that are equal, and sort alike, for equal chunks.

    Values of other types than JSON's, `repr` permitting, sort by it.

    Examples
    --------
    >>> from retrivex.model.chunk import ChunkMetadata
    >>> metadata = ChunkMetadata("d", 0, custom_metadata={"a": 1, "b": (2,)}), ChunkMetadata("d", 0, links=[("e", 1)])
    >>> again = ChunkMetadata("d", 0, custom_metadata={"b": [2], "a": 1})
    >>> first, second, third = (canonical_form(Chunk("Bees.", where)) for where in (*metadata, again))
    >>> first == third, first == second
    (True, False)
    """
    where = chunk.metadata
    try:
        return _plain([getattr(where, name) for name in where.__slots__]), _numbers(chunk.embedding)
    except RecursionError:  # nobody nests metadata so deep; whatever comes first is as good as the other
        return "", ""


def _plain(value: Any) -> str:
    match value:
        case str():
            return repr(value)
        case bool() | None:
            return f"{value}"
        case int():
            return hex(value)  # as decimals, Python writes only so many
        case Mapping():
            items = sorted((_plain(name), _plain(item)) for name, item in value.items())
            return f"{{{', '.join(f'{name}: {item}' for name, item in items)}}}"
        case Set():
            return f"{{{', '.join(sorted(map(_plain, value)))}}}"
        case list() | tuple():
            return f"[{', '.join(map(_plain, value))}]"
    kind = type(value)
    if getattr(kind, "__repr__", None) is object.__repr__:  # the address of an object says nothing of it
        return kind.__qualname__
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - somebody else's code
        return kind.__qualname__


def _numbers(vector: Any) -> str:
    if vector is None:
        return ""
    try:
        numbers = np.asarray(vector, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return _plain(vector)
    return f"{numbers.shape} {numbers.tobytes().hex()}"
