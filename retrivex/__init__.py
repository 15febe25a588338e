"""RetriVex: the step between a retriever and a language model.

Hits in, context out: whole passages, in a sensible order, inside a token budget, every character traceable.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from retrivex.config import RetrievalConfig
from retrivex.errors import RetrivexError
from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.document import Document
from retrivex.model.hit import DroppedHit, SeedHit
from retrivex.model.span import Span
from retrivex.model.window import Window
from retrivex.ordering.strategy import OrderingStrategy
from retrivex.version import __version__

if TYPE_CHECKING:
    from retrivex.composer import BatchItem, ComposeRequest, SpanComposer
    from retrivex.composition.composition import Citation, Composition, Coverage
    from retrivex.merging.intervals import interval_graph
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

# what runs is imported on first use: a program that needs the data types alone pays for nothing else
_ON_FIRST_USE = {
    "BatchItem": "retrivex.composer",
    "Citation": "retrivex.composition.composition",
    "ComposeRequest": "retrivex.composer",
    "Composition": "retrivex.composition.composition",
    "Coverage": "retrivex.composition.composition",
    "Passage": "retrivex.reorder",
    "Reorderer": "retrivex.reorder",
    "SpanComposer": "retrivex.composer",
    "deduplicate": "retrivex.similarity.deduplicate",
    "interval_graph": "retrivex.merging.intervals",
}


def __getattr__(name: str) -> Any:
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_ON_FIRST_USE[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
