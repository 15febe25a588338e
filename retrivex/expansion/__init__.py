"""Hits in, windows of neighbouring chunks out."""
