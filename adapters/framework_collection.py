"""A store that a framework wraps, as a collection: what is asked of it is known, the client under it is not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias

from .collection import Collection, Failure, Record, Records, Request
from .documents import Passage
from .fields import FieldMap

Ask: TypeAlias = Callable[[Request], Sequence[Passage]]
AAsk: TypeAlias = Callable[[Request], Awaitable[Sequence[Passage]]]

BATCH_LIMIT = 1000
"""Most chunks of one request: few stores behind a framework say what they take, and none of them less."""


class FrameworkCollection(Collection):
    """A framework's own store.

    Parameters
    ----------
    name : what errors call it
    fields : names of its metadata
    ask, aask : send a request through the framework; without `aask` the other is run in a thread

    Notes
    -----
    Errors are those of whichever client is underneath. What is named after a time-out counts as one, what is an
    `OSError` or named after a connection counts as a store that is down, and everything else as a refusal.
    """

    batch_limit = BATCH_LIMIT

    def __init__(self, name: str, fields: FieldMap, ask: Ask, aask: AAsk | None = None) -> None:
        self.name = name
        self.fields = fields
        self.is_async = aask is not None
        self._ask = ask
        self._aask = aask

    def ask(self, request: Request) -> Records:
        """Answer a request, or raise what the framework raises."""
        return _records(self._ask(request))

    async def aask(self, request: Request) -> Records:
        """Answer a request through the framework's async method."""
        if self._aask is None:
            return await super().aask(request)
        return _records(await self._aask(request))

    def failure(self, error: Exception) -> Failure:
        """Tell by the kind of the error."""
        kinds = [kind.__name__.lower() for kind in type(error).__mro__]
        if any("timeout" in kind for kind in kinds):
            return "timeout"
        named = any(word in kind for kind in kinds for word in ("connect", "unavailable"))
        return "down" if named or isinstance(error, OSError) else "refused"


def _records(passages: Iterable[Passage]) -> Records:
    return Records([Record(passage.id or "", {}, passage=passage) for passage in passages])
