"""RetriVex: the step between a retriever and a language model.

Hits in, context out: whole passages, in a sensible order, inside a token budget, every character traceable.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from retrivex.version import __version__

if TYPE_CHECKING:
    from retrivex import config, errors, model, ordering, text
    from retrivex.composer import BatchItem, ComposeRequest, SpanComposer
    from retrivex.composition.composition import Citation, Composition
    from retrivex.composition.documents import Coverage
    from retrivex.config import RetrievalConfig
    from retrivex.errors import RetrivexError
    from retrivex.merging.intervals import interval_graph
    from retrivex.model.chunk import Chunk, ChunkMetadata
    from retrivex.model.document import Document
    from retrivex.model.hit import DroppedHit, SeedHit
    from retrivex.model.span import Span
    from retrivex.model.window import Window
    from retrivex.ordering.strategy import OrderingStrategy
    from retrivex.pipeline import RetriVex
    from retrivex.reorder import Passage, Reorderer
    from retrivex.similarity.deduplicate import deduplicate

__all__ = [
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

# imported on first use: a program pays for what it needs alone, and Ctrl-C ends the command line quietly early on
_ON_FIRST_USE = {
    "BatchItem": "retrivex.composer",
    "Chunk": "retrivex.model.chunk",
    "ChunkMetadata": "retrivex.model.chunk",
    "Citation": "retrivex.composition.composition",
    "ComposeRequest": "retrivex.composer",
    "Composition": "retrivex.composition.composition",
    "Coverage": "retrivex.composition.documents",
    "Document": "retrivex.model.document",
    "DroppedHit": "retrivex.model.hit",
    "OrderingStrategy": "retrivex.ordering.strategy",
    "Passage": "retrivex.reorder",
    "Reorderer": "retrivex.reorder",
    "RetriVex": "retrivex.pipeline",
    "RetrievalConfig": "retrivex.config",
    "RetrivexError": "retrivex.errors",
    "SeedHit": "retrivex.model.hit",
    "Span": "retrivex.model.span",
    "SpanComposer": "retrivex.composer",
    "Window": "retrivex.model.window",
    "deduplicate": "retrivex.similarity.deduplicate",
    "interval_graph": "retrivex.merging.intervals",
}

_SUBMODULES = {
    "config": ("retrivex.config",),
    "core": ("retrivex.core.models", "retrivex.core.retriever"),
    "errors": ("retrivex.errors",),
    "model": ("retrivex.model.document", "retrivex.model.fields", "retrivex.model.span", "retrivex.model.window"),
    "ordering": ("retrivex.ordering.strategy",),
    "text": ("retrivex.text.scripts",),
}
"""Modules and packages that `import retrivex` alone gave to programs written for earlier versions, and what to import
for them, so that modules in them are found as well."""


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        for place in _SUBMODULES[name]:
            import_module(place)
        return import_module(f"retrivex.{name}")
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_ON_FIRST_USE[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBMODULES})
