"""The contract, for stores that give embeddings where they are made `with_vectors`, and keep what backfill writes."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from retrivex import Chunk, RetrievalConfig, RetriVex
from retrivex.adapters.base.backfill import backfill
from retrivex.model.window import Window
from retrivex.testing import ChunkStoreContract, StoreUnderTest, contract_chunks
from retrivex.tokens.tokenizer import CallableTokenizer

WORDS = CallableTokenizer(lambda text: len(text.split()), name="words of a text")


class CountsContract(ChunkStoreContract):
    """Counts that are kept in records come back with them, and are no metadata of theirs."""

    def test_counts_that_backfill_wrote_come_back(self) -> None:
        chunks = contract_chunks(documents=2, chunks=5)
        windows = [Window("doc-0", 1, 4), Window("doc-1", 0, 2)]
        with closing(self.make(chunks)) as under_test:
            store: Any = under_test.store
            before = {chunk.key: chunk for chunk in store.fetch(windows)}
            assert [count for _, count in store.fetch_counted(windows, tokenizer=WORDS.name)] == [None] * 5
            made = backfill(store.collection, write=True, tokenizer=WORDS, batch=4)
            assert (made.written, made.counted) == (10, 10)
            counted = store.fetch_counted(windows, tokenizer=WORDS.name)
            assert {chunk.key for chunk, _ in counted} == before.keys()
            for chunk, count in counted:
                assert count.tokens == WORDS.count(chunk.text)
                assert count.holds(chunk.text, WORDS.name)
                assert count.cuts is not None
                assert chunk.text == before[chunk.key].text
                assert not any("counts" in name for name in chunk.metadata.custom_metadata)
            assert {count for _, count in store.fetch_counted(windows, tokenizer="another")} == {None}
            if store.collection.is_async:
                answer = asyncio.run(store.afetch_counted(windows, tokenizer=WORDS.name))
                assert {(chunk.key, count) for chunk, count in answer} == {
                    (chunk.key, count) for chunk, count in counted
                }


class VectorContract(CountsContract):
    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks)

    def make_with_embeddings(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks, with_vectors=True)

    def test_one_call_leads_from_a_question_to_its_context(self) -> None:
        chunks = contract_chunks(documents=2, chunks=5)
        with closing(self.make_with_embeddings(chunks)) as under_test:
            store: Any = under_test.store
            asked = RetriVex(store, lambda question: chunks[2].embedding, RetrievalConfig(window=1))
            made = asyncio.run(asked.aask("What?", k=1)) if store.collection.is_async else asked.ask("What?", k=1)
            assert [(span.doc_id, span.chunk_ids) for span in made.spans] == [("doc-0", [1, 2, 3])]

    @abstractmethod
    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        """Make a collection of chunks, and a store over it with these options."""
