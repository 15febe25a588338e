"""Chunks, their index and their embeddings in one SQLite file."""

from retrivex.stores.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]
