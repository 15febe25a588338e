"""Runs the steps of a call against its stores and models, in a thread or in an event loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from retrivex.composer.call import Reply, Request, Steps
from retrivex.composer.tracing import OpenSpan, request_span, set_reply
from retrivex.rerank.calling import Reranking, RerankRequest
from retrivex.rerank.sentences import SentenceRequest, SentenceScoring
from retrivex.stores.access import StoreAccess

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


def drive(steps: Steps[T], services: Services, span: OpenSpan = None) -> T:
    """Run steps to their end and return what they return; `span` is that of the call."""
    try:
        request = next(steps)
        while True:
            with request_span(span, request) as asked:
                reply = services.run(request)
                set_reply(asked, reply)
            request = steps.send(reply)
    except StopIteration as stop:
        made: T = stop.value
        return made


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
