"""What the service records as OpenTelemetry: the steps of a composition, and no word of a request."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.examples import run
from support.service_world import make_index

pytestmark = pytest.mark.integration

# in a process of its own, as providers are those of the whole process
PROGRAM = """
from opentelemetry import _logs, trace
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

spans, logs = InMemorySpanExporter(), InMemoryLogRecordExporter()
trace.set_tracer_provider(TracerProvider())
trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(spans))
_logs.set_logger_provider(LoggerProvider())
_logs.get_logger_provider().add_log_record_processor(SimpleLogRecordProcessor(logs))

from starlette.testclient import TestClient
from retrivex.service.app import create_app
from retrivex.service.settings import Settings

app = create_app(Settings(db="index.db", config="options.toml", keys="keys.db"))

async def traced(scope, receive, send):
    with trace.get_tracer("app").start_as_current_span("request"):
        await app(scope, receive, send)

def fail(*_):
    raise KeyError("treasure")

with TestClient(traced, base_url="http://localhost", raise_server_exceptions=False) as client:
    client.post("/v1/query", json={"question": "Where is the treasure?"})
    client.get("/v1/documents", params={"after": "treasure"})
    client.get("/v1/documents", params={"limit": "treasure"})
    client.get("/treasure")
    client.delete("/v1/documents", params={"doc_id": "treasure.md"})
    client.post("/v1/documents", files={"file": ("treasure.md", "Some treasure.")})
    app.state.service.engine.query = fail
    assert client.post("/v1/query", json={"question": "Where?"}).status_code == 500
import json
print(json.dumps([json.loads(span.to_json()) for span in spans.get_finished_spans()]))
print(json.dumps([repr(record.log_record) for record in logs.get_finished_logs()]))
"""


def test_no_word_of_a_request_is_recorded(tmp_path: Path) -> None:
    make_index(tmp_path / "index.db")
    (tmp_path / "options.toml").write_text('tokenizer = "estimate"\n', encoding="utf-8")
    printed = run(PROGRAM, "a service with tracing", tmp_path, warnings="default")
    assert "treasure" not in printed
    spans = json.loads(printed.splitlines()[-2])
    by_id = {span["context"]["span_id"]: span["name"] for span in spans}
    composed = [span for span in spans if span["name"] == "retrivex.compose"]
    assert [by_id[span["parent_id"]] for span in composed] == ["request"]
