"""The vector stores that commands can open, by name."""

from __future__ import annotations

from enum import StrEnum

from retrivex.adapters import STORES


class StoreKind(StrEnum):
    """The vector stores that a command can open: the rows of `retrivex.adapters.STORES`."""

    vars().update((row.name.upper(), row.name) for row in STORES)
