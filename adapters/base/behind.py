"""Neighbours where the caller names no place for them: the store behind a framework's retriever."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from retrivex.errors import ChunkError, StoreError

from .documents import NumberedChunks, Passage
from .logs import log_once

T = TypeVar("T")

FOUND = "neighbours come from %s, found behind the base retriever"
"""Said once, of a retriever that names no place for them."""

_INNER = ("base_retriever", "retriever", "retrievers", "_retriever", "_retrievers", "_vector_retriever")
"""How retrievers around others call those."""


def retrievers_of(base: Any) -> Iterator[Any]:
    """Return a retriever and those that it asks, the outermost first."""
    waiting, seen = [base], set()
    while waiting:
        retriever = waiting.pop(0)
        if id(retriever) in seen:
            continue
        seen.add(id(retriever))
        yield retriever
        inner = [found for name in _INNER if (found := getattr(retriever, name, None)) is not None]
        waiting += [one for found in inner for one in (found if isinstance(found, (list, tuple)) else [found])]


def is_numbered(hit: Passage) -> bool:
    """Whether the neighbours of a hit can be asked for by document and number."""
    return hit.doc_id is not None and hit.chunk_id is not None


@dataclass
class HeldPieces(Generic[T]):
    """Pieces that a store keeps in this process, numbered anew when they are others than before.

    Parameters
    ----------
    held : the pieces of now, in the order in which they came
    number : a chunk store of them
    """

    held: Callable[[], Sequence[T]]
    number: Callable[[Sequence[T]], NumberedChunks]
    _known: Sequence[T] = field(default=(), repr=False)
    _numbered: NumberedChunks | None = field(default=None, repr=False)

    def chunks(self) -> NumberedChunks | None:
        """Return the chunk store of the pieces of now; None, with a warning, where they cannot be numbered."""
        held = self.held()
        # by identity: pieces may be replaced where they are
        if len(held) != len(self._known) or not all(map(operator.is_, held, self._known)):
            self._known = held
            try:
                self._numbered = self.number(held)
            except (ChunkError, StoreError) as error:
                self._numbered = None
                log_once(f"the pieces behind the retriever give no neighbours: {error}")
        return self._numbered
