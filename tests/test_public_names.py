"""What is published stays true: names, defaults, positional arguments, spelled out a second time."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from dataclasses import fields

import pytest

import retrivex
from retrivex import Chunk, ChunkMetadata, OrderingStrategy, RetrievalConfig, SeedHit, Span, SpanComposer
from retrivex.ordering import back_first, front_first
from retrivex.utils import SentenceChunker, SimpleChunker

PUBLIC = [
    "BatchItem",
    "Chunk",
    "ChunkMetadata",
    "Citation",
    "ComposeRequest",
    "Composition",
    "Coverage",
    "Document",
    "DroppedHit",
    "OrderingStrategy",
    "Passage",
    "Reorderer",
    "RetriVex",
    "RetrievalConfig",
    "RetrivexError",
    "SeedHit",
    "Span",
    "SpanComposer",
    "Window",
    "__version__",
    "deduplicate",
    "interval_graph",
]

PUBLISHED_DEFAULTS = {
    "window": 2,
    "token_budget": 2000,
    "min_continuity": 0.5,
    "max_spans": None,
    "max_parent_chars": 2000,
    "stop_on_heading_change": True,
    "ordering_strategy": OrderingStrategy.EDGE_BALANCED,
    "dedupe_overlaps": True,
}

PUBLISHED_SPAN_FIELDS = [
    "doc_id", "chunk_ids", "chunks", "score", "char_start", "char_end", "token_count", "sim_score",
    "adjacency_score", "continuity_score", "parent_bonus", "text",
]  # fmt: skip


def test_all_is_what_is_written_here() -> None:
    assert sorted(retrivex.__all__) == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_is_there(name: str) -> None:
    assert getattr(retrivex, name) is not None


@pytest.mark.parametrize(("name", "default"), PUBLISHED_DEFAULTS.items())
def test_published_options_keep_their_defaults(name: str, default: object) -> None:
    assert getattr(RetrievalConfig(), name) == default
    assert RetrievalConfig.model_fields[name].default == default


def test_published_weights_are_read() -> None:
    names = ("similarity_weight", "adjacency_weight", "continuity_weight", "parent_weight", "distance_decay_beta")
    published = dict(zip(names, (1.0, 0.6, 0.2, 0.1, 0.7), strict=True))
    with pytest.warns(FutureWarning, match="similarity_weight: write weights"):
        assert RetrievalConfig.model_validate(published) == RetrievalConfig()


def test_k_was_published_and_is_still_accepted() -> None:
    assert RetrievalConfig(k=6).k == 6


@pytest.mark.parametrize("value", ["front_first", "back_first", "edge_balanced", "score_desc"])
def test_ordering_strategy_is_a_str_enum(value: str) -> None:
    assert OrderingStrategy(value) == value
    assert isinstance(OrderingStrategy(value), str)
    assert RetrievalConfig(ordering_strategy=value).ordering_strategy is OrderingStrategy(value)
    assert OrderingStrategy[value.upper()].value == value


def test_retrieve_takes_hits_store_and_parents_by_place_and_by_name() -> None:
    parameters = inspect.signature(SpanComposer.retrieve).parameters
    assert list(parameters)[:4] == ["self", "seed_hits", "chunk_store", "parent_store"]
    assert parameters["parent_store"].default is None
    added = ["query", "query_embedding", "scope"]
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in added)
    assert all(parameters[name].default is None for name in added)
    assert parameters["overrides"].kind is inspect.Parameter.VAR_KEYWORD


@pytest.mark.parametrize("method", ["compose", "aretrieve", "acompose"])
def test_the_other_calls_take_the_same_arguments(method: str) -> None:
    published = inspect.signature(SpanComposer.retrieve).parameters
    assert list(inspect.signature(getattr(SpanComposer, method)).parameters) == list(published)


def test_chunk_and_hit_take_their_arguments_by_place() -> None:
    metadata = ChunkMetadata("doc", 3, 10, 14, "parent", ["A", "B"], 7, {"k": 1})
    assert (metadata.doc_id, metadata.chunk_id, metadata.char_start, metadata.char_end) == ("doc", 3, 10, 14)
    assert (metadata.parent_id, metadata.page, metadata.custom_metadata) == ("parent", 7, {"k": 1})
    assert list(metadata.heading_path or ()) == ["A", "B"]
    chunk = Chunk("text", metadata, [0.5, 0.5])
    assert chunk.embedding == [0.5, 0.5]
    hit = SeedHit(chunk, 0.9)
    assert (hit.chunk, hit.similarity_score) == (chunk, 0.9)


def test_span_keeps_its_published_fields_in_their_places() -> None:
    assert [field.name for field in fields(Span)][:12] == PUBLISHED_SPAN_FIELDS
    chunk = Chunk("text", ChunkMetadata("d", 4))
    span = Span("d", [4], [chunk], 1.0, None, None, 1)
    assert span.text == "text"
    assert span.span_range == (4, 4)
    assert (span.sim_score, span.adjacency_score, span.continuity_score, span.parent_bonus) == (0, 0, 0, 0)


def test_published_chunkers_keep_their_signatures() -> None:
    assert _defaults(SimpleChunker.__init__) == {"chunk_size": 200, "overlap": 50, "chars_per_token": 4}
    assert _defaults(SentenceChunker.__init__) == {"sentences_per_chunk": 3, "overlap_sentences": 1}
    for chunker in (SimpleChunker(), SentenceChunker()):
        names = list(inspect.signature(chunker.chunk_text).parameters)
        assert names == ["text", "doc_id", "parent_id", "heading_path"]
        chunks = chunker.chunk_text("Bees sleep. Ants do not. Wasps sting.", "d", "p", ["A"])
        assert all(isinstance(chunk, Chunk) and chunk.metadata.parent_id == "p" for chunk in chunks)


def _defaults(function: object) -> dict[str, object]:
    parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}


def test_span_errors_are_the_published_ones() -> None:
    chunk = Chunk("text", ChunkMetadata("d", 4))
    with pytest.raises(ValueError, match="at least one chunk"):
        Span("d", [], [], 1.0, None, None, 0)
    with pytest.raises(ValueError, match="same length"):
        Span("d", [4, 5], [chunk], 1.0, None, None, 0)
    with pytest.raises(ValueError, match="contiguous"):
        Span("d", [4, 6], [chunk, chunk], 1.0, None, None, 0)


def test_front_first_is_the_order_given_and_back_first_its_reverse() -> None:
    assert front_first([3, 1, 2]) == [3, 1, 2]
    assert back_first([3, 1, 2]) == [2, 1, 3]


HEAVY = (
    "networkx",
    "numpy",
    "pydantic",
    "sqlite3",
    "asyncio",
    "urllib.request",
    "retrivex.reorder",
    "retrivex.prompts",
    "retrivex.composer",
)


def test_importing_is_light() -> None:
    program = f"import sys, retrivex; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


MODULES_OF_EARLIER_VERSIONS = [
    *("config", "errors", "model", "ordering", "text", "version"),
    *("model.chunk", "model.document", "model.fields", "model.hit", "model.numbers", "model.run", "model.span"),
    *("model.window", "ordering.documents", "ordering.questions", "ordering.strategy", "text.scripts"),
]
"""What `import retrivex` alone gave in 0.2.0, of the orders a few."""


@pytest.mark.parametrize("name", MODULES_OF_EARLIER_VERSIONS)
def test_modules_that_were_imported_with_the_package_are_still_found(name: str) -> None:
    listed = f"{name.split('.')[0]!r} in dir(retrivex)"
    program = f"import retrivex; print({listed}, retrivex.{name}.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", f"retrivex.{name}"]


@pytest.mark.parametrize("module", ["retrivex", "retrivex.stores"])
def test_names_on_first_use_are_complete(module: str) -> None:
    found = importlib.import_module(module)
    assert set(found._ON_FIRST_USE) <= set(found.__all__) <= set(dir(found))
    assert all(getattr(found, name) is not None for name in found.__all__)
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        _ = found.no_such_name


@pytest.mark.parametrize("name", ["retrieve", "compose", "aretrieve", "acompose"])
def test_help_explains_every_argument_of_a_method(name: str) -> None:
    method = getattr(SpanComposer, name)
    text = inspect.getdoc(method) or ""
    arguments = [str(each).partition(":")[0] for each in inspect.signature(method).parameters.values()][1:]
    assert [argument for argument in arguments if f"\n{argument} : " not in text] == []
