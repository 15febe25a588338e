"""Runs the steps of a call against its stores and models, in a thread or in an event loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from retrivex.composer.call import Reply, Request, Steps
from retrivex.composer.tracing import OpenSpan, request_span, set_reply
from retrivex.model.window import Window
from retrivex.rerank.calling import Reranking, RerankRequest
from retrivex.rerank.sentences import SentenceRequest, SentenceScoring
from retrivex.stores.access import ChunkRequest, StoreAccess

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Services:
    """The stores, the reranker and the sentence scorer that answer the requests of a call."""

    stores: StoreAccess
    reranking: Reranking | None
    sentence_scoring: SentenceScoring | None

    def run(self, request: Request) -> Reply:
        """Answer a request."""
        if isinstance(request, RerankRequest):
            return _given(self.reranking).run(request)
        if isinstance(request, SentenceRequest):
            return _given(self.sentence_scoring).run(request)
        return self.stores.run(request)

    async def arun(self, request: Request) -> Reply:
        """Answer a request in an event loop."""
        if isinstance(request, RerankRequest):
            return await _given(self.reranking).arun(request)
        if isinstance(request, SentenceRequest):
            return await _given(self.sentence_scoring).arun(request)
        return await self.stores.arun(request)


def _given(model: T | None) -> T:
    if model is None:
        raise TypeError("the pipeline asked for a model, and there is none")
    return model


def drive(steps: Steps[T], services: Services, span: OpenSpan = None, request: Request | None = None) -> T:
    """Run steps to their end and return what they return.

    Parameters
    ----------
    steps : of a call
    services : answer its requests
    span : of the call
    request : what steps that have begun wait for; None begins them
    """
    try:
        request = next(steps) if request is None else request
        while True:
            with request_span(span, request) as asked:
                reply = services.run(request)
                set_reply(asked, reply)
            request = steps.send(reply)
    except StopIteration as stop:
        made: T = stop.value
        return made


class Begun(Generic[T]):
    """A call that has run up to its first request for chunks, so that a store can be asked for many calls at once.

    Parameters
    ----------
    steps : of the call
    services : answer its requests
    """

    def __init__(self, steps: Steps[T], services: Services) -> None:
        self._steps, self._services = steps, services
        self._request: Request | None = None
        self._made: list[T] = []
        try:
            self._request = next(steps)
            while not isinstance(self._request, ChunkRequest):
                self._request = steps.send(services.run(self._request))
        except StopIteration as stop:
            self._made.append(stop.value)

    @property
    def windows(self) -> tuple[Window, ...]:
        """What the call will ask its chunk store for; nothing where it is done without."""
        return () if self._made or not isinstance(self._request, ChunkRequest) else self._request.windows

    def finish(self, span: OpenSpan = None) -> T:
        """Run the call to its end, once, and return what it returns; `span` is that of the call."""
        return self._made[0] if self._made else drive(self._steps, self._services, span, self._request)


async def adrive(steps: Steps[T], services: Services, span: OpenSpan = None) -> T:
    """Run steps to their end in an event loop and return what they return."""
    try:
        request = next(steps)
        while True:
            with request_span(span, request) as asked:
                reply = await services.arun(request)
                set_reply(asked, reply)
            request = steps.send(reply)
    except StopIteration as stop:
        made: T = stop.value
        return made
