"""The contract, for stores that give embeddings where they are made `with_vectors`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from retrivex import Chunk
from retrivex.testing import ChunkStoreContract, StoreUnderTest


class VectorContract(ChunkStoreContract):
    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks)

    def make_with_embeddings(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks, with_vectors=True)

    @abstractmethod
    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        """Make a collection of chunks, and a store over it with these options."""
