"""Neighbours where the caller names no place for them: the store behind a framework's retriever."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from retrivex.errors import ChunkError, StoreError

from .documents import NumberedChunks, Passage
from .logs import log_once

T = TypeVar("T")

FOUND = "neighbours come from %s, found behind the base retriever"
"""Said once, of a retriever that names no place for them."""


def leaves_of(base: Any, inner: Mapping[str, str], drops: Callable[[Any], bool] = lambda _: False) -> list[Any]:
    """Return the retrievers that search for another one.

    Parameters
    ----------
    base : the outermost retriever
    inner : by `kind_of` of retrievers that ask others and keep none of their results back: where those are
    drops : whether one of these keeps results back after all
    """
    waiting, leaves = [base], []
    for retriever in waiting:  # which grows
        asked = None if drops(retriever) else getattr(retriever, inner.get(kind_of(retriever), ""), None)
        if asked is None:
            leaves.append(retriever)
        else:
            waiting += [one for one in (asked if isinstance(asked, list) else [asked]) if one not in waiting]
    return leaves


def kind_of(retriever: object) -> str:
    """Return the name of a framework's own class, with its package: one derived from it may keep results back."""
    kind = type(retriever)
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}"


def is_numbered(hit: Passage) -> bool:
    """Whether the neighbours of a hit can be asked for by document and number."""
    return hit.doc_id is not None and hit.chunk_id is not None


class HeldPieces(Generic[T]):
    """Pieces that a store keeps in this process, numbered anew when they are others than before. Safe for threads.

    Parameters
    ----------
    held : the pieces of now, in the order in which they came
    number : a chunk store of them
    """

    def __init__(self, held: Callable[[], Sequence[T]], number: Callable[[Sequence[T]], NumberedChunks]) -> None:
        self._held = held
        self._number = number
        self._known: tuple[Sequence[T], NumberedChunks | None] = ((), None)
        self._lock = threading.Lock()

    def chunks(self) -> NumberedChunks | None:
        """Return the chunk store of the pieces of now; None, with a warning, where they cannot be numbered."""
        with self._lock:  # who comes second waits for the numbers of the first
            held = self._held()
            known, numbered = self._known
            # by identity: pieces may be replaced where they are
            if len(held) != len(known) or not all(map(operator.is_, held, known)):
                numbered = self._numbered(held)
                self._known = (held, numbered)
            return numbered

    def _numbered(self, held: Sequence[T]) -> NumberedChunks | None:
        try:
            return self._number(held)
        except (ChunkError, StoreError) as error:
            log_once(f"the pieces behind the retriever give no neighbours: {error}")
            return None
