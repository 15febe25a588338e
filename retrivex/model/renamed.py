"""Names of version 0.1.0 under their old paths: they work, and say where they are now."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

MODELS = ("Chunk", "ChunkMetadata", "OrderingStrategy", "RetrievalConfig", "SeedHit", "Span")
"""The names of `retrivex.core.models` of 0.1.0."""


def warn_renamed(old: str, new: str) -> None:
    """Warn the caller of who calls this that something has another name now."""
    warnings.warn(f"{old} is a name of version 0.1.0: write {new}", DeprecationWarning, stacklevel=3)


def renamed(old: str, new: str, names: Iterable[str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module under its old path: its names are those of `new`, each with a warning.

    Parameters
    ----------
    old, new : modules
    names : that the old one had

    Examples
    --------
    >>> get = renamed("retrivex.core", "retrivex", ["Span"])
    >>> with warnings.catch_warnings(record=True, action="always") as heard:
    ...     get("Span").__name__, str(heard[0].message)
    ('Span', 'retrivex.core.Span is a name of version 0.1.0: write retrivex.Span')
    """
    known = frozenset(names)

    def find(name: str) -> Any:
        if name not in known:
            raise AttributeError(f"module {old!r} has no attribute {name!r}")
        warn_renamed(f"{old}.{name}", f"{new}.{name}")
        return getattr(import_module(new), name)

    return find
