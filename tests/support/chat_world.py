"""Nine sentences of one document, and hits on three of them, composed for a question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from support.strategies import bare, compose, hits_of, sentences

from retrivex import Composition

STORE = bare("d", sentences("d", 9))


def made(store: Any = STORE, scores: Mapping[int, float] | None = None, **said: Any) -> Composition:
    hits = hits_of(store, dict(scores or {0: 0.9, 4: 0.5, 8: 0.2}))
    return compose(hits, store, **{"window": 0, "query": "Why?", **said})
