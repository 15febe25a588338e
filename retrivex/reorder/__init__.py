"""Reorders flat passages: filters, deduplicates, weighs and arranges them, and fits them into a budget."""

from retrivex.model.fields import FieldNames
from retrivex.reorder.diagnostics import DroppedPassage, Explanation, ReorderDiagnostics, ReorderResult
from retrivex.reorder.options import Diversity, ReorderOptions
from retrivex.reorder.passage import Passage
from retrivex.reorder.priority import Weights, normalise_scores
from retrivex.reorder.reorderer import Reorderer, reorder_for_chat_history, reorder_for_docs_qa, reorder_for_logs
from retrivex.reorder.serialization import deserialize_passages, serialize_passages

__all__ = [
    "Diversity",
    "DroppedPassage",
    "Explanation",
    "FieldNames",
    "Passage",
    "ReorderDiagnostics",
    "ReorderOptions",
    "ReorderResult",
    "Reorderer",
    "Weights",
    "deserialize_passages",
    "normalise_scores",
    "reorder_for_chat_history",
    "reorder_for_docs_qa",
    "reorder_for_logs",
    "serialize_passages",
]
