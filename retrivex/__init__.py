"""RetriVex: the step between a retriever and a language model.

Hits in, context out: whole passages, in a sensible order, inside a token budget, every character traceable.
"""

from retrivex.chunk import Chunk, ChunkMetadata
from retrivex.composer import BatchItem, ComposeRequest, SpanComposer
from retrivex.composition import Citation, Composition, Coverage
from retrivex.config import OrderingStrategy, RetrievalConfig
from retrivex.dedup import deduplicate
from retrivex.document import Document
from retrivex.errors import RetrivexError
from retrivex.intervals import Window, interval_graph
from retrivex.reorder import Passage, Reorderer
from retrivex.seed import DroppedHit, SeedHit
from retrivex.span import Span
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
