"""A canonical form of a chunk: which of two that differ in nothing else comes first."""

from __future__ import annotations

import json
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
        said = json.dumps([getattr(where, name) for name in where.__slots__], sort_keys=True, default=_plain)
    except (TypeError, ValueError, RecursionError):  # whatever comes first is as good as the other
        said = ""
    try:
        vector = "" if chunk.embedding is None else np.asarray(chunk.embedding, dtype=np.float64).tobytes().hex()
    except (TypeError, ValueError, OverflowError):
        vector = ""
    return said, vector


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Set):
        return sorted(map(repr, value))
    kind = type(value)
    try:  # the address of an object says nothing of it
        return kind.__qualname__ if getattr(kind, "__repr__", None) is object.__repr__ else repr(value)
    except Exception:  # noqa: BLE001 - somebody else's code
        return kind.__qualname__
