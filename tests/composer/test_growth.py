"""Time grows with the number of what is given, not with its square."""

from __future__ import annotations

from typing import Any

import pytest
from support.processor_time import growth
from support.strategies import compose, hits_of, make_chunk, make_store, tile


def _texts(count: int) -> list[str]:
    return [f"Bees of hive {number} sleep at night and ants {3 * number} do not. " for number in range(count)]


def _compose(kind: str, count: int) -> Any:
    store = tile("d", _texts(count))
    chunks = list(store.values())
    said: dict[str, Any] = {"token_budget": 1_000_000, "query": "When do bees sleep?"}
    if kind == "one place":
        store = make_store(*(make_chunk("d", number, "Bees sleep at night.", 0) for number in range(count)))
        return compose(hits_of(store, dict.fromkeys(range(count), 1.0)), store, **said)
    if kind == "pinned":
        return compose(hits_of(store, {0: 1.0}), store, pinned=chunks, **said)
    if kind == "excluded":
        return compose(hits_of(store, {0: 1.0}), store, exclude=chunks[1::2], window=count, **said)
    if kind == "kept":
        return compose(hits_of(store, dict.fromkeys(range(count), 1.0)), store, keep_top=count, **said)
    raise ValueError(kind)


@pytest.mark.parametrize("kind", ["pinned", "excluded", "one place", "kept"])
def test_time_grows_with_the_number(kind: str) -> None:
    assert growth(lambda count: _compose(kind, count), 150) < 10
