"""What the engines with an adapter of RetriVex have in common."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from retrivex.adapters.base.collection import Collection, Nearest
from retrivex.adapters.base.store import VectorChunkStore

from .engine import SEEDS, Meter, Way


def way(name: str, store: VectorChunkStore) -> Way:
    """Return a way whose requests are counted where the adapter asks: the tests hold it to one on the wire for each."""
    return Way(name, store, Meter(store.collection, "ask"))


def nearest(collection: Collection) -> Callable[[list[float]], object]:
    """Return the base query: the 20 nearest."""
    return lambda vector: collection.ask(Nearest(np.array(vector, dtype=np.float32), SEEDS, frozenset({None})))
