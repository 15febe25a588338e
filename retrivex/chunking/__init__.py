"""Chunkers: documents to chunks with exact offsets, heading paths, pages and parents."""

from retrivex.chunking.adaptive_chunker import AdaptiveChunker
from retrivex.chunking.chunker import Chunker
from retrivex.chunking.markdown_chunker import MarkdownChunker
from retrivex.chunking.parent_child import ParentChildChunker
from retrivex.chunking.pieces import Piece, make_chunks
from retrivex.chunking.registry import CHUNKER_NAMES, AutoChunker, get_chunker
from retrivex.chunking.semantic_chunker import SemanticChunker
from retrivex.chunking.sentence_chunker import SentenceChunker
from retrivex.chunking.token_chunker import TokenChunker
from retrivex.text.sentences import sentence_ranges

__all__ = [
    "CHUNKER_NAMES",
    "AdaptiveChunker",
    "AutoChunker",
    "Chunker",
    "MarkdownChunker",
    "ParentChildChunker",
    "Piece",
    "SemanticChunker",
    "SentenceChunker",
    "TokenChunker",
    "get_chunker",
    "make_chunks",
    "sentence_ranges",
]
