"""RetriVex: the step between a retriever and a language model.

Hits in, context out: whole passages, in a sensible order, inside a token budget, every character traceable.
"""

from retrivex.composer import BatchItem, ComposeRequest, SpanComposer
from retrivex.composition.composition import Citation, Composition, Coverage
from retrivex.config import RetrievalConfig
from retrivex.errors import RetrivexError
from retrivex.merging.intervals import interval_graph
from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.document import Document
from retrivex.model.hit import DroppedHit, SeedHit
from retrivex.model.span import Span
from retrivex.model.window import Window
from retrivex.ordering.strategy import OrderingStrategy
from retrivex.reorder import Passage, Reorderer
from retrivex.similarity.deduplicate import deduplicate
from retrivex.version import __version__

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
