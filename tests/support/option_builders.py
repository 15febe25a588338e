"""Hits on one document, composed with an option or two."""

from __future__ import annotations

from typing import Any

from support.strategies import bare, compose, hits_of, sentences, shown_ids

from retrivex import Composition

TEN = bare("d", sentences("d", 10))


def made(scores: dict[int, float], store: Any = TEN, **options: Any) -> Composition:
    """Compose hits on the document `d` of a store."""
    return compose(hits_of(store, scores), store, **options)


def ids(scores: dict[int, float], store: Any = TEN, **options: Any) -> list[int]:
    """Chunks that are shown."""
    return shown_ids(made(scores, store, **options).spans)


def windows(scores: dict[int, float], store: Any = TEN, **options: Any) -> list[tuple[int, int]]:
    """First and last chunk of each window."""
    return [(w.start, w.end - 1) for w in made(scores, store, **options).trace.windows]
