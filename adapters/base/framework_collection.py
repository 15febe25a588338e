"""A framework's own vector store as a collection; the client beneath it stays unknown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from .collection import ByWindows, Collection, Failure, Record, Records, Request
from .documents import Passage
from .fields import FieldMap

Ask: TypeAlias = Callable[..., Sequence[Passage]]
AAsk: TypeAlias = Callable[..., Awaitable[Sequence[Passage]]]

Names: TypeAlias = tuple[()] | tuple[Sequence[FieldMap]]
"""What `ask` takes beside a request."""

BATCH_LIMIT = 1000
"""Most chunks of one request: few stores behind a framework say what they take, and none of them less."""


class FrameworkCollection(Collection):
    """A collection that is accessed through a framework's own store.

    Parameters
    ----------
    name : what errors call it
    fields : names of its metadata
    ask, aask : send a request through the framework; without `aask` the other is run in a thread
    by_name : whether `ByWindows` comes with a list of FieldMaps, by the names of any of which a filter may find
        document and number

    Notes
    -----
    Errors are those of whichever client is underneath. What is named after a time-out counts as one, what is an
    `OSError` or named after a connection counts as a store that is down, and everything else as a refusal.

    Nobody can list the fields of such a store. With `by_name` a filter goes by the first names of document and number;
    where nothing is found under these, one more request goes by all the others. Those that found something last come
    first. A store in which documents of one question have different names wants a FieldMap for each.
    """

    batch_limit = BATCH_LIMIT

    def __init__(
        self, name: str, fields: FieldMap, ask: Ask, aask: AAsk | None = None, *, by_name: bool = False
    ) -> None:
        self.name = name
        self.fields = fields
        self.is_async = aask is not None
        self._ask = ask
        self._aask = aask
        self._by_name = by_name
        self._known: Names = ()

    def ask(self, request: Request) -> Records:
        """Answer a request, or raise what the framework raises."""
        first, others = self._names(request)
        found = self._ask(request, *first)
        if not found and others:
            first, found = others, self._ask(request, *others)
        return self._records(found, first)

    async def aask(self, request: Request) -> Records:
        """Answer a request through the framework's async method."""
        if self._aask is None:
            return await super().aask(request)
        first, others = self._names(request)
        found = await self._aask(request, *first)
        if not found and others:
            first, found = others, await self._aask(request, *others)
        return self._records(found, first)

    def _names(self, request: Request) -> tuple[Names, Names]:
        """Return the names to go by, and those to go by where nothing is found."""
        if not self._by_name or not isinstance(request, ByWindows):
            return (), ()
        pairs = [
            replace(self.fields, doc_id=(doc,), chunk_id=(n,))
            for doc in self.fields.doc_id
            for n in self.fields.chunk_id
        ]
        first, others = (pairs[:1],), (pairs[1:],)
        if len(pairs) == 1:
            return first, ()
        return (others, first) if self._known == others else (first, others)

    def _records(self, found: Sequence[Passage], names: Names) -> Records:
        if found:
            self._known = names
        return Records([Record(passage.id or "", {}, passage=passage) for passage in found])

    def failure(self, error: Exception) -> Failure:
        """Tell by the kind of the error."""
        kinds = [kind.__name__.lower() for kind in type(error).__mro__]
        if any("timeout" in kind for kind in kinds):
            return "timeout"
        named = any(word in kind for kind in kinds for word in ("connect", "unavailable"))
        return "down" if named or isinstance(error, OSError) else "refused"
