"""What every store with an async client of its own must do with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

import pytest

from retrivex.adapters.base.fields import MakeId, colon_id
from retrivex.adapters.base.store import VectorChunkStore
from retrivex.errors import StoreError
from retrivex.model.chunk import ChunkKey
from retrivex.model.window import Window


async def check_async_client(
    make: Callable[[MakeId | None], VectorChunkStore], windows: Sequence[Window], expected: Mapping[ChunkKey, str]
) -> None:
    """Ask 32 times at once, by ids and by places, in two scopes; a sync call is refused."""
    for make_id in (None, colon_id):
        store = make(make_id)
        answers = await asyncio.gather(*(store.afetch(windows) for _ in range(32)))
        assert all({chunk.key: chunk.text for chunk in found} == expected for found in answers)
        found = await store.afetch([Window("acme-0", 0, 2), Window("doc-0", 0, 2)], "acme")
        assert {chunk.metadata.doc_id for chunk in found} == {"acme-0"}
        with pytest.raises(StoreError, match="has only an async client"):
            store.fetch(windows)
