"""OpenTelemetry spans of a composition, where `opentelemetry-api` is installed and an application records them.

They carry counts, times and the types of errors, and no text: neither of documents nor of questions. A composition is
a span; each request to a store or a model is one while it lasts, so that what a store's client records stands below
it; the steps between them become spans from what the log has measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter, time_ns
from typing import TypeAlias

from retrivex.composer.call import Reply, Request
from retrivex.composition.composition import Composition
from retrivex.composition.trace import Log
from retrivex.errors import StoreError
from retrivex.rerank.calling import RerankRequest
from retrivex.rerank.sentences import SentenceReply, SentenceRequest
from retrivex.stores.access import ChunkReply, ChunkRequest, ParentReply
from retrivex.version import __version__

try:
    from opentelemetry import trace
except ImportError:
    _TRACER: trace.Tracer | None = None
else:
    _TRACER = trace.get_tracer("retrivex", __version__)

OpenSpan: TypeAlias = "trace.Span | None"
"""A span that somebody records; None where nobody does."""

_REQUESTS = frozenset({"fetch", "siblings", "parents", "rerank", "sentences"})
"""Steps of the log that are requests, and have been spans."""


@contextmanager
def open_span(name: str) -> Iterator[OpenSpan]:
    """Make a span the current one for as long as something takes; an error ends it with the error's type."""
    if _TRACER is None:
        yield None
        return
    # a message may quote a document or a question
    with _TRACER.start_as_current_span(name, record_exception=False, set_status_on_exception=False) as span:
        try:
            yield span if span.is_recording() else None
        except BaseException as error:
            _set_error(span, type(error))
            raise


@contextmanager
def request_span(parent: OpenSpan, request: Request) -> Iterator[OpenSpan]:
    """Make a span for a request to a store or a model, below one that is recorded."""
    if parent is None:
        yield None
        return
    with open_span(f"retrivex.{_name(request)}") as span:
        set_counts(span, n_in=_count_asked(request))
        yield span


def set_reply(span: OpenSpan, reply: Reply) -> None:
    """Add to the span of a request how many things came back, or that it failed and composing goes on without."""
    if span is None:
        return
    set_counts(span, n_out=_count_answered(reply))
    if reply.problem is not None:
        _set_error(span, StoreError if isinstance(reply.problem, str) else type(reply.problem))


@contextmanager
def step_spans(parent: OpenSpan, log: Log) -> Iterator[None]:
    """Add the steps that a log measures meanwhile as spans below `parent`; after an error those that were done."""
    try:
        yield
    finally:
        if parent is not None and _TRACER is not None:
            _add_steps(_TRACER, log)


def set_result(span: OpenSpan, made: Composition) -> Composition:
    """Add to the span of a composition what it holds, and return it."""
    if span is not None:
        set_counts(
            span,
            spans=len(made.spans),
            tokens=made.tokens,
            token_budget=made.token_budget,
            requests=made.trace.requests,
            warnings=len(made.warnings),
        )
    return made


def set_counts(span: OpenSpan, **counts: int) -> None:
    """Add counts to a span, each as `retrivex.<name>`."""
    if span is not None:
        for name, count in counts.items():
            span.set_attribute(f"retrivex.{name}", count)


def _add_steps(tracer: trace.Tracer, log: Log) -> None:
    began, origin = log.began, time_ns() - int(perf_counter() * 1e9)
    for step in log.steps:
        ended = began + step.microseconds / 1e6
        if step.name not in _REQUESTS:
            span = tracer.start_span(f"retrivex.{step.name}", start_time=origin + int(began * 1e9))
            set_counts(span, n_in=step.n_in, n_out=step.n_out)
            span.end(origin + int(ended * 1e9))
        began = ended


def _name(request: Request) -> str:
    if isinstance(request, ChunkRequest):
        return "fetch"
    if isinstance(request, RerankRequest):
        return "rerank"
    return "sentences" if isinstance(request, SentenceRequest) else "parents"


def _count_asked(request: Request) -> int:
    if isinstance(request, ChunkRequest):
        return len(request.windows)
    return len(request.texts if isinstance(request, RerankRequest | SentenceRequest) else request.parent_ids)


def _count_answered(reply: Reply) -> int:
    if isinstance(reply, ChunkReply):
        return len(reply.chunks)
    if isinstance(reply, ParentReply):
        return len(reply.parents)
    if isinstance(reply, SentenceReply):
        return sum(map(len, reply.sentences or ()))
    return 0 if reply.scores is None else len(reply.scores)


def _set_error(span: trace.Span, kind: type[BaseException]) -> None:
    span.set_attribute("error.type", kind.__qualname__)
    span.set_status(trace.StatusCode.ERROR)
