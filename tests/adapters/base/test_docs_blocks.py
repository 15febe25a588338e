"""Every block of the pages on frameworks and stores runs, over stand-ins for what is the reader's, or says its needs.

The programs of all other pages that need a framework run here, too, as they are; those of a page of `docs/start` and
`docs/learn` one after another, as a reader pastes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.examples import PAGES, ROOT, SESSIONS, read_session, run

from retrivex.adapters import FRAMEWORKS, STORES

_HOWTO = ROOT / "docs" / "howto"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
_NEEDS = re.compile(r"\*Needs (.+)\.\*\n\n\Z")

_COLLECTION = "a collection of yours; [the example](../../examples/neighbours_in_{}.py) is a whole program with one"
_INDEX = "an index of yours; [the example](../../examples/neighbours_in_{}.py) is a whole program with one"
_TABLE = "a table of yours; [the example](../../examples/neighbours_in_pgvector.py) is a whole program with one"
NOT_RUN = {
    "vector_stores": [_COLLECTION.format("qdrant")],
    "vector_filters": ["a collection of yours"],
    "qdrant": [_COLLECTION.format("qdrant")] * 2,
    "lancedb": [_COLLECTION.format("lancedb")] * 2,
    "pgvector": [_TABLE] * 2,
    "chroma": [_COLLECTION.format("chroma")],
    "milvus": [_COLLECTION.format("milvus")] * 2,
    "weaviate": [_COLLECTION.format("weaviate")] * 2,
    "elasticsearch": [_INDEX.format("elasticsearch")] * 2 + ["Docker"],
    "opensearch": [_INDEX.format("opensearch")],
    "chunk_numbers": ["a Qdrant server"] * 2,
    "caching": ["a collection of yours"],
}
"""Blocks that are not run, and the reason that their page gives, in the order of the page."""


def _blocks(text: str) -> list[tuple[str, str, str | None, str | None]]:
    """Return kind, source, printed output and the reason not to run of each block."""
    found = []
    for match in _BLOCK.finditer(text):
        reason = _NEEDS.search(text[: match.start()])
        found.append((match[1], match[2], match[3], None if reason is None else reason[1]))
    return found


def _page(name: str) -> list[tuple[str, str, str | None, str | None]]:
    return _blocks((_HOWTO / f"{name}.md").read_text(encoding="utf-8"))


def _langchain() -> dict[str, Any]:
    pytest.importorskip("langchain_text_splitters")
    from langchain_classic.retrievers import ContextualCompressionRetriever  # noqa: PLC0415 - needs the extra
    from langchain_core.documents import Document  # noqa: PLC0415
    from langchain_core.embeddings import DeterministicFakeEmbedding  # noqa: PLC0415
    from langchain_core.vectorstores import InMemoryVectorStore  # noqa: PLC0415
    from langchain_text_splitters import RecursiveCharacterTextSplitter  # noqa: PLC0415

    return {
        "documents": [Document("Bees sleep at night. Wasps do, too.", metadata={"source": "bees.md"})],
        "embeddings": DeterministicFakeEmbedding(size=64),
        "ContextualCompressionRetriever": ContextualCompressionRetriever,
        "InMemoryVectorStore": InMemoryVectorStore,
        "RecursiveCharacterTextSplitter": RecursiveCharacterTextSplitter,
    }


def _llamaindex() -> dict[str, Any]:
    pytest.importorskip("llama_index.core", exc_type=ImportError)
    from llama_index.core import MockEmbedding, Settings, VectorStoreIndex  # noqa: PLC0415
    from llama_index.core.llms import MockLLM  # noqa: PLC0415
    from llama_index.core.query_engine import RetrieverQueryEngine  # noqa: PLC0415
    from llama_index.core.schema import TextNode  # noqa: PLC0415

    Settings.embed_model, Settings.llm = MockEmbedding(8), MockLLM()
    nodes = [TextNode(text="Bees sleep at night.")]
    return {"VectorStoreIndex": VectorStoreIndex, "RetrieverQueryEngine": RetrieverQueryEngine, "nodes": nodes}


def _haystack() -> dict[str, Any]:
    pytest.importorskip("haystack")
    from haystack import Pipeline  # noqa: PLC0415
    from haystack.components.builders import PromptBuilder  # noqa: PLC0415
    from haystack.components.joiners import DocumentJoiner  # noqa: PLC0415
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever  # noqa: PLC0415
    from haystack.document_stores.in_memory import InMemoryDocumentStore  # noqa: PLC0415

    pipeline = Pipeline()
    pipeline.add_component("prompt", PromptBuilder("{% for d in documents %}{{ d.content }}{% endfor %}"))
    pipeline.add_component("joiner", DocumentJoiner())
    store = InMemoryDocumentStore()
    return {"pipeline": pipeline, "document_store": store, "InMemoryBM25Retriever": InMemoryBM25Retriever}


RUN: dict[str, Callable[[], dict[str, Any]]] = {
    "langchain": _langchain,
    "llamaindex": _llamaindex,
    "haystack": _haystack,
    "field_maps": _langchain,
}
"""Pages whose blocks are run, one after the other, over these stand-ins for what is the reader's."""


@pytest.mark.parametrize("page", [*RUN, *NOT_RUN])
def test_a_block_is_run_or_says_why_not(page: str) -> None:
    if page in RUN:
        assert {kind for kind, _, _, _ in _page(page)} <= {"python", "diff"}
    assert [reason for _, _, _, reason in _page(page) if page in NOT_RUN or reason] == NOT_RUN.get(page, [])


def test_the_page_of_every_adapter_is_here() -> None:
    assert {row.name for row in (*FRAMEWORKS, *STORES)} <= {*RUN, *NOT_RUN}


@pytest.mark.integration
@pytest.mark.parametrize("page", RUN)
def test_the_blocks_of_a_framework_run_and_print_what_they_say(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    namespace = RUN[page]()
    for kind, source, printed, _ in _page(page):
        capsys.readouterr()
        exec(compile(_program(source) if kind == "diff" else source, f"{page}.md", "exec"), namespace)
        assert capsys.readouterr().out == (printed or "")


def _program(diff: str) -> str:
    """Return a program after a change: what is there and what is added."""
    return "".join(f"{line[1:]}\n" for line in diff.splitlines() if not line.startswith("-"))


NEEDED = {"langchain": "langchain_text_splitters", "llamaindex": "llama_index.core", "haystack": "haystack"}
_WHOLE = re.compile(r"^```python\n((?:(?!```).*\n)*)```\n\n```text\n((?:(?!```).*\n)*)```$", re.MULTILINE)
PROGRAMS = [
    pytest.param(match[1], match[2], needed[0], id=f"{page.stem}-{number}")
    for page in PAGES
    if page not in SESSIONS and (page.parent != _HOWTO or page.stem not in {*RUN, *NOT_RUN})
    for number, match in enumerate(_WHOLE.finditer(page.read_text(encoding="utf-8")))
    if (needed := re.findall(r"^from retrivex\.adapters\.(langchain|llamaindex|haystack)\b", match[1], re.MULTILINE))
]
"""Programs of all other pages that need a framework, as they stand, with what they print."""


@pytest.mark.integration
@pytest.mark.parametrize("page", SESSIONS, ids=lambda page: page.stem)
def test_a_page_of_start_and_learn_runs_and_prints_what_it_says(page: Path, tmp_path: Path) -> None:
    program, printed = read_session(page)
    if "from retrivex.adapters" in program:
        assert run(program, str(page), tmp_path, warnings="default") == printed


@pytest.mark.integration
@pytest.mark.parametrize(("program", "printed", "framework"), PROGRAMS)
def test_a_program_of_a_page_runs_and_prints_what_it_says(program: str, printed: str, framework: str) -> None:
    pytest.importorskip(NEEDED[framework], exc_type=ImportError)
    assert run(program, framework, warnings="default") == printed
