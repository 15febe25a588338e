"""Scores: what a chunk is worth to the selection, what a span is worth to the order."""
