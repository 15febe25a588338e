"""Similarity of texts and vectors: unit vectors, trigrams, near-duplicates, MMR."""
