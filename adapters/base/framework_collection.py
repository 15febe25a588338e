"""A framework's own vector store as a collection; the client beneath it stays unknown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .collection import Collection, Record, Records, Request, Scopes, Steps
from .documents import Passage
from .fields import FieldMap, MakeId
from .store import VectorChunkStore

Piece = TypeVar("Piece")

BATCH_LIMIT = 1000
"""Most chunks of one request: few stores behind a framework say what they take, and none of them less."""


@dataclass(frozen=True, slots=True)
class Translation(Generic[Piece]):
    """How a framework's store is asked, and its pieces are read.

    Parameters
    ----------
    name : what errors call the store
    ask, aask : send a request through the framework; without `aask` the other is run in a thread
    read : what a Document or node is
    """

    name: str
    ask: Callable[[Any], Iterable[Piece]]
    aask: Callable[[Any], Awaitable[Iterable[Piece]]] | None
    read: Callable[[Piece, FieldMap], Passage]


class FrameworkCollection(Collection):
    """A collection that is accessed through a framework's own store.

    Parameters
    ----------
    translation : how it is asked
    fields : names of its metadata

    Notes
    -----
    Nobody can list the fields of such a store: a filter goes by the first names of document and number.
    """

    batch_limit = BATCH_LIMIT

    def __init__(self, translation: Translation[Any], fields: FieldMap) -> None:
        self.name = translation.name
        self.fields = fields
        self._sync, self._async = translation.ask, translation.aask
        self._translation = translation

    def _steps(self, request: Request) -> Steps[Records]:
        pieces = yield lambda ask: ask(request)
        passages = [self._translation.read(piece, self.fields) for piece in pieces]
        return Records([Record(passage.id or "", {}, passage=passage) for passage in passages])


class FrameworkChunkStore(VectorChunkStore):
    """A chunk store over a framework's own store.

    Parameters
    ----------
    translation : how it is asked
    fields : names of metadata
    make_id, options : see `VectorChunkStore`
    """

    def __init__(
        self, translation: Translation[Any], fields: FieldMap, make_id: MakeId | None = None, **options: Any
    ) -> None:
        super().__init__(FrameworkCollection(translation, fields), make_id=make_id, **options)


def named_scopes(scopes: Scopes, names: FieldMap) -> list[str] | None:
    """Return what a filter can ask for; None where it cannot ask for all that may be seen.

    That a field is missing is nothing that every store can be asked, and several names may hold it.
    """
    named = sorted(scope for scope in scopes if scope is not None)
    return named if named and len(named) == len(scopes) and len(names.scope) == 1 else None
