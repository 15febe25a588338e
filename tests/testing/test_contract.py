"""The contract of a chunk store finds what stores do wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from retrivex import Chunk
from retrivex.errors import StoreTimeoutError
from retrivex.model.chunk import ChunkMetadata
from retrivex.model.window import Window
from retrivex.stores import InMemoryChunkStore
from retrivex.testing import ChunkStoreContract, StoreUnderTest, contract_chunks


class Faulty(InMemoryChunkStore):
    """Gives chunks that lost something on the way."""

    def __init__(self, chunks: Iterable[Chunk], fault: Callable[[Chunk], Chunk]) -> None:
        super().__init__([fault(chunk) for chunk in chunks])


def _without(**fields: Any) -> Callable[[Chunk], Chunk]:
    return lambda chunk: Chunk(chunk.text, replace(chunk.metadata, **fields), chunk.embedding)


FAULTS: dict[str, tuple[str, Callable[[Chunk], Chunk]]] = {
    "no parent": ("test_every_field_of_a_chunk_comes_back", _without(parent_id=None)),
    "another parent": ("test_every_field_of_a_chunk_comes_back", _without(parent_id="doc-0")),
    "no metadata": ("test_metadata_of_ones_own_come_back", _without(custom_metadata={})),
    "texts for numbers": ("test_metadata_of_ones_own_come_back", _without(custom_metadata={"year": "1792"})),
    "no vector": ("test_embeddings_come_back", lambda chunk: Chunk(chunk.text, chunk.metadata)),
    "another vector": ("test_embeddings_come_back", lambda chunk: Chunk(chunk.text, chunk.metadata, [1.0] * 8)),
}


class Contract(ChunkStoreContract):
    def __init__(self, fault: Callable[[Chunk], Chunk]) -> None:
        self.fault = fault

    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return StoreUnderTest(Faulty(chunks, self.fault), lambda: 0)


@pytest.mark.parametrize("fault", FAULTS)
def test_what_gets_lost_is_found(fault: str) -> None:
    test, change = FAULTS[fault]
    with pytest.raises(AssertionError):
        getattr(Contract(change), test)()
    getattr(Contract(lambda chunk: chunk), test)()


class Blocking(InMemoryChunkStore):
    """Waits in the event loop itself."""

    async def afetch(self, windows: Sequence[Window], scope: Any = None) -> list[Chunk]:
        time.sleep(0.15)
        raise StoreTimeoutError("too late")


class Hanging(ChunkStoreContract):
    def make_hanging(self) -> InMemoryChunkStore:
        return Blocking(contract_chunks(1, 1))


def test_an_event_loop_that_is_held_up_is_found() -> None:
    with pytest.raises(AssertionError, match="afetch blocks it"):
        Hanging().test_a_store_that_hangs_does_not_hold_up_the_event_loop()


def test_chunks_of_the_contract_have_every_field() -> None:
    chunks = contract_chunks(1, 3, scope="acme")
    known = [chunk.metadata for chunk in chunks]
    assert not [name for name in ChunkMetadata.__slots__ if all(getattr(m, name) in (None, (), {}) for m in known)]
    assert all(chunk.embedding is not None for chunk in chunks)
