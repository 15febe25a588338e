"""Runs the steps of a call against its stores and reranker, in a thread or in an event loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from retrivex.composer.call import Reply, Request, Steps
from retrivex.rerank.calling import Reranking, RerankRequest
from retrivex.stores.access import StoreAccess

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Services:
    """The stores and the reranker that answer the requests of a call."""

    stores: StoreAccess
    reranking: Reranking | None

    def run(self, request: Request) -> Reply:
        """Answer a request."""
        if not isinstance(request, RerankRequest):
            return self.stores.run(request)
        return self._reranker().run(request)

    async def arun(self, request: Request) -> Reply:
        """Answer a request in an event loop."""
        if not isinstance(request, RerankRequest):
            return await self.stores.arun(request)
        return await self._reranker().arun(request)

    def _reranker(self) -> Reranking:
        if self.reranking is None:
            raise TypeError("the pipeline asked for a reranker, and there is none")
        return self.reranking


def drive(steps: Steps[T], services: Services) -> T:
    """Run steps to their end and return what they return."""
    try:
        request = next(steps)
        while True:
            request = steps.send(services.run(request))
    except StopIteration as stop:
        made: T = stop.value
        return made


async def adrive(steps: Steps[T], services: Services) -> T:
    """Run steps to their end in an event loop and return what they return."""
    try:
        request = next(steps)
        while True:
            request = steps.send(await services.arun(request))
    except StopIteration as stop:
        made: T = stop.value
        return made
