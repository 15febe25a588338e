"""One call for common cases; for event loops and streams use the presets of the same names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from retrivex.reorder.reorderer import Reorderer

T = TypeVar("T")


def reorder_for_docs_qa(passages: Iterable[T], query: str | None = None, **knobs: Any) -> list[T]:
    """Order passages for a question to documents: by its type, near-duplicates left out, bad values mended.

    Parameters
    ----------
    passages, query : as in `Reorderer.reorder`
    knobs : any of `ReorderOptions`, on top of preset `docs_qa`

    Examples
    --------
    >>> texts = ["Bees sleep in winter.", "A hive has one queen."]
    >>> passages = [{"id": i, "text": text, "score": 0.5 + i / 10} for i, text in enumerate(texts)]
    >>> [passage["id"] for passage in reorder_for_docs_qa(passages, "Who rules a hive?")]
    [1, 0]
    """
    return Reorderer.preset("docs_qa", **knobs).reorder(passages, query)


def reorder_for_chat_history(passages: Iterable[T], query: str | None = None, **knobs: Any) -> list[T]:
    """Order turns or memories of a conversation: the most relevant at the edges, bad values mended.

    Parameters
    ----------
    passages, query : as in `Reorderer.reorder`
    knobs : any of `ReorderOptions`, on top of preset `chat_history`
    """
    return Reorderer.preset("chat_history", **knobs).reorder(passages, query)


def reorder_for_logs(passages: Iterable[T], query: str | None = None, **knobs: Any) -> list[T]:
    """Order events: newest first, bad values mended.

    Parameters
    ----------
    passages, query : as in `Reorderer.reorder`
    knobs : any of `ReorderOptions`, on top of preset `logs`
    """
    return Reorderer.preset("logs", **knobs).reorder(passages, query)
