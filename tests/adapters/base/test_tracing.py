"""Users of a framework get spans of each step, below those of their own program, without a word of their documents."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.examples import run

pytestmark = pytest.mark.integration

STEPS = {"seeds", "fetch", "expand", "merge", "score", "select", "render"}

PROGRAM = """
import asyncio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

spans = InMemorySpanExporter()
trace.set_tracer_provider(TracerProvider())
trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(spans))

def app():
    return trace.get_tracer("app").start_as_current_span("app")
"""

FRAMEWORKS = {
    "langchain_core": """
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from retrivex import RetrievalConfig
from retrivex.adapters.langchain import RetriVexRetriever

class Fixed(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [pieces[1]]

pieces = [
    Document(text, metadata={"source": "zenobia.md", "chunk_index": number})
    for number, text in enumerate(["Zenobia lives in a hive.", "Zenobia lays eggs.", "Zenobia sleeps."])
]
retriever = RetriVexRetriever(Fixed(), RetrievalConfig(tokenizer="estimate"), chunk_store=pieces)
with app():
    assert retriever.invoke("Where is Zenobia?")
async def ask():
    with app():
        assert await retriever.ainvoke("Where is Zenobia?")
asyncio.run(ask())
""",
    "llama_index.core": """
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode
from retrivex import RetrievalConfig
from retrivex.adapters.llamaindex import RetriVexRetriever

class Fixed(BaseRetriever):
    def _retrieve(self, query_bundle):
        return [NodeWithScore(node=pieces[1], score=0.8)]

source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="zenobia.md")}
pieces = [
    TextNode(id_=str(number), text=text, metadata={"chunk_index": number}, relationships=dict(source))
    for number, text in enumerate(["Zenobia lives in a hive.", "Zenobia lays eggs.", "Zenobia sleeps."])
]
retriever = RetriVexRetriever(Fixed(), RetrievalConfig(tokenizer="estimate"), chunk_store=pieces)
with app():
    assert retriever.retrieve("Where is Zenobia?")
async def ask():
    with app():
        assert await retriever.aretrieve("Where is Zenobia?")
asyncio.run(ask())
""",
}

PRINT = """
import json
print(json.dumps([json.loads(span.to_json()) for span in spans.get_finished_spans()]))
"""


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_retriever_of_a_framework_records_each_step_below_the_callers_span(framework: str) -> None:
    pytest.importorskip(framework, exc_type=ImportError)
    printed = run(PROGRAM + FRAMEWORKS[framework] + PRINT, framework, warnings="default")
    spans: list[dict[str, Any]] = json.loads(printed.splitlines()[-1])
    named = {span["context"]["span_id"]: span for span in spans}
    own = [span for span in spans if span["name"].startswith("retrivex.")]
    whole = [span for span in own if span["name"] == "retrivex.compose"]
    assert len(whole) == 2  # one of a thread, one of an event loop
    for compose in whole:
        assert named[compose["parent_id"]]["name"] == "app"
        below = [span["name"] for span in own if span["parent_id"] == compose["context"]["span_id"]]
        assert set(below) == {f"retrivex.{step}" for step in STEPS}
    assert "Zenobia" not in json.dumps(own)
    assert "zenobia" not in json.dumps(own)
