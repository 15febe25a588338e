"""Texts in, embeddings out."""
