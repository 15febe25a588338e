"""Spans of OpenTelemetry: every step, below the caller's span, with counts and without texts."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler, SamplingResult
from support.strategies import bare, count_words, hits_of, sentences

from retrivex import Chunk, ComposeRequest, SpanComposer, Window
from retrivex.errors import ConfigError

TEN = bare("d", sentences("d", 10))
HITS = hits_of(TEN, {1: 0.9, 5: 0.5, 9: 0.7})
STEPS = {"seeds", "fetch", "expand", "merge", "score", "select", "render"}


class Switch(Sampler):
    """Records in the tests of this file alone, as the provider is that of the whole process."""

    on = False

    def should_sample(self, *args: Any, **more: Any) -> SamplingResult:
        return (ALWAYS_ON if self.on else ALWAYS_OFF).should_sample(*args, **more)

    def get_description(self) -> str:
        return "on in some tests"


SWITCH, RECORDED = Switch(), InMemorySpanExporter()


@pytest.fixture(scope="module", autouse=True)
def _provider() -> None:
    provider = TracerProvider(sampler=SWITCH)
    provider.add_span_processor(SimpleSpanProcessor(RECORDED))
    trace.set_tracer_provider(provider)


@pytest.fixture(autouse=True)
def recorded() -> Iterator[InMemorySpanExporter]:
    RECORDED.clear()
    SWITCH.on = True
    yield RECORDED
    SWITCH.on = False


class StoreWithSpans:
    """A store whose client is instrumented."""

    def fetch(self, windows: Sequence[Window], scope: Any = None) -> list[Chunk]:
        with trace.get_tracer("client").start_as_current_span("client.search"):
            return [TEN[w.doc_id, i] for w in windows for i in range(w.start, w.end) if (w.doc_id, i) in TEN]


def broken(*given: Any) -> Any:
    raise OSError("the moon is made of cheese")


def composer(**more: Any) -> SpanComposer:
    return SpanComposer(tokenizer=count_words, **more)


def children(parent: ReadableSpan) -> list[ReadableSpan]:
    context = parent.context
    assert context is not None
    return [s for s in RECORDED.get_finished_spans() if s.parent is not None and s.parent.span_id == context.span_id]


def only(name: str) -> ReadableSpan:
    (span,) = [span for span in RECORDED.get_finished_spans() if span.name == f"retrivex.{name}"]
    return span


def counts(span: ReadableSpan) -> dict[str, Any]:
    return {name.removeprefix("retrivex."): value for name, value in (span.attributes or {}).items()}


def test_every_step_is_a_span_below_that_of_the_composition() -> None:
    made = composer().compose(HITS, TEN, token_budget=40)
    whole = only("compose")
    assert {span.name.removeprefix("retrivex.") for span in children(whole)} == STEPS
    assert counts(whole) == {
        "spans": len(made.spans), "tokens": made.tokens, "token_budget": 40, "requests": 1, "warnings": 0,
    }  # fmt: skip
    recorded = [(span.name, counts(span)["n_in"], counts(span)["n_out"]) for span in children(whole)]
    assert sorted(recorded) == sorted((f"retrivex.{step.name}", step.n_in, step.n_out) for step in made.trace.steps)


def test_spans_stand_in_time_inside_that_of_the_composition() -> None:
    composer().compose(HITS, TEN)
    whole = only("compose")
    inner = sorted(children(whole), key=lambda span: span.start_time or 0)
    assert [span.name.removeprefix("retrivex.") for span in inner][-4:] == ["merge", "score", "select", "render"]
    # two clocks, which agree to a microsecond or so
    slack = 50_000
    for span in inner:
        assert (whole.start_time or 0) - slack <= (span.start_time or 0) <= (span.end_time or 0)
        assert (span.end_time or 0) <= (whole.end_time or 0) + slack


@pytest.mark.parametrize("call", ["compose", "retrieve", "acompose", "aretrieve"])
def test_what_a_stores_client_records_stands_below_the_request(call: str) -> None:
    made = getattr(composer(), call)(HITS, StoreWithSpans())
    if call.startswith("a"):
        asyncio.run(made)
    assert [span.name for span in children(only("fetch"))] == ["client.search"]
    assert only("fetch") in children(only("compose"))


@pytest.mark.parametrize("workers", [1, 3])
def test_a_batch_is_below_its_callers_span(workers: int) -> None:
    good = ComposeRequest(HITS, StoreWithSpans())
    with trace.get_tracer("app").start_as_current_span("answer"):
        items = composer().compose_batch(
            [good, ComposeRequest(HITS, TEN, overrides={"wndow": 1}), good], max_workers=workers
        )
    (answer,) = [span for span in RECORDED.get_finished_spans() if span.name == "answer"]
    assert children(answer) == [only("compose_batch")]
    calls = children(only("compose_batch"))
    assert [span.name for span in calls] == ["retrivex.compose"] * len(items)
    assert sum(span.status.is_ok for span in calls) == 2
    assert counts(only("compose_batch")) == {"n_in": 3, "n_out": 2}


def test_an_error_ends_the_span_with_its_type_and_no_words_of_it() -> None:
    with pytest.raises(ConfigError):
        composer().compose(HITS, TEN, group_by="the moon is made of cheese", token_budget=-1)
    assert only("compose").status.status_code is trace.StatusCode.ERROR
    assert counts(only("compose")) == {"error.type": "ConfigError"}
    assert not only("compose").events
    assert only("compose").status.description is None


def test_steps_before_an_error_are_recorded() -> None:
    with pytest.raises(Exception, match="cheese"):
        composer().compose(HITS, TEN, order_key=broken, ordering_strategy="custom")
    assert {span.name.removeprefix("retrivex.") for span in children(only("compose"))} == STEPS - {"render"}


@pytest.mark.parametrize("name", ["fetch", "rerank", "sentences"])
def test_a_failed_request_is_an_error_and_the_composition_is_none(name: str) -> None:
    store = type("Broken", (), {"fetch": broken})() if name == "fetch" else TEN
    models = {"rerank": {"reranker": broken}, "sentences": {"sentence_scorer": broken}}.get(name, {})
    made = composer(**models).compose(HITS, store, query="d3")
    assert made.warnings
    assert only(name).status.status_code is trace.StatusCode.ERROR
    assert only("compose").status.is_ok


def test_no_text_is_recorded() -> None:
    composer(reranker=broken).compose(HITS, TEN, query="d1w1?", token_budget=40)
    values = [value for span in RECORDED.get_finished_spans() for value in (span.attributes or {}).values()]
    assert [value for value in values if not isinstance(value, int)] == ["RerankError"]


def test_nobody_records_and_nothing_is_missed() -> None:
    SWITCH.on = False
    assert composer().compose(HITS, TEN).spans
    assert not RECORDED.get_finished_spans()


def test_it_composes_where_opentelemetry_is_not_installed() -> None:
    program = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from retrivex import Chunk, ChunkMetadata, SeedHit, SpanComposer\n"
        "bees = Chunk('Bees live.', ChunkMetadata('bees', 0))\n"
        "made = SpanComposer(tokenizer=len).compose([SeedHit(bees, 0.8)], {bees.key: bees})\n"
        "print(len(made.spans))"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert printed.stdout == "1\n"
