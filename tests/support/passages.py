"""Passages that the tests of the reorderer share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def passage(name: str, score: float, text: str | None = None, **metadata: Any) -> dict[str, Any]:
    """A passage as a dictionary; what else is known of it goes into its metadata."""
    return {"id": name, "text": f"Text of {name}." if text is None else text, "score": score, "metadata": metadata}


def ids(passages: Iterable[Any]) -> str:
    """Names in order, for one-letter names."""
    return "".join(str(one["id"]) for one in passages)


FIVE = [passage(name, score) for name, score in zip("abcde", (0.95, 0.85, 0.75, 0.65, 0.55), strict=True)]
"""Best first."""
