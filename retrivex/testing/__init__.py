"""Tests of a chunk store, for everybody who writes one: needs pytest."""

import pytest

pytest.register_assert_rewrite("retrivex.testing.contract")  # before it is imported: a failure shows both sides

from .contract import ChunkStoreContract, StoreUnderTest  # noqa: E402
from .worlds import contract_chunks, odd_ids, vector_of  # noqa: E402

__all__ = ["ChunkStoreContract", "StoreUnderTest", "contract_chunks", "odd_ids", "vector_of"]
